// spyre/lazy/programs.cpp — argument words to calls.
#include "programs.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace spyre::lazy {
namespace {

const std::uint64_t* words_of(std::span<const std::byte> arguments) {
  return reinterpret_cast<const std::uint64_t*>(arguments.data());
}

constexpr std::int64_t kFillBlock = 1 << 20;  // bytes per work item

/// The views of one call, for it to write their addresses: without a heap, unless they are many. Confined to the call.
class CallViews {
 public:
  explicit CallViews(std::span<const kernels::DeviceView> views) {
    if (views.size() > few_.size()) many_.resize(views.size());
    views_ = many_.empty() ? std::span(few_).first(views.size()) : std::span(many_);
    std::ranges::copy(views, views_.begin());
  }
  CallViews(const CallViews&) = delete;
  CallViews& operator=(const CallViews&) = delete;
  std::span<kernels::DeviceView> get() { return views_; }

 private:
  std::array<kernels::DeviceView, 6> few_;
  std::vector<kernels::DeviceView> many_;
  std::span<kernels::DeviceView> views_;
};

}  // namespace

KernelProgram::KernelProgram(std::shared_ptr<const kernels::Kernel> kernel, std::uint32_t step)
    : kernel_(std::move(kernel)), step_(step) {
  const kernels::KernelSpec& spec = kernel_->spec();
  params_at_ = kHeaderWords + spec.arguments.size();
  extents_at_ = params_at_ + spec.params;
  strides_at_ = extents_at_ + spec.rank;
  words_ = strides_at_ + spec.arguments.size() * spec.rank;
}

kernels::LaunchArguments KernelProgram::launch_of(std::span<const std::byte> arguments) const {
  const std::uint64_t* words = words_of(arguments);
  const auto* signed_words = reinterpret_cast<const std::int64_t*>(words);
  return {words + kHeaderWords, signed_words + extents_at_, signed_words + strides_at_,
          words + params_at_};
}

std::int64_t KernelProgram::work_items(std::span<const std::byte> arguments) const {
  return kernel_->work_items(launch_of(arguments).extents);
}

void KernelProgram::run(std::span<const std::byte> arguments, std::int64_t first, std::int64_t last,
                        device_sim::Core& core) const {
  run_monitored(arguments, step_,
                [&] { kernel_->run(launch_of(arguments), first, last, core.scratchpad.data()); });
}

Hash128 KernelProgram::identity() const {
  const std::string key = kernel_->spec().key();
  return hash(std::as_bytes(std::span(key)));
}

bool KernelProgram::fills() const {
  using Kind = kernels::Step::Kind;
  return std::ranges::all_of(kernel_->spec().steps, [](const kernels::Step& step) {
    if (step.kind == Kind::Apply) return kernels::op(step.op).info.name == "cast";
    return step.kind == Kind::Param || step.kind == Kind::Store;
  });
}

LibraryProgram::LibraryProgram(std::shared_ptr<const kernels::LibraryCall> call,
                               std::vector<kernels::DeviceView> views, std::uint32_t step)
    : call_(std::move(call)), views_(std::move(views)), step_(step) {}

std::int64_t LibraryProgram::work_items(std::span<const std::byte>) const {
  return call_->work_items();
}

void LibraryProgram::run(std::span<const std::byte> arguments, std::int64_t first,
                         std::int64_t last, device_sim::Core& core) const {
  run_monitored(arguments, step_, [&] {
    CallViews views(views_);
    for (std::size_t i = 0; i < views_.size(); ++i)
      views.get()[i].data = reinterpret_cast<void*>(words_of(arguments)[base_word(i)]);
    call_->run(views.get(), first, last, core.scratchpad);
  });
}

Hash128 LibraryProgram::identity() const { return hash(std::as_bytes(std::span(call_->name()))); }

std::int64_t ZeroFillProgram::work_items(std::span<const std::byte> arguments) const {
  const auto bytes = static_cast<std::int64_t>(words_of(arguments)[kBytesWord]);
  return (bytes + kFillBlock - 1) / kFillBlock;
}

void ZeroFillProgram::run(std::span<const std::byte> arguments, std::int64_t first,
                          std::int64_t last, device_sim::Core&) const {
  const std::uint64_t* words = words_of(arguments);
  auto* base = reinterpret_cast<std::byte*>(words[kBaseWord]);
  const std::int64_t end =
      std::min(last * kFillBlock, static_cast<std::int64_t>(words[kBytesWord]));
  std::memset(base + first * kFillBlock, 0, static_cast<std::size_t>(end - first * kFillBlock));
}

}  // namespace spyre::lazy

// spyre/engine/generator.cpp — seed and offset; the state is the sixteen bytes of both.
#include "spyre/engine/generator.h"

#include <ATen/Functions.h>
#include <c10/core/GeneratorImpl.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "spyre/base/error.h"
#include "spyre/engine/guard.h"
#include "spyre/engine/runtime.h"

namespace spyre::engine {
namespace {

constexpr std::int64_t kStateBytes = sizeof(PhiloxState);

/// What a graph that is being captured has drawn from a generator.
struct CaptureDraws {
  StreamId capture;
  PhiloxState state;
};

/// Guarded by the mutex that every c10 generator carries.
class Generator final : public c10::GeneratorImpl {
 public:
  explicit Generator(c10::DeviceIndex device)
      : GeneratorImpl({c10::DeviceType::PrivateUse1, device},
                      c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)) {}

  static c10::DeviceType device_type() { return c10::DeviceType::PrivateUse1; }

  void set_current_seed(std::uint64_t seed) override { state() = {.seed = seed, .offset = 0}; }
  void set_offset(std::uint64_t offset) override { state().offset = offset; }
  std::uint64_t get_offset() const override { return state().offset; }
  std::uint64_t current_seed() const override { return state().seed; }
  std::uint64_t seed() override {
    set_current_seed(c10::detail::getNonDeterministicRandom());
    return state().seed;
  }
  void set_state(const c10::TensorImpl& state) override;
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override;

  PhiloxState take(std::uint64_t count) {
    const PhiloxState before = state();
    state().offset += count;
    return before;
  }
  PhiloxState begin_capture(StreamId capture) {
    captures_.push_back({capture, state_});
    return state_;
  }
  PhiloxState end_capture(StreamId capture) {
    const auto found = std::ranges::find(captures_, capture, &CaptureDraws::capture);
    ensure(found != captures_.end(), "a capture ends once");
    const PhiloxState end = found->state;
    captures_.erase(found);
    return end;
  }

 private:
  Generator* clone_impl() const override {
    auto* copy = new Generator(device().index());  // owned by the caller's intrusive_ptr
    copy->state_ = state();
    return copy;
  }
  /// The calling thread's: a capture's own, if it records one.
  const PhiloxState& state() const {
    if (captures_.empty()) return state_;
    const auto found =
        std::ranges::find(captures_, current_stream_on(device().index()), &CaptureDraws::capture);
    return found == captures_.end() ? state_ : found->state;
  }
  PhiloxState& state() { return const_cast<PhiloxState&>(std::as_const(*this).state()); }

  PhiloxState state_{.seed = c10::default_rng_seed_val, .offset = 0};
  std::vector<CaptureDraws> captures_;
};

void Generator::set_state(const c10::TensorImpl& state) {
  TORCH_CHECK_TYPE(state.layout() == c10::kStrided && state.device_type() == c10::kCPU &&
                       state.dtype() == at::kByte,
                   "RNG state must be a torch.ByteTensor");
  TORCH_CHECK(state.numel() == kStateBytes && state.is_contiguous(), "RNG state of spyre has ",
              kStateBytes, " bytes; got ", state.numel());
  std::memcpy(&this->state(), state.data(), kStateBytes);
}

c10::intrusive_ptr<c10::TensorImpl> Generator::get_state() const {
  const at::Tensor state = at::empty({kStateBytes}, at::kByte);
  std::memcpy(state.mutable_data_ptr(), &this->state(), kStateBytes);
  return state.getIntrusivePtr();
}

c10::DeviceIndex resolved(c10::DeviceIndex device) {
  const c10::DeviceIndex index = device < 0 ? current_device() : device;
  TORCH_CHECK(index < device_count(), "spyre: device index ", static_cast<int>(index),
              " is out of range");
  return index;
}

const std::vector<at::Generator>& defaults() {
  static const std::vector<at::Generator> generators = [] {
    std::vector<at::Generator> made;
    for (c10::DeviceIndex i = 0; i < device_count(); ++i) {
      made.push_back(at::make_generator<Generator>(i));
      made.back().seed();
    }
    return made;
  }();
  return generators;
}

}  // namespace

const at::Generator& default_generator(c10::DeviceIndex device) {
  return defaults()[static_cast<std::size_t>(resolved(device))];
}

at::Generator new_generator(c10::DeviceIndex device) {
  return at::make_generator<Generator>(resolved(device));
}

PhiloxState reserve(const std::optional<at::Generator>& generator, c10::Device device,
                    std::uint64_t count) {
  const bool given = generator.has_value() && generator->defined();
  at::Generator used = given ? *generator : default_generator(device.index());
  TORCH_CHECK(used.device().is_privateuseone(),
              "Expected a 'spyre' device type for generator but found '", used.device(), "'");
  TORCH_CHECK(!given ||
                  used.unsafeGetGeneratorImpl() ==
                      default_generator(used.device().index()).unsafeGetGeneratorImpl() ||
                  !is_capturing(resolved(device.index())),
              "spyre: a graph draws from the default generator alone, which moves on from replay "
              "to replay; "
              "give no other inside a capture");
  auto* own = used.get<Generator>();
  const std::lock_guard lock(own->mutex_);
  return own->take(count);
}

PhiloxState begin_capture_draws(c10::DeviceIndex device, StreamId capture) {
  auto* own = at::Generator(default_generator(device)).get<Generator>();
  const std::lock_guard lock(own->mutex_);
  return own->begin_capture(capture);
}

PhiloxState end_capture_draws(c10::DeviceIndex device, StreamId capture) {
  auto* own = at::Generator(default_generator(device)).get<Generator>();
  const std::lock_guard lock(own->mutex_);
  return own->end_capture(capture);
}

}  // namespace spyre::engine

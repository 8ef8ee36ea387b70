// spyre/engine/kernel_program.cpp — replays a compiled kernel into the trace.
//
// Extents are filled in when they differ from the last call's; from then on a call looks up buffers and numbers, and
// records.
#include "spyre/engine/kernel_program.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

#include "spyre/base/error.h"
#include "spyre/base/text.h"
#include "spyre/engine/guard.h"
#include "spyre/engine/runtime.h"
#include "spyre/engine/source.h"
#include "spyre/engine/tensor.h"
#include "spyre/lazy/recording.h"

namespace spyre::engine {

using Kind = ProgramInput::Kind;

namespace {

/// A window with its extents filled in.
struct Window {
  std::uint32_t buffer = 0;
  DType dtype{};
  std::int64_t offset = 0;
  Dims strides;
};

struct BoundInput {
  Kind kind{};
  Window window;
  lazy::Input number;
};

}  // namespace

struct KernelProgram::Bound {
  const ProgramStep* step = nullptr;
  Dims sizes;
  std::vector<BoundInput> inputs;
  Window output;
  bool empty = false;               // nothing to write
  bool first = false;               // the whole of a temporary that nothing wrote before
  std::vector<std::uint32_t> last;  // temporaries that no later step uses
  std::optional<lazy::PreparedPointwise> prepared;  // of a pointwise step without counters

  bool can_be_prepared() const {
    const auto counts = [](const BoundInput& input) { return input.kind == Kind::Iota; };
    return !empty && !step->reduction && std::ranges::none_of(inputs, counts);
  }
};

/// What a call brings along. It is read before anything is recorded: reading a number of the host or a line of the
/// program is a call into PyTorch or Python, and recording holds the device's lock.
struct KernelProgram::Given {
  std::span<const at::Tensor> arguments;
  std::span<const c10::Scalar> numbers;
  std::vector<c10::Scalar> on_host;  // by argument, if there are any
  std::span<const c10::Scalar> computed;
  std::uint32_t source = 0, faulting_source = 0;

  Given(const KernelProgram& program, std::span<const at::Tensor> tensors,
        std::span<const c10::Scalar> scalars)
      : arguments(tensors), numbers(scalars), source(recorded_source(false)) {
    if (program.may_fault_) faulting_source = recorded_source(true);
    if (!program.reads_host_) return;
    on_host.resize(arguments.size());
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (!program.text_.arguments[i]) on_host[i] = read_number(arguments[i]);
  }
};

/// The buffers of one call. Confined to it.
class KernelProgram::Call {
 public:
  /// `temporaries`: their sizes.
  Call(const Given& given, std::span<const Bytes> temporaries, lazy::Recording& recording)
      : given_(given), sizes_(temporaries), recording_(recording) {
    temporaries_.resize(temporaries.size());
  }

  void record(Bound& bound) {
    if (bound.empty) return;
    if (bound.step->reduction) return reduce(bound);
    if (!bound.prepared) return record_unprepared(bound);
    std::array<lazy::PreparedOperand, kMaxOperands> inputs;
    for (std::size_t i = 0; i < bound.inputs.size(); ++i) inputs[i] = operand(bound, i);
    const std::span<const lazy::PreparedOperand> given =
        std::span(inputs).first(bound.inputs.size());
    if (bound.first) {
      temporary(bound.output.buffer) = recording_.record(*bound.prepared, given, source(bound));
    } else {
      recording_.record(*bound.prepared, given,
                        {.buffer = &buffer(bound.output.buffer), .offset = offset(bound.output)},
                        source(bound));
    }
  }

  /// What nobody uses any more is no result of a trace that ends within this call.
  void release(const Bound& bound) {
    for (const std::uint32_t place : bound.last) temporaries_[place] = {};
  }

  /// The operation in lazy's words, which borrow from `bound` and `inputs`.
  lazy::Pointwise words(const Bound& bound, std::span<lazy::Input> inputs) {
    for (std::size_t i = 0; i < bound.inputs.size(); ++i) inputs[i] = input(bound, i);
    return {.op = bound.step->op,
            .compute = bound.step->compute,
            .result = bound.step->result,
            .sizes = bound.sizes.span(),
            .inputs = inputs.first(bound.inputs.size()),
            .output = view(bound.output),
            .source = source(bound),
            .may_fault = bound.step->may_fault};
  }

 private:
  lazy::BufferRef& temporary(std::uint32_t index) {
    return temporaries_[index - given_.arguments.size()];
  }
  lazy::Buffer& buffer(std::uint32_t index) {
    if (index < given_.arguments.size()) return buffer_of(given_.arguments[index]);
    lazy::BufferRef& found = temporary(index);
    if (!found) found = recording_.create_buffer(sizes_[index - given_.arguments.size()]);
    return *found;
  }
  std::int64_t offset(const Window& window) const {
    const bool temporary = window.buffer >= given_.arguments.size();
    return window.offset + (temporary ? 0 : given_.arguments[window.buffer].storage_offset());
  }
  lazy::View view(const Window& window) {
    return {.buffer = &buffer(window.buffer),
            .dtype = window.dtype,
            .offset = offset(window),
            .strides = window.strides.span()};
  }
  lazy::Input number(const Bound& bound, const BoundInput& input) const {
    const auto values = input.kind == Kind::CallNumber ? given_.numbers
                        : input.kind == Kind::Formula  ? given_.computed
                                                       : std::span(given_.on_host);
    return number_input(values[input.window.buffer], kernels::op(bound.step->op).info,
                        bound.step->compute);
  }
  lazy::Input input(const Bound& bound, std::size_t i) {
    const BoundInput& given = bound.inputs[i];
    switch (given.kind) {
      case Kind::View: return lazy::Input::of(view(given.window));
      case Kind::Number: return given.number;
      case Kind::HostArgument:
      case Kind::CallNumber:
      case Kind::Formula: return number(bound, given);
      case Kind::Iota: return lazy::Input::iota(given.window.offset, given.window.strides.span());
    }
    return {};
  }
  lazy::PreparedOperand operand(const Bound& bound, std::size_t i) {
    const BoundInput& given = bound.inputs[i];
    if (given.kind == Kind::View)
      return {.buffer = &buffer(given.window.buffer), .offset = offset(given.window)};
    return {.bits = given.kind == Kind::Number ? given.number.bits : number(bound, given).bits};
  }
  std::uint32_t source(const Bound& bound) const {
    return bound.step->may_fault ? given_.faulting_source : given_.source;
  }

  void record_unprepared(const Bound& bound) {
    std::array<lazy::Input, kMaxOperands> inputs;
    recording_.record(words(bound, inputs));
  }
  void reduce(const Bound& bound) {
    recording_.record(lazy::Reduce{.reduction = *bound.step->reduction,
                                   .compute = bound.step->compute,
                                   .result = bound.step->result,
                                   .sizes = bound.sizes.span(),
                                   .reduced = bound.step->reduced,
                                   .input = view(bound.inputs.front().window),
                                   .output = view(bound.output),
                                   .source = source(bound)});
  }

  const Given& given_;
  std::span<const Bytes> sizes_;
  lazy::Recording& recording_;
  c10::SmallVector<lazy::BufferRef, 16> temporaries_;
};

KernelProgram::KernelProgram(ProgramText text)
    : text_(std::move(text)),
      may_fault_(std::ranges::any_of(text_.steps, &ProgramStep::may_fault)),
      reads_host_(std::ranges::find(text_.arguments, false) != text_.arguments.end()),
      formulas_(text_.formulas, text_.arguments, text_.numbers) {
  check();
}
KernelProgram::~KernelProgram() = default;

void KernelProgram::check() const {
  const std::size_t buffers = text_.arguments.size() + text_.temporaries.size();
  const auto holds = [&](bool condition, std::string_view what) {
    if (!condition) throw InvalidArgument(str(text_.name, ": ", what));
  };
  const auto in_table = [&](const TableIndices& indices) {
    return std::ranges::all_of(indices, [&](TableIndex i) { return i < text_.table.size(); });
  };
  const auto is_number = [&](std::uint32_t argument) {
    return argument < text_.arguments.size() && !text_.arguments[argument];
  };
  const auto fits = [&](const ProgramView& view, const ProgramStep& step) {
    return view.buffer < buffers && view.offset < text_.table.size() && in_table(view.strides) &&
           view.strides.size() == step.sizes.size();
  };
  holds(text_.given <= text_.table.size(), "fewer numbers than each call gives");
  holds(std::ranges::find(text_.arguments, true) != text_.arguments.end(),
        "no argument is on the device");
  for (const ProgramTemporary& temporary : text_.temporaries)
    holds(in_table(temporary.sizes), "a temporary's extent is not in the table");
  for (const ProgramStep& step : text_.steps) {
    holds(in_table(step.sizes), "an extent is not in the table");
    holds(fits(step.output, step), "an output is no buffer of this program");
    holds(step.inputs.size() <= kMaxOperands, "a step has at most eight inputs");
    for (const ProgramInput& input : step.inputs) {
      const bool windowed = input.kind == Kind::View || input.kind == Kind::Iota;
      holds(!windowed || fits(input.view, step), "an input is no buffer of this program");
      holds(input.kind != Kind::HostArgument || is_number(input.view.buffer),
            "an input is no number among the arguments of this program");
      holds(input.kind != Kind::CallNumber || input.view.buffer < text_.numbers,
            "an input is no number of a call");
      holds(input.kind != Kind::Formula || input.view.buffer < text_.formulas.size(),
            "an input is no number that a call computes");
    }
    if (!step.reduction)
      holds(step.inputs.size() == kernels::op(step.op).info.arity, "an op has other inputs");
    else
      holds(step.inputs.size() == 1 && step.inputs[0].kind == Kind::View,
            "a reduction has one input, in memory");
  }
}

Dims KernelProgram::resolve(const TableIndices& indices) const {
  Dims values;
  for (const TableIndex index : indices) values.push_back(text_.table[index]);
  return values;
}

KernelProgram::Bound KernelProgram::bound(const ProgramStep& step) const {
  const auto window = [&](const ProgramView& view) {
    return Window{view.buffer, view.dtype, text_.table[view.offset], resolve(view.strides)};
  };
  Bound bound;
  bound.step = &step;
  bound.sizes = resolve(step.sizes);
  bound.output = window(step.output);
  Dims written = bound.sizes;
  for (std::size_t d = 0; d < written.size(); ++d)
    if ((step.reduced >> d & 1U) != 0) written[d] = 1;
  bound.empty = written.numel() == 0;
  for (const ProgramInput& input : step.inputs) {
    BoundInput& target = bound.inputs.emplace_back();
    target.kind = input.kind;
    if (input.kind == Kind::Number)
      target.number = number_input(input.number, kernels::op(step.op).info, step.compute);
    else if (input.kind == Kind::View || input.kind == Kind::Iota)
      target.window = window(input.view);
    else target.window.buffer = input.view.buffer;
  }
  return bound;
}

void KernelProgram::bind(std::span<const std::int64_t> given) {
  if (is_bound_ && std::ranges::equal(given, std::span(text_.table).first(given.size()))) return;
  is_bound_ = false;
  std::ranges::copy(given, text_.table.begin());
  temporary_bytes_.clear();
  for (const ProgramTemporary& temporary : text_.temporaries)
    temporary_bytes_.push_back(
        {static_cast<std::uint64_t>(resolve(temporary.sizes).numel()) * size_of(temporary.dtype)});
  bound_.clear();
  for (const ProgramStep& step : text_.steps) bound_.push_back(bound(step));
  mark_first_writers();
  mark_last_users();
  is_bound_ = true;
}

void KernelProgram::mark_first_writers() {
  std::vector<bool> written(text_.temporaries.size());
  for (Bound& bound : bound_) {
    if (bound.output.buffer < text_.arguments.size() || bound.empty) continue;
    const std::size_t temporary = bound.output.buffer - text_.arguments.size();
    const Bytes whole = {static_cast<std::uint64_t>(bound.sizes.numel()) *
                         size_of(bound.output.dtype)};
    bound.first = !written[temporary] && bound.can_be_prepared() && bound.output.offset == 0 &&
                  whole == temporary_bytes_[temporary];
    written[temporary] = true;
  }
}

void KernelProgram::mark_last_users() {
  std::vector<bool> used(text_.temporaries.size());
  for (Bound& bound : std::views::reverse(bound_)) {
    const auto use = [&](std::uint32_t buffer) {
      if (buffer < text_.arguments.size()) return;
      const std::uint32_t place = buffer - static_cast<std::uint32_t>(text_.arguments.size());
      if (!used[place]) bound.last.push_back(place);
      used[place] = true;
    };
    use(bound.output.buffer);
    for (const BoundInput& input : bound.inputs)
      if (input.kind == Kind::View) use(input.window.buffer);
  }
}

void KernelProgram::launch(std::span<const at::Tensor> arguments,
                           std::span<const std::int64_t> given,
                           std::span<const c10::Scalar> numbers) {
  if (arguments.size() != text_.arguments.size() || given.size() != text_.given ||
      numbers.size() != text_.numbers)
    throw InvalidArgument(str(text_.name, ": got ", arguments.size(), " tensors and ",
                              given.size() + numbers.size(), " numbers; expected ",
                              text_.arguments.size(), " and ", text_.given + text_.numbers));
  const Lock lock(mutex_);
  bind(given);
  const auto on_device = std::ranges::find(text_.arguments, true) - text_.arguments.begin();
  const at::Tensor& first = arguments[static_cast<std::size_t>(on_device)];
  lazy::Device& device = buffer_of(first).device();  // raises if it is elsewhere
  Given brought(*this, arguments, numbers);
  brought.computed = formulas_.values(brought.on_host, numbers, Runtime::get().numerics());
  lazy::Recording recording(device, current_stream_on(first.device().index()), bound_.size());
  Call call(brought, temporary_bytes_, recording);
  for (Bound& bound : bound_) {
    if (bound.can_be_prepared() && !bound.prepared) {
      std::array<lazy::Input, kMaxOperands> inputs;
      bound.prepared.emplace(call.words(bound, inputs));
    }
    call.record(bound);
    call.release(bound);
  }
  recording.finish();
}

}  // namespace spyre::engine

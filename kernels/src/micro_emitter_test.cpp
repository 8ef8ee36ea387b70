// spyre/kernels/micro_emitter_test.cpp — every micro-op on every lane type and instruction set, bit for bit against
// the interpreter, on random and special inputs, for every tail, apart and in place.
#include "micro_emitter.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "cpu_features.h"
#include "emitter.h"
#include "spyre/kernels/builder.h"
#include "spyre/kernels/interpreter.h"
#include "spyre/kernels/lowering.h"
#include "spyre/kernels/math_function.h"

namespace spyre::kernels {
namespace {

constexpr std::size_t kElements = 1000;

DType storage_of(Lane lane) {
  switch (lane) {
    case Lane::F32: return DType::F32;
    case Lane::F64: return DType::F64;
    case Lane::I64: return DType::I64;
    default: return DType::I32;
  }
}

bool is_float_lane(Lane lane) { return lane == Lane::F32 || lane == Lane::F64; }

/// A body on up to three inputs. Masks come from "input is not zero" and go out as 0 or 1.
struct Case {
  Micro op;
  Lane in, out;
  std::uint64_t imm = 0;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << name_of(c.op) << '_' << name_of(c.in) << '_' << name_of(c.out) << '_' << c.imm;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  using enum Micro;
  const Lane numbers[] = {Lane::F32, Lane::F64, Lane::I32, Lane::I64};
  for (const Lane lane : numbers) {
    for (const Micro op : {Add, Sub, Mul, Neg, Abs, MinNan, MaxNan, Select})
      cases.push_back({op, lane, lane});
    for (const Micro op : {Eq, Ne, Lt, Le}) cases.push_back({op, lane, Lane::Mask});
    cases.push_back({ToF32, lane, Lane::F32});
    cases.push_back({ToF64, lane, Lane::F64});
    cases.push_back({ToI32, lane, Lane::I32});
    cases.push_back({ToI64, lane, Lane::I64});
    if (is_float_lane(lane)) {
      for (const Micro op : {Div, Sqrt, Fma, RoundEven, Floor, Ceil, Trunc})
        cases.push_back({op, lane, lane});
      for (const MathFunction f : {MathFunction::Sin, MathFunction::Fmod})
        cases.push_back(
            {f == MathFunction::Sin ? Math1 : Math2, lane, lane, static_cast<std::uint64_t>(f)});
    } else {
      for (const Micro op : {And, Or, Xor, Not, Shl, ShrArith, ShrLogical, IntDivTrunc, IntRem})
        cases.push_back({op, lane, lane});
    }
  }
  for (const Micro op : {And, Or, Xor, Not, Select}) cases.push_back({op, Lane::Mask, Lane::Mask});
  cases.push_back({MulHiU32, Lane::I32, Lane::I32});
  cases.push_back({BitsToFloat, Lane::I32, Lane::F32});
  cases.push_back({BitsToFloat, Lane::I64, Lane::F64});
  cases.push_back({BitsToInt, Lane::F32, Lane::I32});
  cases.push_back({BitsToInt, Lane::F64, Lane::I64});
  for (const Micro op : {RoundF16, RoundBF16, RoundBF16ShortNan})
    cases.push_back({op, Lane::F32, Lane::F32});
  for (const Micro op : {WrapI8, WrapU8, WrapI16}) cases.push_back({op, Lane::I32, Lane::I32});
  return cases;
}

/// Which operands are constants instead of loaded: the emitter places them in memory operands.
enum class Constants { None, First, Second, Third };

class Generator {
 public:
  explicit Generator(std::uint32_t seed) : random_(seed) {}

  std::uint64_t bits(Lane lane) {
    const std::uint64_t raw = random_();
    switch (lane) {
      case Lane::F32: return float_bits(raw);
      case Lane::F64: return double_bits(raw);
      case Lane::I64:
        return raw % 4 == 0   ? pick(kInteger64)
               : raw % 4 == 1 ? raw >> 32
               : raw % 4 == 2 ? raw % 70
                              : random_();
      default:
        return static_cast<std::uint32_t>(raw % 4 == 0   ? pick(kInteger64)
                                          : raw % 4 == 1 ? (raw >> 8) % 40
                                                         : random_());
    }
  }

 private:
  static constexpr std::array<std::uint64_t, 8> kInteger64{
      0, 1, ~0ULL, 1ULL << 63, (1ULL << 63) - 1, 1ULL << 31, 0x7fffffff, 0x80000001};
  static constexpr std::array<double, 20> kSpecial{0.0,
                                                   -0.0,
                                                   1.0,
                                                   -1.0,
                                                   0.5,
                                                   -0.5,
                                                   1.5,
                                                   2.5,
                                                   65504.0,
                                                   65520.0,
                                                   6e-8,
                                                   3e-8,
                                                   2147483648.0,
                                                   -2147483648.0,
                                                   9223372036854775808.0,
                                                   -9223372036854775808.0,
                                                   4294967296.0,
                                                   1e300,
                                                   1e-310,
                                                   16777217.0};

  template <class T, std::size_t N> T pick(const std::array<T, N>& from) {
    return from[random_() % N];
  }

  std::uint64_t float_bits(std::uint64_t raw) {
    switch (raw % 8) {
      case 0: return std::bit_cast<std::uint32_t>(static_cast<float>(pick(kSpecial)));
      case 1: return std::bit_cast<std::uint32_t>(raw & 8 ? INFINITY : raw & 16 ? -INFINITY : NAN);
      case 2: return static_cast<std::uint32_t>(raw >> 32);  // any pattern
      default:
        return std::bit_cast<std::uint32_t>(
            static_cast<float>(static_cast<std::int32_t>(raw >> 32)) * 1e-7F);
    }
  }
  std::uint64_t double_bits(std::uint64_t raw) {
    switch (raw % 8) {
      case 0: return std::bit_cast<std::uint64_t>(pick(kSpecial));
      case 1:
        return std::bit_cast<std::uint64_t>(static_cast<double>(raw & 8    ? INFINITY
                                                                : raw & 16 ? -INFINITY
                                                                           : NAN));
      case 2: return random_();
      default:
        return std::bit_cast<std::uint64_t>(
            static_cast<double>(static_cast<std::int64_t>(random_())) * 1e-15);
    }
  }

  std::mt19937_64 random_;
};

bool same(Lane lane, std::uint64_t a, std::uint64_t b) {
  if (a == b) return true;
  if (lane == Lane::F32)
    return std::isnan(std::bit_cast<float>(static_cast<std::uint32_t>(a))) &&
           std::isnan(std::bit_cast<float>(static_cast<std::uint32_t>(b)));
  if (lane == Lane::F64)
    return std::isnan(std::bit_cast<double>(a)) && std::isnan(std::bit_cast<double>(b));
  return false;
}

/// One case as a pointwise kernel of rank 1: up to three loads, the micro-op, one store.
class Fixture {
 public:
  Fixture(const Case& c, Constants constants, Isa isa, Generator& generator)
      : case_(c), constants_(constants) {
    const std::uint8_t operands = operand_count(c.op);
    Segment segment;
    Builder b(segment.program);
    std::array<Value, 3> in{};
    for (std::uint8_t i = 0; i < operands; ++i) in[i] = operand(b, segment, i, generator);
    MicroInstruction instruction{.op = c.op,
                                 .lane = c.out,
                                 .a = in[0].index,
                                 .b = in[1].index,
                                 .c = in[2].index,
                                 .imm = c.imm};
    segment.program.push_back(instruction);
    auto last = static_cast<std::uint16_t>(segment.program.size() - 1);
    if (c.out == Lane::Mask) {
      segment.program.push_back({.op = Micro::MaskToInt, .lane = Lane::I32, .a = last});
      ++last;
    }
    out_ = c.out == Lane::Mask ? Lane::I32 : c.out;
    const auto store = static_cast<std::uint16_t>(kernel_.spec.arguments.size());
    kernel_.spec.arguments.push_back(
        {ArgumentSpec::Kind::Store, storage_of(out_), InnerStride::Unit});
    segment.stores.push_back({store, last});
    kernel_.passes.push_back({Segment{}, segment});
    code_ = emit(kernel_, isa);
    make_inputs(generator);
  }

  /// Runs elements [0, n) to `out` (or over input 0) and returns how many differ from the interpreter.
  int differences(std::size_t n, bool in_place) {
    const std::size_t width = size_of(storage_of(out_));
    std::vector<std::vector<std::byte>> buffers = inputs_;
    std::vector<std::byte> out((kElements + 64) * 8, std::byte{0xa5});
    const bool over_input =
        in_place && !buffers.empty() && size_of(kernel_.spec.arguments[0].dtype) == width;
    std::vector<std::byte>& target = over_input ? buffers[0] : out;
    const std::vector<std::byte> before = target;
    run(buffers, target, n);
    int wrong = 0;
    for (std::size_t i = 0; i < n; ++i) {
      std::uint64_t got = 0;
      std::memcpy(&got, target.data() + i * width, width);
      wrong += same(out_, got, expected(i)) ? 0 : 1;
    }
    wrong += std::memcmp(target.data() + n * width, before.data() + n * width, 64) != 0;
    return wrong;
  }

 private:
  Lane lane_of_operand(std::uint8_t i) const {
    return case_.op == Micro::Select && i == 0 ? Lane::Mask : case_.in;
  }

  Value operand(Builder& b, Segment& segment, std::uint8_t i, Generator& generator) {
    const Lane lane = lane_of_operand(i);
    const Lane stored = lane == Lane::Mask ? Lane::I32 : lane;
    if (constants_ == static_cast<Constants>(i + 1)) {
      const bool divides = case_.op == Micro::IntDivTrunc || case_.op == Micro::IntRem;
      std::uint64_t bits = generator.bits(stored);
      if (divides && bits == 0) bits = 1;
      const Value constant = b.bits(stored, bits);
      return lane == Lane::Mask ? b.nonzero(constant) : constant;
    }
    const auto step = static_cast<std::uint16_t>(kernel_.spec.steps.size());
    kernel_.spec.arguments.push_back(
        {ArgumentSpec::Kind::Load, storage_of(stored), InnerStride::Unit});
    kernel_.spec.steps.push_back({.kind = Step::Kind::Load,
                                  .result = storage_of(stored),
                                  .level = Level::Element,
                                  .argument = step});
    segment.loads.push_back(step);
    operand_of_load_.push_back(i);
    const Value v = b.input(step, stored);
    return lane == Lane::Mask ? b.nonzero(v) : v;
  }

  void make_inputs(Generator& generator) {
    const bool divides = case_.op == Micro::IntDivTrunc || case_.op == Micro::IntRem;
    for (std::size_t a = 0; a < operand_of_load_.size(); ++a) {
      const DType type = kernel_.spec.arguments[a].dtype;
      std::vector<std::byte> data((kElements + 64) * 8);
      for (std::size_t i = 0; i < kElements; ++i) {
        std::uint64_t bits = generator.bits(lane_of(type));
        if (divides && operand_of_load_[a] == 1 && bits == 0) bits = 3;
        std::memcpy(data.data() + i * size_of(type), &bits, size_of(type));
      }
      inputs_.push_back(data);
    }
  }

  void run(std::vector<std::vector<std::byte>>& buffers, std::vector<std::byte>& target,
           std::size_t n) {
    std::vector<std::uint64_t> pointers;
    std::vector<std::int64_t> strides;
    for (std::size_t a = 0; a < buffers.size(); ++a)
      pointers.push_back(reinterpret_cast<std::uint64_t>(buffers[a].data()));
    pointers.push_back(reinterpret_cast<std::uint64_t>(target.data()));
    for (std::size_t a = 0; a < pointers.size(); ++a)
      strides.insert(strides.end(), {0, size_of(kernel_.spec.arguments[a].dtype)});
    CallFrame frame;
    frame.pointers = pointers.data();
    frame.strides = strides.data();
    frame.inner = static_cast<std::int64_t>(n);
    code_->function()(&frame);
    EXPECT_EQ(frame.fault, 0U) << case_;
  }

  std::uint64_t expected(std::size_t i) const {
    std::vector<std::uint64_t> cells(inputs_.size(), 0);
    std::vector<LaneInput> inputs;
    for (std::size_t a = 0; a < cells.size(); ++a) {
      const std::size_t size = size_of(kernel_.spec.arguments[a].dtype);
      std::memcpy(&cells[a], inputs_[a].data() + i * size, size);
      inputs.push_back({&cells[a], false});
    }
    const MicroProgram& program = kernel_.passes[0].points.program;
    std::vector<std::uint64_t> registers(program.size() * kBlockLanes);
    evaluate(program, inputs, 1, registers.data());
    return registers[(program.size() - 1) * kBlockLanes];
  }

  Case case_;
  Constants constants_;
  Lane out_{};
  LoweredKernel kernel_;
  std::unique_ptr<CodeBlock> code_;
  std::vector<std::uint8_t> operand_of_load_;
  std::vector<std::vector<std::byte>> inputs_;
};

class MicroEmitterTest : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (!cpu_runs(GetParam())) GTEST_SKIP() << "this CPU lacks the instruction set";
  }
};

TEST_P(MicroEmitterTest, EveryMicroOpGivesTheInterpretersBits) {
  for (const Case& c : all_cases()) {
    for (const Constants constants :
         {Constants::None, Constants::First, Constants::Second, Constants::Third}) {
      const int constant_operand = static_cast<int>(constants);
      if (constant_operand > operand_count(c.op) ||
          (operand_count(c.op) == 1 && constant_operand == 1))
        continue;
      Generator generator(static_cast<std::uint32_t>(c.op) * 8U +
                          static_cast<std::uint32_t>(constants));
      Fixture fixture(c, constants, GetParam(), generator);
      EXPECT_EQ(fixture.differences(kElements, false), 0) << c << " constant " << constant_operand;
      EXPECT_EQ(fixture.differences(kElements, true), 0)
          << c << " in place, constant " << constant_operand;
      for (std::size_t n = 1; n <= 33; ++n)
        EXPECT_EQ(fixture.differences(n, n % 2 == 0), 0)
            << c << " of " << n << " elements, constant " << constant_operand;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, MicroEmitterTest, testing::Values(Isa::Avx2, Isa::Avx512),
                         [](const auto& isa) {
                           return isa.param == Isa::Avx2 ? "Avx2" : "Avx512";
                         });

}  // namespace
}  // namespace spyre::kernels

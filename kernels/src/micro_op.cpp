// spyre/kernels/micro_op.cpp — names and operand counts of the vocabulary, and its printed form.
#include "spyre/kernels/micro_op.h"

#include <array>

#include "spyre/base/text.h"

namespace spyre::kernels {
namespace {

struct Row {
  std::string_view name;
  std::uint8_t operands;
};

constexpr std::array<Row, kMicroCount> kRows{{
    {"const", 0},       {"input", 0},
    {"add", 2},         {"sub", 2},
    {"mul", 2},         {"div", 2},
    {"sqrt", 1},        {"fma", 3},
    {"scale", 2},       {"neg", 1},
    {"abs", 1},         {"min_nan", 2},
    {"max_nan", 2},     {"round_even", 1},
    {"floor", 1},       {"ceil", 1},
    {"trunc", 1},       {"int_div_trunc", 2},
    {"int_rem", 2},     {"mul_hi_u32", 2},
    {"and", 2},         {"or", 2},
    {"xor", 2},         {"not", 1},
    {"shl", 2},         {"shr_arith", 2},
    {"shr_logical", 2}, {"eq", 2},
    {"ne", 2},          {"lt", 2},
    {"le", 2},          {"select", 3},
    {"mask_to_int", 1}, {"to_f32", 1},
    {"to_f64", 1},      {"to_i32", 1},
    {"to_i64", 1},      {"bits_to_float", 1},
    {"bits_to_int", 1}, {"round_f16", 1},
    {"round_bf16", 1},  {"round_bf16_short_nan", 1},
    {"wrap_i8", 1},     {"wrap_u8", 1},
    {"wrap_i16", 1},    {"math1", 1},
    {"math2", 2},
}};
static_assert(kRows.back().name == "math2", "one row per Micro");

constexpr std::array<std::string_view, 5> kLaneNames{"f32", "f64", "i32", "i64", "mask"};

}  // namespace

std::string_view name_of(Micro op) { return kRows[static_cast<std::size_t>(op)].name; }
std::string_view name_of(Lane lane) { return kLaneNames[static_cast<std::size_t>(lane)]; }
std::uint8_t operand_count(Micro op) { return kRows[static_cast<std::size_t>(op)].operands; }

std::string print(const MicroProgram& program) {
  std::ostringstream out;
  for (std::size_t i = 0; i < program.size(); ++i) {
    const MicroInstruction& in = program[i];
    out << '%' << i << " = " << name_of(in.op) << '.' << name_of(in.lane);
    const std::array<std::uint16_t, 3> operands{in.a, in.b, in.c};
    for (std::size_t k = 0; k < operand_count(in.op); ++k) out << (k ? ", %" : " %") << operands[k];
    if (operand_count(in.op) == 0 || in.op == Micro::Math1 || in.op == Micro::Math2)
      out << " #" << std::hex << in.imm << std::dec;
    out << '\n';
  }
  return std::move(out).str();
}

}  // namespace spyre::kernels

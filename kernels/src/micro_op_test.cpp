// spyre/kernels/micro_op_test.cpp — the vocabulary's names, operand counts and printed form.
#include "spyre/kernels/micro_op.h"

#include <gtest/gtest.h>

#include <set>

namespace spyre::kernels {
namespace {

TEST(MicroOp, EveryNameIsItsOwn) {
  std::set<std::string_view> names;
  for (unsigned i = 0; i < kMicroCount; ++i) names.insert(name_of(static_cast<Micro>(i)));
  EXPECT_EQ(names.size(), kMicroCount);
}

TEST(MicroOp, RowsStandInTheOrderOfTheEnumeration) {
  EXPECT_EQ(name_of(Micro::Fma), "fma");
  EXPECT_EQ(name_of(Micro::IntDivTrunc), "int_div_trunc");
  EXPECT_EQ(name_of(Micro::Xor), "xor");
  EXPECT_EQ(name_of(Micro::Select), "select");
  EXPECT_EQ(name_of(Micro::RoundBF16), "round_bf16");
  EXPECT_EQ(name_of(Micro::Math1), "math1");
  EXPECT_EQ(operand_count(Micro::Input), 0);
  EXPECT_EQ(operand_count(Micro::Not), 1);
  EXPECT_EQ(operand_count(Micro::Le), 2);
  EXPECT_EQ(operand_count(Micro::Fma), 3);
  EXPECT_EQ(operand_count(Micro::WrapI16), 1);
}

TEST(MicroOp, LanesFollowStorage) {
  EXPECT_EQ(lane_of(DType::BF16), Lane::F32);
  EXPECT_EQ(lane_of(DType::Bool), Lane::I32);
  EXPECT_EQ(lane_of(DType::I64), Lane::I64);
  EXPECT_EQ(name_of(lane_of(DType::F64)), "f64");
}

TEST(MicroOp, PrintsOneLinePerInstruction) {
  const MicroProgram program{{.op = Micro::Input, .lane = Lane::F32, .imm = 3},
                             {.op = Micro::Const, .lane = Lane::F32, .imm = 0x3f800000},
                             {.op = Micro::Lt, .lane = Lane::Mask, .a = 0, .b = 1},
                             {.op = Micro::Select, .lane = Lane::F32, .a = 2, .b = 0, .c = 1}};
  EXPECT_EQ(print(program),
            "%0 = input.f32 #3\n"
            "%1 = const.f32 #3f800000\n"
            "%2 = lt.mask %0, %1\n"
            "%3 = select.f32 %2, %0, %1\n");
}

}  // namespace
}  // namespace spyre::kernels

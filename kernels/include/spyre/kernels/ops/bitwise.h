// spyre/kernels/ops/bitwise.h — operations on the bits of integers.
#pragma once
#include <cstdint>

#include "spyre/kernels/op.h"

namespace spyre::kernels::ops {

inline std::int64_t to_integer(double x) { return static_cast<std::int64_t>(x); }

struct BitwiseAnd {
  static constexpr OpInfo info{
      .name = "bitwise_and",
      .aten = "bitwise_and.Tensor;bitwise_and.Scalar;bitwise_and.Scalar_Tensor",
      .signature = Signature::Binary,
      .arity = 2,
      .computes = kBoolAndIntegers,
      .doc = "x & y"};
  static double ref(Doubles x) { return static_cast<double>(to_integer(x[0]) & to_integer(x[1])); }
  static Value body(Builder& b, Values x) { return b.bit_and(x[0], x[1]); }
};
static_assert(Operator<BitwiseAnd>);

struct BitwiseOr {
  static constexpr OpInfo info{
      .name = "bitwise_or",
      .aten = "bitwise_or.Tensor;bitwise_or.Scalar;bitwise_or.Scalar_Tensor",
      .signature = Signature::Binary,
      .arity = 2,
      .computes = kBoolAndIntegers,
      .doc = "x | y"};
  static double ref(Doubles x) { return static_cast<double>(to_integer(x[0]) | to_integer(x[1])); }
  static Value body(Builder& b, Values x) { return b.bit_or(x[0], x[1]); }
};
static_assert(Operator<BitwiseOr>);

struct BitwiseXor {
  static constexpr OpInfo info{
      .name = "bitwise_xor",
      .aten = "bitwise_xor.Tensor;bitwise_xor.Scalar;bitwise_xor.Scalar_Tensor",
      .signature = Signature::Binary,
      .arity = 2,
      .computes = kBoolAndIntegers,
      .doc = "x ^ y"};
  static double ref(Doubles x) { return static_cast<double>(to_integer(x[0]) ^ to_integer(x[1])); }
  static Value body(Builder& b, Values x) { return b.bit_xor(x[0], x[1]); }
};
static_assert(Operator<BitwiseXor>);

struct BitwiseNot {
  static constexpr OpInfo info{.name = "bitwise_not",
                               .aten = "bitwise_not",
                               .signature = Signature::Unary,
                               .computes = kIntegers,
                               .doc = "~x"};
  static double ref(Doubles x) { return static_cast<double>(~to_integer(x[0])); }
  static Value body(Builder& b, Values x) { return b.bit_not(x[0]); }
};
static_assert(Operator<BitwiseNot>);

struct BoolNot {
  static constexpr OpInfo info{.name = "bool_not",
                               .aten = "bitwise_not",
                               .signature = Signature::Unary,
                               .computes = kBoolOnly,
                               .doc = "~x of a bool"};
  static double ref(Doubles x) { return x[0] == 0; }
  static Value body(Builder& b, Values x) { return b.eq(x[0], b.constant(x[0], 0)); }
};
static_assert(Operator<BoolNot>);

struct LeftShift {
  static constexpr OpInfo info{
      .name = "left_shift",
      .aten =
          "bitwise_left_shift.Tensor;bitwise_left_shift.Tensor_Scalar;bitwise_left_shift.Scalar_"
          "Tensor;__lshift__.Scalar;__lshift__.Tensor",
      .signature = Signature::Binary,
      .arity = 2,
      .computes = kIntegers,
      .doc = "x << y; 0 if y is negative or not below the width"};
  static double ref(Doubles x) {
    const std::int64_t count = to_integer(x[1]);
    if (count < 0 || count > 63) return 0;
    return static_cast<double>(
        static_cast<std::int64_t>(static_cast<std::uint64_t>(to_integer(x[0])) << count));
  }
  static Value body(Builder& b, Values x) { return b.shl(x[0], x[1]); }
};
static_assert(Operator<LeftShift>);

struct RightShift {
  static constexpr OpInfo info{
      .name = "right_shift",
      .aten =
          "bitwise_right_shift.Tensor;bitwise_right_shift.Tensor_Scalar;bitwise_right_shift.Scalar_"
          "Tensor;__rshift__.Scalar;__rshift__.Tensor",
      .signature = Signature::Binary,
      .arity = 2,
      .computes = kIntegers,
      .doc = "x >> y with the sign; only the sign if y is negative or not below the width"};
  static double ref(Doubles x) {
    const std::int64_t count = to_integer(x[1]);
    return static_cast<double>(to_integer(x[0]) >> (count < 0 || count > 63 ? 63 : count));
  }
  static Value body(Builder& b, Values x) { return b.shr_arith(x[0], x[1]); }
};
static_assert(Operator<RightShift>);

using Bitwise =
    OpList<BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot, BoolNot, LeftShift, RightShift>;

}  // namespace spyre::kernels::ops

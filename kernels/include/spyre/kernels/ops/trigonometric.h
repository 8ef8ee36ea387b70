// spyre/kernels/ops/trigonometric.h — circular and hyperbolic functions and their inverses.
#pragma once
#include <cmath>
#include <numbers>

#include "spyre/kernels/ops/arithmetic.h"

namespace spyre::kernels::ops {

struct Sin {
  static constexpr OpInfo info{.name = "sin",
                               .aten = "sin",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 1,
                               .doc = "sine"};
  static double ref(Doubles x) { return std::sin(x[0]); }
  static Value body(Builder& b, Values x) {
    return vector_math::library(b, MathFunction::Sin, x[0]);
  }
};
static_assert(Operator<Sin>);

struct Cos {
  static constexpr OpInfo info{.name = "cos",
                               .aten = "cos",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 1,
                               .doc = "cosine"};
  static double ref(Doubles x) { return std::cos(x[0]); }
  static Value body(Builder& b, Values x) {
    return vector_math::library(b, MathFunction::Cos, x[0]);
  }
};
static_assert(Operator<Cos>);

struct Tan {
  static constexpr OpInfo info{.name = "tan",
                               .aten = "tan",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 1,
                               .doc = "tangent"};
  static double ref(Doubles x) { return std::tan(x[0]); }
  static Value body(Builder& b, Values x) {
    return vector_math::library(b, MathFunction::Tan, x[0]);
  }
};
static_assert(Operator<Tan>);

struct Asin {
  static constexpr OpInfo info{.name = "asin",
                               .aten = "asin",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 1,
                               .doc = "inverse sine"};
  static double ref(Doubles x) { return std::asin(x[0]); }
  static Value body(Builder& b, Values x) {
    return vector_math::library(b, MathFunction::Asin, x[0]);
  }
};
static_assert(Operator<Asin>);

struct Acos {
  static constexpr OpInfo info{.name = "acos",
                               .aten = "acos",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 1,
                               .doc = "inverse cosine"};
  static double ref(Doubles x) { return std::acos(x[0]); }
  static Value body(Builder& b, Values x) {
    return vector_math::library(b, MathFunction::Acos, x[0]);
  }
};
static_assert(Operator<Acos>);

struct Atan {
  static constexpr OpInfo info{.name = "atan",
                               .aten = "atan",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 1,
                               .doc = "inverse tangent"};
  static double ref(Doubles x) { return std::atan(x[0]); }
  static Value body(Builder& b, Values x) {
    return vector_math::library(b, MathFunction::Atan, x[0]);
  }
};
static_assert(Operator<Atan>);

struct Sinh {
  static constexpr OpInfo info{.name = "sinh",
                               .aten = "sinh",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 3,
                               .doc = "hyperbolic sine"};
  static double ref(Doubles x) { return std::sinh(x[0]); }
  static Value body(Builder& b, Values x) { return vector_math::sinh(b, x[0]); }
};
static_assert(Operator<Sinh>);

struct Cosh {
  static constexpr OpInfo info{.name = "cosh",
                               .aten = "cosh",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 3,
                               .doc = "hyperbolic cosine"};
  static double ref(Doubles x) { return std::cosh(x[0]); }
  static Value body(Builder& b, Values x) { return vector_math::cosh(b, x[0]); }
};
static_assert(Operator<Cosh>);

struct Asinh {
  static constexpr OpInfo info{.name = "asinh",
                               .aten = "asinh",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 2,
                               .doc = "inverse hyperbolic sine"};
  static double ref(Doubles x) { return std::asinh(x[0]); }
  static Value body(Builder& b, Values x) { return vector_math::asinh(b, x[0]); }
};
static_assert(Operator<Asinh>);

struct Acosh {
  static constexpr OpInfo info{.name = "acosh",
                               .aten = "acosh",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 2,
                               .doc = "inverse hyperbolic cosine"};
  static double ref(Doubles x) { return std::acosh(x[0]); }
  static Value body(Builder& b, Values x) { return vector_math::acosh(b, x[0]); }
};
static_assert(Operator<Acosh>);

struct Atanh {
  static constexpr OpInfo info{.name = "atanh",
                               .aten = "atanh",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 1.5,
                               .doc = "inverse hyperbolic tangent"};
  static double ref(Doubles x) { return std::atanh(x[0]); }
  static Value body(Builder& b, Values x) {
    return vector_math::library(b, MathFunction::Atanh, x[0]);
  }
};
static_assert(Operator<Atanh>);

struct Tanh {
  static constexpr OpInfo info{.name = "tanh",
                               .aten = "tanh",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 2.5,
                               .doc = "hyperbolic tangent"};
  static double ref(Doubles x) { return std::tanh(x[0]); }
  static Value body(Builder& b, Values x) { return vector_math::tanh(b, x[0]); }
};
static_assert(Operator<Tanh>);

struct Atan2 {
  static constexpr OpInfo info{.name = "atan2",
                               .aten = "atan2",
                               .signature = Signature::Binary,
                               .arity = 2,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 1,
                               .doc = "the angle of the point (y, x)"};
  static double ref(Doubles x) { return std::atan2(x[0], x[1]); }
  static Value body(Builder& b, Values x) {
    return vector_math::library(b, MathFunction::Atan2, x[0], x[1]);
  }
};
static_assert(Operator<Atan2>);

struct Sinc {
  static constexpr OpInfo info{.name = "sinc",
                               .aten = "sinc",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 2,
                               .cancels = true,
                               .doc = "sin(pi x) / (pi x); 1 at 0"};
  static double ref(Doubles x) {
    return x[0] == 0 ? 1 : std::sin(std::numbers::pi * x[0]) / (std::numbers::pi * x[0]);
  }
  static Value body(Builder& b, Values x) {
    const Value product = b.mul(x[0], b.constant(x[0], std::numbers::pi));
    const Value ratio = b.div(vector_math::library(b, MathFunction::Sin, product), product);
    return b.select(b.eq(x[0], b.constant(x[0], 0)), b.constant(x[0], 1), ratio);
  }
};
static_assert(Operator<Sinc>);

struct Deg2Rad {
  static constexpr OpInfo info{.name = "deg2rad",
                               .aten = "deg2rad",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .max_ulp = 1.5,
                               .doc = "degrees to radians"};
  static double ref(Doubles x) { return x[0] * (std::numbers::pi / 180); }
  static Value body(Builder& b, Values x) {
    return b.mul(x[0], b.constant(x[0], std::numbers::pi / 180));
  }
};
static_assert(Operator<Deg2Rad>);

struct Rad2Deg {
  static constexpr OpInfo info{.name = "rad2deg",
                               .aten = "rad2deg",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .max_ulp = 1.5,
                               .doc = "radians to degrees"};
  static double ref(Doubles x) { return x[0] * (180 / std::numbers::pi); }
  static Value body(Builder& b, Values x) {
    return b.mul(x[0], b.constant(x[0], 180 / std::numbers::pi));
  }
};
static_assert(Operator<Rad2Deg>);

struct Angle {
  static constexpr OpInfo info{.name = "angle",
                               .aten = "angle",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .max_ulp = 0.5,
                               .doc = "0 for positive numbers, pi for negative ones"};
  static double ref(Doubles x) { return std::isnan(x[0]) ? x[0] : x[0] < 0 ? std::numbers::pi : 0; }
  static Value body(Builder& b, Values x) {
    const Value zero = b.constant(x[0], 0);
    const Value angle = b.select(b.lt(x[0], zero), b.constant(x[0], std::numbers::pi), zero);
    return b.select(b.is_nan(x[0]), x[0], angle);
  }
};
static_assert(Operator<Angle>);

using Trigonometric = OpList<Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Asinh, Acosh, Atanh, Tanh,
                             Atan2, Sinc, Deg2Rad, Rad2Deg, Angle>;

}  // namespace spyre::kernels::ops

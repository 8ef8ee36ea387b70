// spyre/engine/random_ops.cpp — random fills: functions of position, seed and a reserved offset.
//
// Positions count in row-major order whatever the memory layout, so a transposed tensor gets the
// same numbers.
#include <ATen/Functions.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/Operators.h>
#include <ATen/native/TensorFactories.h>

#include <array>
#include <cmath>
#include <limits>

#include "spyre/engine/fallback.h"
#include "spyre/engine/generator.h"
#include "spyre/engine/iota.h"
#include "spyre/engine/operators.h"
#include "spyre/engine/recorder.h"
#include "spyre/engine/shape_rules.h"
#include "spyre/engine/tensor.h"
#include "unit_range.h"

namespace spyre::engine {
namespace {

using at::Tensor;
using c10::Scalar;
using Generator = const std::optional<at::Generator>&;

/// On the host path, which serves types that no random op has and raises CPU's error for them.
const std::optional<at::Generator> kCpuDefault;

bool fits(const Tensor& t) {
  return native_type(t.scalar_type()) && t.dim() < static_cast<std::int64_t>(kMaxRank);
}
bool fits_float(const Tensor& t) { return fits(t) && is_float(*native_type(t.scalar_type())); }

/// True if the device can draw into `self`. Raises CPU's error for elements that share memory.
bool takes(const Tensor& self) {
  at::assert_no_internal_overlap(self);
  return fits(self);
}
bool takes_float(const Tensor& self) { return takes(self) && fits_float(self); }

/// out = a random number per position: op(position, seed, offset, extra...), of type `result`.
void record_random(OpId op, DType result, Generator generator, std::initializer_list<Scalar> extra,
                   const Tensor& out) {
  const PhiloxState state = reserve(generator, out.device(), 1);
  c10::SmallVector<Operand, 4> numbers{Scalar(static_cast<std::int64_t>(state.seed)),
                                       Scalar(static_cast<std::int64_t>(state.offset))};
  for (const Scalar& s : extra) numbers.emplace_back(s);
  record_iota({op, DType::I64, result}, Iota::row_major(out.sizes()),
              {numbers.data(), numbers.size()}, out);
}

Tensor random_like(std::string_view op, DType result, Generator generator, const Tensor& like) {
  Tensor out = empty(like.sizes(), scalar_type(result), like.device());
  record_random(kernels::op_named(op), result, generator, {}, out);
  return out;
}

/// Uniform on [0, 1), with the resolution of `type`.
Tensor unit_like(DType type, Generator generator, const Tensor& like) {
  switch (type) {
    case DType::F64: return random_like("random_unit_float64", DType::F64, generator, like);
    case DType::F16: return random_like("random_unit_float16", DType::F32, generator, like);
    case DType::BF16: return random_like("random_unit_bfloat16", DType::F32, generator, like);
    default: return random_like("random_unit_float32", DType::F32, generator, like);
  }
}

/// self = scale * x + shift, rounded to self's type.
void store_affine(const Tensor& x, double scale, double shift, const Tensor& self) {
  const DType work = *native_type(x.scalar_type()), type = *native_type(self.scalar_type());
  const std::array<Operand, 3> operands{x, scale, shift};
  record_pointwise({words().affine, work, type}, operands, self);
}

Tensor& uniform(Tensor& self, double from, double to, Generator generator) {
  if (self.is_complex()) {
    Tensor parts = at::view_as_real(self);
    return uniform(parts, from, to, generator), self;
  }
  const double limit = self.scalar_type() == c10::kDouble ? std::numeric_limits<double>::max()
                                                          : std::numeric_limits<float>::max();
  if (!takes_float(self) || !(from <= to && to - from <= limit))
    return on_host<ATEN_OP(uniform_)>::call(self, from, to, kCpuDefault), self;
  store_affine(unit_like(*native_type(self.scalar_type()), generator, self), to - from, from, self);
  return self;
}

Tensor& normal(Tensor& self, double mean, double std, Generator generator) {
  TORCH_CHECK(std >= 0.0, "normal expects std >= 0.0, but found std ", std);
  if (self.is_complex()) {  // whose two parts share the variance
    Tensor parts = at::view_as_real(self);
    return normal(parts, 0, std / std::sqrt(2), generator), self.add_(mean);
  }
  if (!takes_float(self))
    return on_host<ATEN_OP(normal_)>::call(self, mean, std, kCpuDefault), self;
  const bool wide = self.scalar_type() == c10::kDouble;
  store_affine(random_like(wide ? "random_normal_float64" : "random_normal_float32",
                           wide ? DType::F64 : DType::F32, generator, self),
               std, mean, self);
  return self;
}

Tensor& log_normal(Tensor& self, double mean, double std, Generator generator) {
  TORCH_CHECK(std > 0.0, "log_normal_ expects std > 0.0, but found std=", std);
  return normal(self, mean, std, generator).exp_();
}

Tensor& exponential(Tensor& self, double rate, Generator generator) {
  TORCH_CHECK(rate > 0.0, "exponential_ expects lambda > 0.0, but found lambda=", rate);
  if (!takes_float(self))
    return on_host<ATEN_OP(exponential_)>::call(self, rate, kCpuDefault), self;
  const bool wide = self.scalar_type() == c10::kDouble;
  store_affine(random_like(wide ? "random_exponential_float64" : "random_exponential_float32",
                           wide ? DType::F64 : DType::F32, generator, self),
               1 / rate, 0, self);
  return self;
}

/// self = 1 where a unit random number is below p, else 0.
void store_below(const Tensor& unit, const Operand& p, const Tensor& self) {
  const DType work = *native_type(unit.scalar_type());
  const std::array<Operand, 2> operands{unit, p};
  record_pointwise({words().lt, work, DType::Bool}, operands, self);
}

Tensor& bernoulli(Tensor& self, double p, Generator generator) {
  TORCH_CHECK(0 <= p && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  if (!takes(self)) return on_host<ATEN_OP2(bernoulli_, float)>::call(self, p, kCpuDefault), self;
  store_below(unit_like(DType::F32, generator, self), p, self);
  return self;
}

Tensor& bernoulli_each(Tensor& self, const Tensor& p, Generator generator) {
  if (!takes(self) || !fits_float(p) || !p.is_privateuseone())
    return on_host<ATEN_OP2(bernoulli_, Tensor)>::call(self, p, kCpuDefault), self;
  check_unit_range(p, "bernoulli_", "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
  const DType type = p.scalar_type() == c10::kDouble ? DType::F64 : DType::F32;
  store_below(unit_like(type, generator, self), p.expand(self.sizes()), self);
  return self;
}

Tensor& bernoulli_out(const Tensor& p, Generator generator, Tensor& out) {
  check_same_device(std::array{&out}, p.device());
  out.resize_(p.sizes());
  return bernoulli_each(out, p, generator);
}

/// `range` is a count of values, 0 meaning 2^64.
void store_integers(const Tensor& self, std::int64_t low, std::uint64_t range,
                    Generator generator) {
  record_random(kernels::op_named("random_integer"), DType::I64, generator,
                {Scalar(low), Scalar(static_cast<std::int64_t>(range))}, self);
}

/// The largest value up to which every integer is a value of `type`.
std::int64_t largest_integer(DType type) {
  switch (type) {
    case DType::Bool: return 1;
    case DType::U8: return std::numeric_limits<std::uint8_t>::max();
    case DType::I8: return std::numeric_limits<std::int8_t>::max();
    case DType::I16: return std::numeric_limits<std::int16_t>::max();
    case DType::I32: return std::numeric_limits<std::int32_t>::max();
    case DType::I64: return std::numeric_limits<std::int64_t>::max();
    case DType::F16: return 1 << 11;
    case DType::BF16: return 1 << 8;
    case DType::F32: return 1 << 24;
    case DType::F64: return std::int64_t{1} << 53;
  }
  return 0;
}

Tensor& random(Tensor& self, Generator generator) {
  if (!takes(self)) return on_host<ATEN_OP(random_)>::call(self, kCpuDefault), self;
  store_integers(self, 0,
                 static_cast<std::uint64_t>(largest_integer(*native_type(self.scalar_type()))) + 1,
                 generator);
  return self;
}

Tensor& random_between(Tensor& self, std::int64_t from, std::optional<std::int64_t> to,
                       Generator generator) {
  if (!takes(self))
    return on_host<ATEN_OP2(random_, from)>::call(self, from, to, kCpuDefault), self;
  const std::int64_t last = to ? *to - 1 : largest_integer(*native_type(self.scalar_type()));
  TORCH_CHECK(!to || from < *to, "random_ expects 'from' to be less than 'to', but got from=", from,
              " >= to=", to.value_or(0));
  const DType type = *native_type(self.scalar_type());
  const bool in_range =
      is_float(type) || (last <= largest_integer(type) && from >= -largest_integer(type) - 1);
  if (!in_range) return on_host<ATEN_OP2(random_, from)>::call(self, from, to, kCpuDefault), self;
  store_integers(self, from,
                 static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(from) + 1,
                 generator);
  return self;
}

Tensor& random_below(Tensor& self, std::int64_t to, Generator generator) {
  return random_between(self, 0, to, generator);
}

/// The order that sorts random keys.
Tensor& randperm(std::int64_t n, Generator generator, Tensor& out) {
  TORCH_CHECK(n >= 0, "n must be non-negative, got", n);
  const c10::ScalarType type = out.scalar_type();
  TORCH_CHECK_NOT_IMPLEMENTED(type != c10::kBool && !c10::isComplexType(type),
                              "\"randperm\" not implemented for '", type, "'");
  at::native::check_supported_max_int_with_precision(n, at::empty({0}, type));
  const Tensor keys =
      random_like("random_bits", DType::I64, generator, empty({n}, c10::kLong, out.device()));
  out.resize_({n});
  return out.copy_(at::argsort(keys, /*stable=*/true, /*dim=*/0, /*descending=*/false));
}

std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double p,
                                          std::optional<bool> train) {
  if (!fits_float(input)) return on_host<ATEN_OP(native_dropout)>::call(input, p, train);
  Tensor mask = at::empty_like(input, input.options().dtype(c10::kBool));
  if (!train.value_or(true)) return {input.clone(), mask.fill_(true)};
  bernoulli(mask, 1 - p, std::nullopt);
  return {at::native_dropout_backward(input, mask, p == 1 ? 0 : 1 / (1 - p)), mask};
}

Tensor& geometric(Tensor& self, double p, Generator generator) {
  TORCH_CHECK(0 < p && p < 1, "geometric_ expects p to be in (0, 1), but got p=", p);
  if (!takes(self) || self.scalar_type() == c10::kBool)
    return on_host<ATEN_OP(geometric_)>::call(self, p, kCpuDefault), self;
  const Tensor waits = random_like("random_exponential_float64", DType::F64, generator, self);
  return self.copy_(apply(words().mul, DType::F64, {waits, -1 / std::log1p(-p)}).ceil_());
}

Tensor& cauchy(Tensor& self, double median, double sigma, Generator generator) {
  TORCH_CHECK(sigma > 0.0, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
  if (!takes_float(self))
    return on_host<ATEN_OP(cauchy_)>::call(self, median, sigma, kCpuDefault), self;
  const Tensor angle = at::sub(unit_like(DType::F64, generator, self), 0.5).mul_(M_PI);
  store_affine(angle.tan_(), sigma, median, self);
  return self;
}

/// Standard normal numbers, spread by `std` about `mean`.
Tensor normal_about(const Tensor& mean, double std, Generator generator) {
  TORCH_CHECK(std >= 0.0, "normal expects std >= 0.0, but found std ", std);
  Tensor out = at::empty_like(mean);
  return normal(out, 0, std, generator).add_(mean);
}

Tensor normal_spread(double mean, const Tensor& std, Generator generator) {
  Tensor out = at::empty_like(std);
  return normal(out, 0, 1, generator).mul_(std).add_(mean);
}

Tensor normal_each(const Tensor& mean, const Tensor& std, Generator generator) {
  Tensor out = at::empty(at::infer_size(mean.sizes(), std.sizes()), mean.options());
  return normal(out, 0, 1, generator).mul_(std).add_(mean);
}

/// Raises as CPU does; it has to look at the values.
void check_weights(const Tensor& weights) {
  const Tensor valid =
      weights.max().lt(std::numeric_limits<double>::infinity()).logical_and_(weights.min().ge(0));
  TORCH_CHECK(valid.item<bool>(), "probability tensor contains either `inf`, `nan` or element < 0");
  const Tensor empty_row = weights.sum(-1).eq(0).any();
  TORCH_CHECK(!empty_row.item<bool>(),
              "invalid multinomial distribution (sum of probabilities <= 0)");
}

/// With replacement: where uniform numbers lie among the sums of the weights.
Tensor draw_and_put_back(const Tensor& weights, std::int64_t samples, Generator generator) {
  const Tensor sums = weights.to(c10::kDouble).cumsum(-1);
  c10::DimVector sizes(weights.sizes());
  sizes.back() = samples;
  Tensor numbers = at::empty(sizes, sums.options());
  uniform(numbers, 0, 1, generator);
  return at::searchsorted(sums.div(sums.narrow(-1, sums.size(-1) - 1, 1)), numbers,
                          /*out_int32=*/false, /*right=*/true);
}

/// Without replacement: the largest of weight / exponential, as CPU's own kernel draws.
Tensor multinomial(const Tensor& self, std::int64_t samples, bool replacement,
                   Generator generator) {
  if (!fits_float(self) || self.numel() == 0 || self.dim() < 1 || self.dim() > 2 || samples < 1 ||
      (!replacement && samples > self.size(-1)))
    return on_host<ATEN_OP(multinomial)>::call(self, samples, replacement, kCpuDefault);
  check_weights(self);
  if (replacement && samples > 1) return draw_and_put_back(self, samples, generator);
  Tensor waits = at::empty_like(self);
  const Tensor keys = self.div(exponential(waits, 1, generator));
  return samples == 1 ? keys.argmax(-1, /*keepdim=*/true) : std::get<1>(keys.topk(samples));
}

}  // namespace

void register_random(Registrations& registrations) {
  registrations.add_overload<&uniform>("uniform_");
  registrations.add_overload<&normal>("normal_");
  registrations.add_overload<&log_normal>("log_normal_");
  registrations.add_overload<&exponential>("exponential_");
  registrations.add_overload<&geometric>("geometric_");
  registrations.add_overload<&cauchy>("cauchy_");
  registrations.add_overload<&bernoulli>("bernoulli_.float");
  registrations.add_overload<&bernoulli_each>("bernoulli_.Tensor");
  registrations.add_overload<&bernoulli_out>("bernoulli.out");
  registrations.add_overload<&random>("random_");
  registrations.add_overload<&random_between>("random_.from");
  registrations.add_overload<&random_below>("random_.to");
  registrations.add_overload<&randperm>("randperm.generator_out");
  registrations.add_function<&multinomial>("multinomial");
  registrations.add_overload<&native_dropout>("native_dropout");
  registrations.add_function<&normal_about>("normal.Tensor_float");
  registrations.add_function<&normal_spread>("normal.float_Tensor");
  registrations.add_function<&normal_each>("normal.Tensor_Tensor");
}

}  // namespace spyre::engine

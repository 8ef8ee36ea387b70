// spyre/engine/norms.cpp — layer, group and batch normalization, with gradients, from reductions.
//
// All three are one formula over different dimensions: (x - mean) * rstd * weight + bias.
#include <ATen/Operators.h>
#include <c10/util/accumulate.h>

#include "spyre/engine/library_op.h"
#include "spyre/engine/operators.h"
#include "spyre/engine/reduction.h"
#include "spyre/engine/schema_library.h"
#include "spyre/engine/shape_rules.h"
#include "spyre/engine/tensor.h"

namespace spyre::engine {
namespace {

using at::Tensor;
using Optional = const std::optional<Tensor>&;
using Three = std::tuple<Tensor, Tensor, Tensor>;

/// Of operands that the formulas take.
bool serves(const Tensor& x, std::initializer_list<const Tensor*> others) {
  const std::optional<DType> type = native_type(x.scalar_type());
  if (!type || !is_float(*type) || x.dim() >= static_cast<std::int64_t>(kMaxRank)) return false;
  for (const Tensor* t : others) {
    if (t == nullptr) continue;
    check_same_device({&t, 1}, x.device());
    if (t->scalar_type() != x.scalar_type()) return false;
  }
  return true;
}

/// Weight and bias as they broadcast against the input; absent ones are undefined.
struct Scale {
  Tensor weight, bias;
};

Tensor viewed(Optional tensor, c10::IntArrayRef sizes) {
  const Tensor* const given = if_defined(tensor);
  return given == nullptr ? Tensor() : given->reshape(sizes);
}

/// normalized * weight + bias, rounded to `type`.
Tensor scaled(const Tensor& normalized, const Scale& scale, DType work, DType type) {
  const Vocabulary& w = words();
  if (scale.weight.defined() && scale.bias.defined())
    return apply(w.affine, work, type, {normalized, scale.weight, scale.bias});
  if (scale.weight.defined()) return apply(w.mul, work, type, {normalized, scale.weight});
  if (scale.bias.defined()) return apply(w.add, work, type, {normalized, scale.bias});
  return converted(normalized, type);
}

/// 1 / sqrt(variance + eps), in the working type.
Tensor rstd_of(const Moments& m, double eps, DType work) {
  const Tensor variance =
      apply(words().affine, DType::F64, {m.squares, 1.0 / static_cast<double>(m.count), eps});
  return apply(words().rsqrt, DType::F64, work, {variance});
}

/// What a normalization over `dims` gives; mean and rstd keep their dimensions and have the working
/// type.
struct Normalized {
  Tensor out, mean, rstd;
};

Normalized normalize(const Tensor& x, std::uint32_t dims, double eps, const Scale& scale) {
  const DType type = *native_type(x.scalar_type()), work = working_type(type);
  const Moments m = moments(x, dims);
  const Tensor rstd = rstd_of(m, eps, work);
  const Tensor normalized = apply(words().mul, work, {m.centered, rstd});
  return {scaled(normalized, scale, work, type), m.mean, rstd};
}

/// (x - mean) * rstd.
Tensor standardized(const Tensor& x, const Tensor& mean, const Tensor& rstd) {
  const DType work = working_type(*native_type(x.scalar_type()));
  return apply(words().mul, work, {apply(words().sub, work, {x, mean}), rstd});
}

/// The gradients of normalize(): for the input over `dims`; for weight and bias over `affine_dims`,
/// dimensions kept.
struct Gradients {
  Tensor input, weight, bias;
};

struct Normalization {
  Tensor mean, rstd;  // as they broadcast against the input
  std::uint32_t dims = 0, affine_dims = 0;
  DType affine_type{};  // of the gradients of weight and bias
};

Gradients normalize_backward(const Tensor& grad, const Tensor& x, const Normalization& n,
                             const Tensor& weight, std::array<bool, 3> mask) {
  const DType type = *native_type(x.scalar_type()), work = working_type(type);
  const Vocabulary& w = words();
  const Tensor normalized = standardized(x, n.mean, n.rstd);
  Gradients g;
  if (mask[0]) {
    const double share = 1.0 / static_cast<double>(reduced_count(x, n.dims));
    const Tensor inner =
        weight.defined() ? apply(w.mul, work, {grad, weight}) : converted(grad, work);
    const auto mean_of = [&](const Tensor& t) {
      return apply(w.mul, DType::F64, work, {sum_over(t, n.dims, work, DType::F64, true), share});
    };
    const Tensor mean = mean_of(inner);
    const Tensor slope = mean_of(apply(w.mul, work, {inner, normalized}));
    const Tensor rest = apply(
        w.sub, work, {apply(w.sub, work, {inner, mean}), apply(w.mul, work, {normalized, slope})});
    g.input = apply(w.mul, work, type, {rest, n.rstd});
  }
  if (mask[1])
    g.weight =
        sum_over(apply(w.mul, work, {grad, normalized}), n.affine_dims, work, n.affine_type, true);
  if (mask[2]) g.bias = sum_over(grad, n.affine_dims, work, n.affine_type, true);
  return g;
}

// Layer norm: the last dimensions.

/// Shapes that PyTorch's own check would accept, with something to normalize in each row.
bool ends_with(const Tensor& x, c10::IntArrayRef shape) {
  return !shape.empty() && c10::multiply_integers(shape) != 0 && x.sizes().size() >= shape.size() &&
         x.sizes().slice(x.sizes().size() - shape.size()) == shape;
}

bool has_shape(Optional tensor, c10::IntArrayRef shape) {
  const Tensor* const given = if_defined(tensor);
  return given == nullptr || given->sizes() == shape;
}

Three layer_norm(const Tensor& input, c10::IntArrayRef shape, Optional weight, Optional bias,
                 double eps) {
  const bool fits = ends_with(input, shape) && has_shape(weight, shape) && has_shape(bias, shape);
  if (!fits || !serves(input, {if_defined(weight), if_defined(bias)}))
    return as_library<ATEN_OP(native_layer_norm)>::call(input, shape, weight, bias, eps);
  const DType type = *native_type(input.scalar_type());
  // The result is contiguous, as CPU's.
  const Normalized n = normalize(input.contiguous(), trailing_dimensions(input, shape.size()), eps,
                                 {weight.value_or(Tensor()), bias.value_or(Tensor())});
  return {n.out, converted(n.mean, type), converted(n.rstd, type)};
}

Three layer_norm_backward(const Tensor& grad, const Tensor& input, c10::IntArrayRef shape,
                          const Tensor& mean, const Tensor& rstd, Optional weight, Optional bias,
                          std::array<bool, 3> mask) {
  if (!ends_with(input, shape) || !serves(input, {&grad, &mean, &rstd, if_defined(weight)}))
    return as_library<ATEN_OP(native_layer_norm_backward)>::call(grad, input, shape, mean, rstd,
                                                                 weight, bias, mask);
  const std::uint32_t dims = trailing_dimensions(input, shape.size());
  const Normalization n{mean, rstd, dims, all_dimensions(input) & ~dims,
                        *native_type(input.scalar_type())};
  mask[1] = mask[1] && if_defined(weight) != nullptr;
  mask[2] = mask[2] && if_defined(bias) != nullptr;
  const Gradients g = normalize_backward(grad, input, n, weight.value_or(Tensor()), mask);
  const auto own_shape = [&](const Tensor& t) { return t.defined() ? t.view(shape) : t; };
  return {g.input, own_shape(g.weight), own_shape(g.bias)};
}

// Group norm: the input seen as [samples, groups, channels of a group, pixels].

struct Groups {
  std::int64_t samples, groups, channels, pixels;
  Tensor of_input(const Tensor& x) const { return x.reshape({samples, groups, channels, pixels}); }
  std::array<std::int64_t, 4> parameters() const { return {1, groups, channels, 1}; }
  static constexpr std::uint32_t kDims = 0b1100, kAffineDims = 0b1001;
};

/// True if there is something to normalize in each group; there may be no samples.
bool has_rows(std::int64_t channels, std::int64_t pixels, std::int64_t groups) {
  return channels > 0 && pixels > 0 && groups > 0;
}

Three group_norm(const Tensor& input, Optional weight, Optional bias, std::int64_t samples,
                 std::int64_t channels, std::int64_t pixels, std::int64_t group, double eps) {
  if (!has_rows(channels, pixels, group) || !serves(input, {if_defined(weight), if_defined(bias)}))
    return as_library<ATEN_OP(native_group_norm)>::call(input, weight, bias, samples, channels,
                                                        pixels, group, eps);
  const Groups view{samples, group, channels / group, pixels};
  const DType type = *native_type(input.scalar_type());
  const Normalized n =
      normalize(view.of_input(input), Groups::kDims, eps,
                {viewed(weight, view.parameters()), viewed(bias, view.parameters())});
  const auto statistic = [&](const Tensor& t) { return converted(t, type).view({samples, group}); };
  return {n.out.view(input.sizes()), statistic(n.mean), statistic(n.rstd)};
}

Three group_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& mean,
                          const Tensor& rstd, Optional weight, std::int64_t samples,
                          std::int64_t channels, std::int64_t pixels, std::int64_t group,
                          std::array<bool, 3> mask) {
  if (!has_rows(channels, pixels, group) ||
      !serves(input, {&grad, &mean, &rstd, if_defined(weight)}))
    return as_library<ATEN_OP(native_group_norm_backward)>::call(
        grad, input, mean, rstd, weight, samples, channels, pixels, group, mask);
  const Groups view{samples, group, channels / group, pixels};
  const Normalization n{mean.reshape({samples, group, 1, 1}), rstd.reshape({samples, group, 1, 1}),
                        Groups::kDims, Groups::kAffineDims, *native_type(input.scalar_type())};
  const Gradients g = normalize_backward(view.of_input(grad), view.of_input(input), n,
                                         viewed(weight, view.parameters()), mask);
  const auto per_channel = [&](const Tensor& t) { return t.defined() ? t.view({channels}) : t; };
  return {g.input.defined() ? g.input.view(input.sizes()) : g.input, per_channel(g.weight),
          per_channel(g.bias)};
}

// Batch norm: every dimension but the channels.

std::vector<std::int64_t> per_channel_shape(const Tensor& input) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(input.dim()), 1);
  shape[1] = input.size(1);
  return shape;
}

std::uint32_t all_but_channels(const Tensor& input) { return all_dimensions(input) & ~0b10U; }

/// target = (1 - momentum) * target + momentum * scale * value.
void blend(const Tensor& target, const Tensor& value, double momentum, double scale) {
  const DType type = *native_type(target.scalar_type()), work = working_type(type);
  const Tensor part =
      apply(words().mul, DType::F64, work, {value.view(target.sizes()), momentum * scale});
  const std::array<Operand, 3> operands{target, 1 - momentum, part};
  record_pointwise({words().affine, work, type}, operands, target);
}

/// CPU's results lie as this says, whatever the strides of the input.
Tensor in_memory_format(const Tensor& input) {
  return input.contiguous(input.suggest_memory_format());
}

struct Running {
  const Tensor *mean, *var;
};

Three batch_norm_in_training(const Tensor& input, DType statistics, const Scale& scale,
                             Running running, double momentum, double eps) {
  const DType type = *native_type(input.scalar_type()), work = working_type(type);
  const Moments m = moments(input, all_but_channels(input));
  if (running.mean != nullptr) blend(*running.mean, m.mean, momentum, 1);
  if (running.var != nullptr)
    blend(*running.var, m.squares, momentum, 1 / static_cast<double>(m.count - 1));
  // CPU normalizes by the statistics that it saves.
  const Tensor mean = converted(m.mean, statistics);
  const Tensor rstd = converted(rstd_of(m, eps, work), statistics);
  return {scaled(standardized(input, mean, rstd), scale, work, type), mean.view({-1}),
          rstd.view({-1})};
}

Three batch_norm_in_evaluation(const Tensor& input, const Scale& scale, Running running,
                               double eps) {
  const DType type = *native_type(input.scalar_type()), work = working_type(type);
  const std::vector<std::int64_t> shape = per_channel_shape(input);
  const Vocabulary& w = words();
  const Tensor shifted_var = apply(w.add, DType::F64, {running.var->view(shape), eps});
  const Tensor rstd = apply(w.rsqrt, DType::F64, work, {shifted_var});
  const Tensor normalized = standardized(input, running.mean->view(shape), rstd);
  const Tensor none = empty({0}, input.scalar_type(), input.device());
  return {scaled(normalized, scale, work, type), none,
          empty({0}, input.scalar_type(), input.device())};
}

/// The type of all parameters and statistics: the input's, or float32 beside a narrower input.
/// nullopt if they do not agree, or the input is not served.
std::optional<DType> statistics_type(const Tensor& input,
                                     std::initializer_list<const Tensor*> parameters) {
  if (input.dim() < 2 || input.numel() == 0 || !serves(input, {})) return std::nullopt;
  c10::ScalarType type = input.scalar_type();
  for (const Tensor* p : parameters)
    if (p != nullptr) type = p->scalar_type();
  for (const Tensor* p : parameters) {
    if (p == nullptr) continue;
    check_same_device({&p, 1}, input.device());
    if (p->scalar_type() != type) return std::nullopt;
  }
  const DType own = *native_type(input.scalar_type());
  if (type == input.scalar_type()) return own;
  return is_reduced_float(own) && type == at::kFloat ? std::optional(DType::F32) : std::nullopt;
}

Three batch_norm(const Tensor& input, Optional weight, Optional bias, Optional running_mean,
                 Optional running_var, bool training, double momentum, double eps) {
  const Running running{if_defined(running_mean), if_defined(running_var)};
  const bool complete = training || (running.mean != nullptr && running.var != nullptr);
  const std::optional<DType> statistics =
      statistics_type(input, {if_defined(weight), if_defined(bias), running.mean, running.var});
  if (!complete || !statistics)
    return as_library<ATEN_OP(native_batch_norm)>::call(input, weight, bias, running_mean,
                                                        running_var, training, momentum, eps);
  const std::vector<std::int64_t> shape = per_channel_shape(input);
  const Scale scale{viewed(weight, shape), viewed(bias, shape)};
  const Tensor x = in_memory_format(input);
  return training ? batch_norm_in_training(x, *statistics, scale, running, momentum, eps)
                  : batch_norm_in_evaluation(x, scale, running, eps);
}

Three batch_norm_legit(const Tensor& input, Optional weight, Optional bias, Tensor& running_mean,
                       Tensor& running_var, bool training, double momentum, double eps) {
  return batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps);
}

/// The same with nothing to keep for the gradient beside the statistics.
std::tuple<Tensor, Tensor, Tensor, Tensor> batch_norm_with_update(const Tensor& input,
                                                                  Optional weight, Optional bias,
                                                                  Tensor& running_mean,
                                                                  Tensor& running_var,
                                                                  double momentum, double eps) {
  auto [out, mean, rstd] =
      batch_norm(input, weight, bias, running_mean, running_var, true, momentum, eps);
  return {std::move(out), std::move(mean), std::move(rstd),
          at::empty({0}, input.options().dtype(at::kByte))};
}

Three batch_norm_without_statistics(const Tensor& input, Optional weight, Optional bias,
                                    bool training, double momentum, double eps) {
  return batch_norm(input, weight, bias, std::nullopt, std::nullopt, training, momentum, eps);
}

/// The statistics' gradient does not exist in evaluation: they are constants there.
Tensor evaluation_gradient(const Tensor& grad, const Tensor& rstd, const Tensor& weight) {
  const DType type = *native_type(grad.scalar_type()), work = working_type(type);
  const Tensor inner = weight.defined() ? apply(words().mul, work, {grad, weight}) : grad;
  return apply(words().mul, work, type, {inner, rstd});
}

Three batch_norm_backward(const Tensor& grad, const Tensor& input, Optional weight,
                          Optional running_mean, Optional running_var, Optional save_mean,
                          Optional save_rstd, bool train, double eps, std::array<bool, 3> mask) {
  const Tensor* const mean = if_defined(train ? save_mean : running_mean);
  const Tensor* const spread = if_defined(train ? save_rstd : running_var);
  const std::optional<DType> statistics =
      statistics_type(input, {if_defined(weight), mean, spread});
  if (mean == nullptr || spread == nullptr || !statistics || !serves(input, {&grad}))
    return as_library<ATEN_OP(native_batch_norm_backward)>::call(
        grad, input, weight, running_mean, running_var, save_mean, save_rstd, train, eps, mask);
  const std::vector<std::int64_t> shape = per_channel_shape(input);
  const DType work = working_type(*native_type(input.scalar_type()));
  const Tensor rstd = train ? spread->view(shape)
                            : apply(words().rsqrt, DType::F64, work,
                                    {apply(words().add, DType::F64, {spread->view(shape), eps})});
  const Normalization n{mean->view(shape), rstd, all_but_channels(input), all_but_channels(input),
                        *statistics};
  const Tensor scale = viewed(weight, shape);
  Gradients g = normalize_backward(grad, input, n, scale, {mask[0] && train, mask[1], mask[2]});
  if (mask[0] && !train) g.input = evaluation_gradient(grad, rstd, scale);
  const auto per_channel = [](const Tensor& t) { return t.defined() ? t.view({-1}) : t; };
  return {g.input, per_channel(g.weight), per_channel(g.bias)};
}

Three batch_norm_with_update_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                      Optional running_mean, Optional running_var,
                                      Optional save_mean, Optional save_rstd, bool update,
                                      double eps, std::array<bool, 3> mask,
                                      const Tensor& /*reserve*/) {
  return batch_norm_backward(grad, input, weight, running_mean, running_var, save_mean, save_rstd,
                             update, eps, mask);
}

}  // namespace

void register_norms(Registrations& registrations) {
  registrations.add_overload<&layer_norm>("native_layer_norm");
  registrations.add_overload<&layer_norm_backward>("native_layer_norm_backward");
  registrations.add_overload<&group_norm>("native_group_norm");
  registrations.add_overload<&group_norm_backward>("native_group_norm_backward");
  registrations.add_function<&batch_norm>("native_batch_norm");
  registrations.add_overload<&batch_norm_legit>("_native_batch_norm_legit");
  registrations.add_overload<&batch_norm_without_statistics>("_native_batch_norm_legit.no_stats");
  registrations.add_overload<&batch_norm_backward>("native_batch_norm_backward");
  registrations.add_overload<&batch_norm_with_update>("_batch_norm_with_update");
  registrations.add_overload<&batch_norm_with_update_backward>("batch_norm_backward");
}

}  // namespace spyre::engine

// spyre/engine/schema_library_table.cpp — the rows: which operators run as library operations by schema alone.
#include <ATen/ExpandUtils.h>
#include <ATen/Operators.h>
#include <ATen/ops/_ctc_loss_meta_dispatch.h>
#include <ATen/ops/_upsample_bicubic2d_aa_backward_meta_dispatch.h>
#include <ATen/ops/_upsample_bicubic2d_aa_meta_dispatch.h>
#include <ATen/ops/_upsample_bilinear2d_aa_backward_meta_dispatch.h>
#include <ATen/ops/_upsample_bilinear2d_aa_meta_dispatch.h>
#include <ATen/ops/_upsample_nearest_exact1d_backward_meta_dispatch.h>
#include <ATen/ops/_upsample_nearest_exact1d_meta_dispatch.h>
#include <ATen/ops/_upsample_nearest_exact2d_backward_meta_dispatch.h>
#include <ATen/ops/_upsample_nearest_exact2d_meta_dispatch.h>
#include <ATen/ops/_upsample_nearest_exact3d_backward_meta_dispatch.h>
#include <ATen/ops/_upsample_nearest_exact3d_meta_dispatch.h>
#include <ATen/ops/adaptive_max_pool2d_backward_meta_dispatch.h>
#include <ATen/ops/adaptive_max_pool2d_meta_dispatch.h>
#include <ATen/ops/adaptive_max_pool3d_backward_meta_dispatch.h>
#include <ATen/ops/adaptive_max_pool3d_meta_dispatch.h>
#include <ATen/ops/avg_pool2d_backward_meta_dispatch.h>
#include <ATen/ops/avg_pool2d_meta_dispatch.h>
#include <ATen/ops/avg_pool3d_backward_meta_dispatch.h>
#include <ATen/ops/avg_pool3d_meta_dispatch.h>
#include <ATen/ops/cumprod_meta_dispatch.h>
#include <ATen/ops/cumsum_meta_dispatch.h>
#include <ATen/ops/fractional_max_pool2d_backward_meta_dispatch.h>
#include <ATen/ops/fractional_max_pool2d_meta_dispatch.h>
#include <ATen/ops/fractional_max_pool3d_meta_dispatch.h>
#include <ATen/ops/gather_meta_dispatch.h>
#include <ATen/ops/index_add_meta_dispatch.h>
#include <ATen/ops/index_copy_meta_dispatch.h>
#include <ATen/ops/index_meta_dispatch.h>
#include <ATen/ops/index_reduce_meta_dispatch.h>
#include <ATen/ops/max_pool2d_with_indices_backward_meta_dispatch.h>
#include <ATen/ops/max_pool2d_with_indices_meta_dispatch.h>
#include <ATen/ops/nll_loss_backward_meta_dispatch.h>
#include <ATen/ops/nll_loss_forward_meta_dispatch.h>
#include <ATen/ops/reflection_pad1d_backward_meta_dispatch.h>
#include <ATen/ops/reflection_pad1d_meta_dispatch.h>
#include <ATen/ops/reflection_pad3d_backward_meta_dispatch.h>
#include <ATen/ops/reflection_pad3d_meta_dispatch.h>
#include <ATen/ops/replication_pad1d_backward_meta_dispatch.h>
#include <ATen/ops/replication_pad1d_meta_dispatch.h>
#include <ATen/ops/replication_pad2d_meta_dispatch.h>
#include <ATen/ops/replication_pad3d_meta_dispatch.h>
#include <ATen/ops/scatter_add_meta_dispatch.h>
#include <ATen/ops/scatter_meta_dispatch.h>
#include <ATen/ops/scatter_reduce_meta_dispatch.h>
#include <ATen/ops/sort_meta_dispatch.h>
#include <ATen/ops/topk_meta_dispatch.h>
#include <ATen/ops/upsample_bicubic2d_backward_meta_dispatch.h>
#include <ATen/ops/upsample_bicubic2d_meta_dispatch.h>
#include <ATen/ops/upsample_bilinear2d_backward_meta_dispatch.h>
#include <ATen/ops/upsample_bilinear2d_meta_dispatch.h>
#include <ATen/ops/upsample_linear1d_backward_meta_dispatch.h>
#include <ATen/ops/upsample_linear1d_meta_dispatch.h>
#include <ATen/ops/upsample_nearest1d_backward_meta_dispatch.h>
#include <ATen/ops/upsample_nearest1d_meta_dispatch.h>
#include <ATen/ops/upsample_nearest2d_backward_meta_dispatch.h>
#include <ATen/ops/upsample_nearest2d_meta_dispatch.h>
#include <ATen/ops/upsample_nearest3d_backward_meta_dispatch.h>
#include <ATen/ops/upsample_nearest3d_meta_dispatch.h>
#include <ATen/ops/upsample_trilinear3d_backward_meta_dispatch.h>
#include <ATen/ops/upsample_trilinear3d_meta_dispatch.h>

#include <array>
#include <vector>

#include "schema_rules.h"
#include "selection.h"
#include "spyre/engine/schema_library.h"

namespace spyre::engine {
namespace {

/// Where the indices lead, the values have to fit.
void shapes_of_index_put(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  const std::size_t count = op.schema().arguments().size();
  const auto arguments = torch::jit::last(stack, count);
  at::Tensor self = arguments[0].toTensor();
  const at::Tensor places = at::meta::index(self, arguments[1].toOptionalTensorList());
  TORCH_CHECK(at::is_expandable_to(arguments[2].toTensor().sizes(), places.sizes()),
              "values do not broadcast to the places that the indices lead to");
  torch::jit::drop(stack, count);
  torch::jit::push(stack, std::move(self));
}

/// A dense result as large as the argument of that number, and of its type.
template <std::size_t number>
void shapes_of_argument(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  const std::size_t count = op.schema().arguments().size();
  const at::Tensor like = torch::jit::peek(stack, number, count).toTensor();
  torch::jit::drop(stack, count);
  torch::jit::push(stack, at::empty_like(like, at::MemoryFormat::Contiguous));
}

/// An out= tensor of so many elements keeps its shape.
void shapes_of_logspace(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  const std::size_t count = op.schema().arguments().size();
  const at::Tensor out = torch::jit::peek(stack, count - 1, count).toTensor();
  const std::int64_t steps = torch::jit::peek(stack, 2, count).toInt();
  const std::array<std::int64_t, 1> sizes{steps};
  const at::Tensor result =
      at::empty(out.numel() == steps ? out.sizes() : c10::IntArrayRef(sizes), out.options());
  torch::jit::drop(stack, count);
  torch::jit::push(stack, result);
}

bool has_sparse_gradient(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments) {
  return arguments[static_cast<std::size_t>(*op.schema().argumentIndexWithName("sparse"))].toBool();
}

#define SHAPES(op, rule) &shapes_by<at::_ops::op, &at::meta::rule>
/// Operator, overload and rule of one name.
#define STRUCTURED(name, ...) \
  SchemaLibraryRow { .aten = #name __VA_OPT__(, ) __VA_ARGS__, .shapes = SHAPES(name, name) }
/// The same for operators whose sizes may be symbols.
#define SYMBOLIC(name, ...)                                                         \
  SchemaLibraryRow {                                                                \
    .aten = #name __VA_OPT__(, ) __VA_ARGS__, .shapes = SHAPES(name, name##_symint) \
  }

constexpr std::array kRows{
    // Reading and writing by index.
    SchemaLibraryRow{.aten = "index_select", .faults = true},
    STRUCTURED(gather, .faults = true),
    SchemaLibraryRow{.aten = "take", .faults = true},
    SchemaLibraryRow{.aten = "put_", .faults = true},
    SchemaLibraryRow{.aten = "scatter.src", .faults = true, .shapes = SHAPES(scatter_src, scatter)},
    SchemaLibraryRow{
        .aten = "scatter.value", .faults = true, .shapes = SHAPES(scatter_value, scatter)},
    SchemaLibraryRow{
        .aten = "scatter.reduce", .faults = true, .shapes = SHAPES(scatter_reduce, scatter)},
    SchemaLibraryRow{.aten = "scatter.value_reduce",
                     .faults = true,
                     .shapes = SHAPES(scatter_value_reduce, scatter)},
    STRUCTURED(scatter_add, .faults = true),
    SchemaLibraryRow{.aten = "scatter_reduce.two",
                     .faults = true,
                     .shapes = SHAPES(scatter_reduce_two, scatter_reduce)},
    SchemaLibraryRow{.aten = "index.Tensor",
                     .faults = true,
                     .takes_masks = true,
                     .shapes = SHAPES(index_Tensor, index)},
    SchemaLibraryRow{.aten = "_index_put_impl_",
                     .faults = true,
                     .takes_masks = true,
                     .shapes = &shapes_of_index_put},
    STRUCTURED(index_add, .faults = true),
    STRUCTURED(index_copy, .faults = true),
    STRUCTURED(index_reduce, .faults = true),
    SchemaLibraryRow{.aten = "index_fill_.int_Scalar", .faults = true},
    SchemaLibraryRow{.aten = "index_fill_.int_Tensor", .faults = true},
    SchemaLibraryRow{.aten = "embedding_dense_backward", .faults = true},
    SchemaLibraryRow{.aten = "embedding_renorm_", .faults = true},
    SchemaLibraryRow{.aten = "_embedding_bag", .faults = true},
    SchemaLibraryRow{.aten = "_embedding_bag_forward_only", .faults = true},
    SchemaLibraryRow{
        .aten = "_embedding_bag_backward", .faults = true, .on_host = &has_sparse_gradient},
    SchemaLibraryRow{.aten = "_embedding_bag_per_sample_weights_backward", .faults = true},
    SchemaLibraryRow{.aten = "masked_scatter_", .faults = true},
    SchemaLibraryRow{.aten = "searchsorted.Tensor"},
    SchemaLibraryRow{.aten = "searchsorted.Scalar"},
    SchemaLibraryRow{.aten = "bucketize.Tensor"},
    // Results as long as the data say.
    SchemaLibraryRow{.aten = "nonzero", .count = &count_nonzero, .shapes = &shapes_of_nonzero},
    SchemaLibraryRow{
        .aten = "masked_select", .count = &count_masked_select, .shapes = &shapes_of_masked_select},
    SchemaLibraryRow{.aten = "bincount", .count = &count_bins, .shapes = &shapes_of_bincount},
    // Losses over class indices.
    STRUCTURED(_ctc_loss),
    SchemaLibraryRow{.aten = "_ctc_loss_backward", .shapes = &shapes_of_argument<1>},
    SYMBOLIC(nll_loss_forward, .faults = true),
    SYMBOLIC(nll_loss_backward, .faults = true),
    SchemaLibraryRow{.aten = "nll_loss2d_forward", .faults = true},
    SchemaLibraryRow{.aten = "nll_loss2d_backward", .faults = true},
    SchemaLibraryRow{.aten = "multi_margin_loss", .faults = true},
    SchemaLibraryRow{.aten = "multi_margin_loss_backward", .faults = true},
    SchemaLibraryRow{.aten = "multilabel_margin_loss_forward", .faults = true},
    SchemaLibraryRow{.aten = "multilabel_margin_loss_backward", .faults = true},
    // Scans and orders.
    STRUCTURED(cumsum),
    STRUCTURED(cumprod),
    SchemaLibraryRow{.aten = "cummax"},
    SchemaLibraryRow{.aten = "cummin"},
    SchemaLibraryRow{.aten = "_logcumsumexp"},
    SchemaLibraryRow{.aten = "sort.stable", .shapes = SHAPES(sort_stable, sort)},
    SYMBOLIC(topk),
    SchemaLibraryRow{.aten = "median"},
    SchemaLibraryRow{.aten = "mode"},
    SchemaLibraryRow{.aten = "median.dim"},
    SchemaLibraryRow{.aten = "nanmedian"},
    SchemaLibraryRow{.aten = "nanmedian.dim"},
    SchemaLibraryRow{.aten = "kthvalue"},
    SchemaLibraryRow{.aten = "histc"},
    SchemaLibraryRow{.aten = "histogram.bins_tensor"},
    SchemaLibraryRow{.aten = "histogram.bin_ct"},
    SchemaLibraryRow{.aten = "nonzero_static"},
    // Rearrangements.
    SchemaLibraryRow{.aten = "channel_shuffle"},
    SchemaLibraryRow{.aten = "im2col", .batch_rank = 4},
    SchemaLibraryRow{.aten = "col2im", .batch_rank = 3},
    SchemaLibraryRow{.aten = "unfold_backward"},
    SYMBOLIC(reflection_pad1d),
    SYMBOLIC(reflection_pad1d_backward),
    SchemaLibraryRow{.aten = "reflection_pad2d"},
    SchemaLibraryRow{.aten = "reflection_pad2d_backward"},
    SYMBOLIC(replication_pad1d),
    SYMBOLIC(replication_pad1d_backward),
    SYMBOLIC(replication_pad2d),
    SchemaLibraryRow{.aten = "replication_pad2d_backward"},
    SYMBOLIC(reflection_pad3d),
    SYMBOLIC(reflection_pad3d_backward),
    SYMBOLIC(replication_pad3d),
    SchemaLibraryRow{.aten = "replication_pad3d_backward"},
    // Windows over images.
    STRUCTURED(max_pool2d_with_indices, .batch_rank = 4),
    STRUCTURED(max_pool2d_with_indices_backward, .batch_rank = 4),
    SchemaLibraryRow{.aten = "max_pool3d_with_indices", .batch_rank = 5},
    SchemaLibraryRow{.aten = "max_pool3d_with_indices_backward", .batch_rank = 5},
    STRUCTURED(avg_pool2d, .batch_rank = 4),
    STRUCTURED(avg_pool2d_backward, .batch_rank = 4),
    STRUCTURED(avg_pool3d, .batch_rank = 5),
    STRUCTURED(avg_pool3d_backward, .batch_rank = 5),
    STRUCTURED(adaptive_max_pool2d, .batch_rank = 4),
    STRUCTURED(adaptive_max_pool2d_backward, .batch_rank = 4),
    SchemaLibraryRow{.aten = "_adaptive_avg_pool2d", .batch_rank = 4},
    SchemaLibraryRow{.aten = "_adaptive_avg_pool2d_backward", .batch_rank = 4},
    SchemaLibraryRow{.aten = "_adaptive_avg_pool3d", .batch_rank = 5},
    SchemaLibraryRow{.aten = "_adaptive_avg_pool3d_backward", .batch_rank = 5},
    SYMBOLIC(upsample_nearest1d, .batch_rank = 3),
    SYMBOLIC(upsample_nearest1d_backward),
    SYMBOLIC(upsample_nearest2d, .batch_rank = 4),
    SYMBOLIC(upsample_nearest2d_backward),
    SYMBOLIC(upsample_linear1d, .batch_rank = 3),
    SYMBOLIC(upsample_linear1d_backward),
    SYMBOLIC(upsample_bilinear2d, .batch_rank = 4),
    SYMBOLIC(upsample_bilinear2d_backward),
    SYMBOLIC(upsample_bicubic2d, .batch_rank = 4),
    SYMBOLIC(upsample_bicubic2d_backward),
    SchemaLibraryRow{.aten = "grid_sampler_2d", .batch_rank = 4},
    SchemaLibraryRow{.aten = "grid_sampler_2d_backward"},
    STRUCTURED(adaptive_max_pool3d, .batch_rank = 5),
    STRUCTURED(adaptive_max_pool3d_backward, .batch_rank = 5),
    STRUCTURED(fractional_max_pool2d),
    STRUCTURED(fractional_max_pool2d_backward, .faults = true),
    STRUCTURED(fractional_max_pool3d),
    SchemaLibraryRow{
        .aten = "fractional_max_pool3d_backward", .faults = true, .shapes = &shapes_of_argument<1>},
    SchemaLibraryRow{.aten = "max_unpool2d", .faults = true},
    SchemaLibraryRow{.aten = "max_unpool3d", .faults = true},
    SYMBOLIC(upsample_nearest3d, .batch_rank = 5),
    SYMBOLIC(upsample_nearest3d_backward),
    SYMBOLIC(upsample_trilinear3d, .batch_rank = 5),
    SYMBOLIC(upsample_trilinear3d_backward),
    SYMBOLIC(_upsample_nearest_exact1d, .batch_rank = 3),
    SYMBOLIC(_upsample_nearest_exact1d_backward),
    SYMBOLIC(_upsample_nearest_exact2d, .batch_rank = 4),
    SYMBOLIC(_upsample_nearest_exact2d_backward),
    SYMBOLIC(_upsample_nearest_exact3d, .batch_rank = 5),
    SYMBOLIC(_upsample_nearest_exact3d_backward),
    SYMBOLIC(_upsample_bilinear2d_aa, .batch_rank = 4),
    SYMBOLIC(_upsample_bilinear2d_aa_backward),
    SYMBOLIC(_upsample_bicubic2d_aa, .batch_rank = 4),
    SYMBOLIC(_upsample_bicubic2d_aa_backward),
    SchemaLibraryRow{.aten = "grid_sampler_3d", .batch_rank = 5},
    SchemaLibraryRow{.aten = "grid_sampler_3d_backward"},
    SchemaLibraryRow{.aten = "logspace.out", .shapes = &shapes_of_logspace},
    // Complex numbers, which the op table does not have.
    SchemaLibraryRow{.aten = "complex"},
    SchemaLibraryRow{.aten = "polar"},
    SchemaLibraryRow{.aten = "_fft_r2c"},
    SchemaLibraryRow{.aten = "_fft_c2r"},
    SchemaLibraryRow{.aten = "_fft_c2c"},
};

#undef SYMBOLIC
#undef STRUCTURED
#undef SHAPES

}  // namespace

std::span<const SchemaLibraryRow> schema_library_rows() {
  static const std::vector<SchemaLibraryRow> rows = [] {
    std::vector<SchemaLibraryRow> all(kRows.begin(), kRows.end());
    const auto mathematics = mathematics_library_rows();
    all.insert(all.end(), mathematics.begin(), mathematics.end());
    return all;
  }();
  return rows;
}

}  // namespace spyre::engine

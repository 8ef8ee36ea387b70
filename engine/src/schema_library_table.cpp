// spyre/engine/schema_library_table.cpp — the rows: which operators run as library operations by schema alone.
#include <ATen/ExpandUtils.h>
#include <ATen/Operators.h>
#include <ATen/ops/_upsample_bicubic2d_aa_backward_meta_dispatch.h>
#include <ATen/ops/_upsample_bicubic2d_aa_meta_dispatch.h>
#include <ATen/ops/_upsample_bilinear2d_aa_backward_meta_dispatch.h>
#include <ATen/ops/_upsample_bilinear2d_aa_meta_dispatch.h>
#include <ATen/ops/_upsample_nearest_exact1d_backward_meta_dispatch.h>
#include <ATen/ops/_upsample_nearest_exact1d_meta_dispatch.h>
#include <ATen/ops/_upsample_nearest_exact2d_backward_meta_dispatch.h>
#include <ATen/ops/_upsample_nearest_exact2d_meta_dispatch.h>
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
#define SHAPES(op, rule) &shapes_by<at::_ops::op, &at::meta::rule>

constexpr std::array kRows{
    // Reading and writing by index.
    SchemaLibraryRow{.aten = "index_select", .faults = true},
    SchemaLibraryRow{.aten = "gather", .faults = true, .shapes = SHAPES(gather, gather)},
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
    SchemaLibraryRow{
        .aten = "scatter_add", .faults = true, .shapes = SHAPES(scatter_add, scatter_add)},
    SchemaLibraryRow{.aten = "scatter_reduce.two",
                     .faults = true,
                     .shapes = SHAPES(scatter_reduce_two, scatter_reduce)},
    SchemaLibraryRow{.aten = "index.Tensor",
                     .faults = true,
                     .masks_on_host = true,
                     .shapes = SHAPES(index_Tensor, index)},
    SchemaLibraryRow{.aten = "_index_put_impl_",
                     .faults = true,
                     .masks_on_host = true,
                     .shapes = &shapes_of_index_put},
    SchemaLibraryRow{.aten = "index_add", .faults = true, .shapes = SHAPES(index_add, index_add)},
    SchemaLibraryRow{
        .aten = "index_copy", .faults = true, .shapes = SHAPES(index_copy, index_copy)},
    SchemaLibraryRow{
        .aten = "index_reduce", .faults = true, .shapes = SHAPES(index_reduce, index_reduce)},
    SchemaLibraryRow{.aten = "index_fill_.int_Scalar", .faults = true},
    SchemaLibraryRow{.aten = "index_fill_.int_Tensor", .faults = true},
    SchemaLibraryRow{.aten = "embedding_dense_backward", .faults = true},
    SchemaLibraryRow{.aten = "searchsorted.Tensor"},
    SchemaLibraryRow{.aten = "bucketize.Tensor"},
    // Losses over class indices.
    SchemaLibraryRow{.aten = "nll_loss_forward",
                     .faults = true,
                     .shapes = SHAPES(nll_loss_forward, nll_loss_forward_symint)},
    SchemaLibraryRow{.aten = "nll_loss_backward",
                     .faults = true,
                     .shapes = SHAPES(nll_loss_backward, nll_loss_backward_symint)},
    SchemaLibraryRow{.aten = "nll_loss2d_forward", .faults = true},
    SchemaLibraryRow{.aten = "nll_loss2d_backward", .faults = true},
    SchemaLibraryRow{.aten = "multi_margin_loss", .faults = true},
    SchemaLibraryRow{.aten = "multi_margin_loss_backward", .faults = true},
    SchemaLibraryRow{.aten = "multilabel_margin_loss_forward", .faults = true},
    SchemaLibraryRow{.aten = "multilabel_margin_loss_backward", .faults = true},
    // Scans and orders.
    SchemaLibraryRow{.aten = "cumsum", .shapes = SHAPES(cumsum, cumsum)},
    SchemaLibraryRow{.aten = "cumprod", .shapes = SHAPES(cumprod, cumprod)},
    SchemaLibraryRow{.aten = "cummax"},
    SchemaLibraryRow{.aten = "cummin"},
    SchemaLibraryRow{.aten = "_logcumsumexp"},
    SchemaLibraryRow{.aten = "sort.stable", .shapes = SHAPES(sort_stable, sort)},
    SchemaLibraryRow{.aten = "topk", .shapes = SHAPES(topk, topk_symint)},
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
    SchemaLibraryRow{.aten = "reflection_pad1d",
                     .shapes = SHAPES(reflection_pad1d, reflection_pad1d_symint)},
    SchemaLibraryRow{.aten = "reflection_pad1d_backward",
                     .shapes = SHAPES(reflection_pad1d_backward, reflection_pad1d_backward_symint)},
    SchemaLibraryRow{.aten = "reflection_pad2d"},
    SchemaLibraryRow{.aten = "reflection_pad2d_backward"},
    SchemaLibraryRow{.aten = "replication_pad1d",
                     .shapes = SHAPES(replication_pad1d, replication_pad1d_symint)},
    SchemaLibraryRow{
        .aten = "replication_pad1d_backward",
        .shapes = SHAPES(replication_pad1d_backward, replication_pad1d_backward_symint)},
    SchemaLibraryRow{.aten = "replication_pad2d",
                     .shapes = SHAPES(replication_pad2d, replication_pad2d_symint)},
    SchemaLibraryRow{.aten = "replication_pad2d_backward"},
    SchemaLibraryRow{.aten = "reflection_pad3d",
                     .shapes = SHAPES(reflection_pad3d, reflection_pad3d_symint)},
    SchemaLibraryRow{.aten = "reflection_pad3d_backward",
                     .shapes = SHAPES(reflection_pad3d_backward, reflection_pad3d_backward_symint)},
    SchemaLibraryRow{.aten = "replication_pad3d",
                     .shapes = SHAPES(replication_pad3d, replication_pad3d_symint)},
    SchemaLibraryRow{.aten = "replication_pad3d_backward"},
    // Windows over images.
    SchemaLibraryRow{.aten = "max_pool2d_with_indices",
                     .batch_rank = 4,
                     .shapes = SHAPES(max_pool2d_with_indices, max_pool2d_with_indices)},
    SchemaLibraryRow{
        .aten = "max_pool2d_with_indices_backward",
        .batch_rank = 4,
        .shapes = SHAPES(max_pool2d_with_indices_backward, max_pool2d_with_indices_backward)},
    SchemaLibraryRow{.aten = "max_pool3d_with_indices", .batch_rank = 5},
    SchemaLibraryRow{.aten = "max_pool3d_with_indices_backward", .batch_rank = 5},
    SchemaLibraryRow{
        .aten = "avg_pool2d", .batch_rank = 4, .shapes = SHAPES(avg_pool2d, avg_pool2d)},
    SchemaLibraryRow{.aten = "avg_pool2d_backward",
                     .batch_rank = 4,
                     .shapes = SHAPES(avg_pool2d_backward, avg_pool2d_backward)},
    SchemaLibraryRow{
        .aten = "avg_pool3d", .batch_rank = 5, .shapes = SHAPES(avg_pool3d, avg_pool3d)},
    SchemaLibraryRow{.aten = "avg_pool3d_backward",
                     .batch_rank = 5,
                     .shapes = SHAPES(avg_pool3d_backward, avg_pool3d_backward)},
    SchemaLibraryRow{.aten = "adaptive_max_pool2d",
                     .batch_rank = 4,
                     .shapes = SHAPES(adaptive_max_pool2d, adaptive_max_pool2d)},
    SchemaLibraryRow{.aten = "adaptive_max_pool2d_backward",
                     .batch_rank = 4,
                     .shapes = SHAPES(adaptive_max_pool2d_backward, adaptive_max_pool2d_backward)},
    SchemaLibraryRow{.aten = "_adaptive_avg_pool2d", .batch_rank = 4},
    SchemaLibraryRow{.aten = "_adaptive_avg_pool2d_backward", .batch_rank = 4},
    SchemaLibraryRow{.aten = "_adaptive_avg_pool3d", .batch_rank = 5},
    SchemaLibraryRow{.aten = "_adaptive_avg_pool3d_backward", .batch_rank = 5},
    SchemaLibraryRow{.aten = "upsample_nearest1d",
                     .batch_rank = 3,
                     .shapes = SHAPES(upsample_nearest1d, upsample_nearest1d_symint)},
    SchemaLibraryRow{
        .aten = "upsample_nearest1d_backward",
        .shapes = SHAPES(upsample_nearest1d_backward, upsample_nearest1d_backward_symint)},
    SchemaLibraryRow{.aten = "upsample_nearest2d",
                     .batch_rank = 4,
                     .shapes = SHAPES(upsample_nearest2d, upsample_nearest2d_symint)},
    SchemaLibraryRow{
        .aten = "upsample_nearest2d_backward",
        .shapes = SHAPES(upsample_nearest2d_backward, upsample_nearest2d_backward_symint)},
    SchemaLibraryRow{.aten = "upsample_linear1d",
                     .batch_rank = 3,
                     .shapes = SHAPES(upsample_linear1d, upsample_linear1d_symint)},
    SchemaLibraryRow{
        .aten = "upsample_linear1d_backward",
        .shapes = SHAPES(upsample_linear1d_backward, upsample_linear1d_backward_symint)},
    SchemaLibraryRow{.aten = "upsample_bilinear2d",
                     .batch_rank = 4,
                     .shapes = SHAPES(upsample_bilinear2d, upsample_bilinear2d_symint)},
    SchemaLibraryRow{
        .aten = "upsample_bilinear2d_backward",
        .shapes = SHAPES(upsample_bilinear2d_backward, upsample_bilinear2d_backward_symint)},
    SchemaLibraryRow{.aten = "upsample_bicubic2d",
                     .batch_rank = 4,
                     .shapes = SHAPES(upsample_bicubic2d, upsample_bicubic2d_symint)},
    SchemaLibraryRow{
        .aten = "upsample_bicubic2d_backward",
        .shapes = SHAPES(upsample_bicubic2d_backward, upsample_bicubic2d_backward_symint)},
    SchemaLibraryRow{.aten = "grid_sampler_2d", .batch_rank = 4},
    SchemaLibraryRow{.aten = "grid_sampler_2d_backward"},
    SchemaLibraryRow{.aten = "adaptive_max_pool3d",
                     .batch_rank = 5,
                     .shapes = SHAPES(adaptive_max_pool3d, adaptive_max_pool3d)},
    SchemaLibraryRow{.aten = "adaptive_max_pool3d_backward",
                     .batch_rank = 5,
                     .shapes = SHAPES(adaptive_max_pool3d_backward, adaptive_max_pool3d_backward)},
    SchemaLibraryRow{.aten = "max_unpool2d", .faults = true},
    SchemaLibraryRow{.aten = "max_unpool3d", .faults = true},
    SchemaLibraryRow{.aten = "upsample_nearest3d",
                     .batch_rank = 5,
                     .shapes = SHAPES(upsample_nearest3d, upsample_nearest3d_symint)},
    SchemaLibraryRow{
        .aten = "upsample_nearest3d_backward",
        .shapes = SHAPES(upsample_nearest3d_backward, upsample_nearest3d_backward_symint)},
    SchemaLibraryRow{.aten = "upsample_trilinear3d",
                     .batch_rank = 5,
                     .shapes = SHAPES(upsample_trilinear3d, upsample_trilinear3d_symint)},
    SchemaLibraryRow{
        .aten = "upsample_trilinear3d_backward",
        .shapes = SHAPES(upsample_trilinear3d_backward, upsample_trilinear3d_backward_symint)},
    SchemaLibraryRow{.aten = "_upsample_nearest_exact1d",
                     .batch_rank = 3,
                     .shapes = SHAPES(_upsample_nearest_exact1d, _upsample_nearest_exact1d_symint)},
    SchemaLibraryRow{.aten = "_upsample_nearest_exact1d_backward",
                     .shapes = SHAPES(_upsample_nearest_exact1d_backward,
                                      _upsample_nearest_exact1d_backward_symint)},
    SchemaLibraryRow{.aten = "_upsample_nearest_exact2d",
                     .batch_rank = 4,
                     .shapes = SHAPES(_upsample_nearest_exact2d, _upsample_nearest_exact2d_symint)},
    SchemaLibraryRow{.aten = "_upsample_nearest_exact2d_backward",
                     .shapes = SHAPES(_upsample_nearest_exact2d_backward,
                                      _upsample_nearest_exact2d_backward_symint)},
    SchemaLibraryRow{.aten = "_upsample_bilinear2d_aa",
                     .batch_rank = 4,
                     .shapes = SHAPES(_upsample_bilinear2d_aa, _upsample_bilinear2d_aa_symint)},
    SchemaLibraryRow{.aten = "_upsample_bilinear2d_aa_backward",
                     .shapes = SHAPES(_upsample_bilinear2d_aa_backward,
                                      _upsample_bilinear2d_aa_backward_symint)},
    SchemaLibraryRow{.aten = "_upsample_bicubic2d_aa",
                     .batch_rank = 4,
                     .shapes = SHAPES(_upsample_bicubic2d_aa, _upsample_bicubic2d_aa_symint)},
    SchemaLibraryRow{
        .aten = "_upsample_bicubic2d_aa_backward",
        .shapes = SHAPES(_upsample_bicubic2d_aa_backward, _upsample_bicubic2d_aa_backward_symint)},
    SchemaLibraryRow{.aten = "grid_sampler_3d", .batch_rank = 5},
    SchemaLibraryRow{.aten = "grid_sampler_3d_backward"},
    // Complex numbers, which the op table does not have.
    SchemaLibraryRow{.aten = "complex"},
    SchemaLibraryRow{.aten = "polar"},
    SchemaLibraryRow{.aten = "_fft_r2c"},
    SchemaLibraryRow{.aten = "_fft_c2r"},
    SchemaLibraryRow{.aten = "_fft_c2c"},
};

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

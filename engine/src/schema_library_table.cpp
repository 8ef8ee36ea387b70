// spyre/engine/schema_library_table.cpp — the rows: which operators run as library operations by schema alone.
#include <array>

#include "spyre/engine/schema_library.h"

namespace spyre::engine {
namespace {

constexpr std::array kRows{
    // Reading and writing by index.
    SchemaLibraryRow{.aten = "index_select", .faults = true},
    SchemaLibraryRow{.aten = "gather", .faults = true},
    SchemaLibraryRow{.aten = "take", .faults = true},
    SchemaLibraryRow{.aten = "put_", .faults = true},
    SchemaLibraryRow{.aten = "scatter.src", .faults = true},
    SchemaLibraryRow{.aten = "scatter.value", .faults = true},
    SchemaLibraryRow{.aten = "scatter.reduce", .faults = true},
    SchemaLibraryRow{.aten = "scatter.value_reduce", .faults = true},
    SchemaLibraryRow{.aten = "scatter_add", .faults = true},
    SchemaLibraryRow{.aten = "scatter_reduce.two", .faults = true},
    SchemaLibraryRow{.aten = "index.Tensor", .faults = true, .masks_on_host = true},
    SchemaLibraryRow{.aten = "_index_put_impl_", .faults = true, .masks_on_host = true},
    SchemaLibraryRow{.aten = "index_add", .faults = true},
    SchemaLibraryRow{.aten = "index_copy", .faults = true},
    SchemaLibraryRow{.aten = "index_reduce", .faults = true},
    SchemaLibraryRow{.aten = "index_fill_.int_Scalar", .faults = true},
    SchemaLibraryRow{.aten = "index_fill_.int_Tensor", .faults = true},
    SchemaLibraryRow{.aten = "embedding_dense_backward", .faults = true},
    SchemaLibraryRow{.aten = "searchsorted.Tensor"},
    SchemaLibraryRow{.aten = "bucketize.Tensor"},
    // Losses over class indices.
    SchemaLibraryRow{.aten = "nll_loss_forward", .faults = true},
    SchemaLibraryRow{.aten = "nll_loss_backward", .faults = true},
    SchemaLibraryRow{.aten = "nll_loss2d_forward", .faults = true},
    SchemaLibraryRow{.aten = "nll_loss2d_backward", .faults = true},
    SchemaLibraryRow{.aten = "multi_margin_loss", .faults = true},
    // Scans and orders.
    SchemaLibraryRow{.aten = "cumsum"},
    SchemaLibraryRow{.aten = "cumprod"},
    SchemaLibraryRow{.aten = "cummax"},
    SchemaLibraryRow{.aten = "cummin"},
    SchemaLibraryRow{.aten = "_logcumsumexp"},
    SchemaLibraryRow{.aten = "sort.stable"},
    SchemaLibraryRow{.aten = "topk"},
    SchemaLibraryRow{.aten = "median"},
    SchemaLibraryRow{.aten = "mode"},
    SchemaLibraryRow{.aten = "histc"},
    // Rearrangements.
    SchemaLibraryRow{.aten = "im2col", .batch_rank = 4},
    SchemaLibraryRow{.aten = "col2im", .batch_rank = 3},
    SchemaLibraryRow{.aten = "unfold_backward"},
    SchemaLibraryRow{.aten = "reflection_pad1d"},
    SchemaLibraryRow{.aten = "reflection_pad1d_backward"},
    SchemaLibraryRow{.aten = "reflection_pad2d"},
    SchemaLibraryRow{.aten = "reflection_pad2d_backward"},
    SchemaLibraryRow{.aten = "replication_pad1d"},
    SchemaLibraryRow{.aten = "replication_pad1d_backward"},
    SchemaLibraryRow{.aten = "replication_pad2d"},
    SchemaLibraryRow{.aten = "replication_pad2d_backward"},
    // Windows over images.
    SchemaLibraryRow{.aten = "max_pool2d_with_indices", .batch_rank = 4},
    SchemaLibraryRow{.aten = "max_pool2d_with_indices_backward", .batch_rank = 4},
    SchemaLibraryRow{.aten = "max_pool3d_with_indices", .batch_rank = 5},
    SchemaLibraryRow{.aten = "max_pool3d_with_indices_backward", .batch_rank = 5},
    SchemaLibraryRow{.aten = "avg_pool2d", .batch_rank = 4},
    SchemaLibraryRow{.aten = "avg_pool2d_backward", .batch_rank = 4},
    SchemaLibraryRow{.aten = "avg_pool3d", .batch_rank = 5},
    SchemaLibraryRow{.aten = "avg_pool3d_backward", .batch_rank = 5},
    SchemaLibraryRow{.aten = "adaptive_max_pool2d", .batch_rank = 4},
    SchemaLibraryRow{.aten = "adaptive_max_pool2d_backward", .batch_rank = 4},
    SchemaLibraryRow{.aten = "_adaptive_avg_pool2d", .batch_rank = 4},
    SchemaLibraryRow{.aten = "_adaptive_avg_pool2d_backward", .batch_rank = 4},
    SchemaLibraryRow{.aten = "_adaptive_avg_pool3d", .batch_rank = 5},
    SchemaLibraryRow{.aten = "_adaptive_avg_pool3d_backward", .batch_rank = 5},
    SchemaLibraryRow{.aten = "upsample_nearest1d", .batch_rank = 3},
    SchemaLibraryRow{.aten = "upsample_nearest1d_backward"},
    SchemaLibraryRow{.aten = "upsample_nearest2d", .batch_rank = 4},
    SchemaLibraryRow{.aten = "upsample_nearest2d_backward"},
    SchemaLibraryRow{.aten = "upsample_linear1d", .batch_rank = 3},
    SchemaLibraryRow{.aten = "upsample_linear1d_backward"},
    SchemaLibraryRow{.aten = "upsample_bilinear2d", .batch_rank = 4},
    SchemaLibraryRow{.aten = "upsample_bilinear2d_backward"},
    SchemaLibraryRow{.aten = "upsample_bicubic2d", .batch_rank = 4},
    SchemaLibraryRow{.aten = "upsample_bicubic2d_backward"},
    SchemaLibraryRow{.aten = "grid_sampler_2d", .batch_rank = 4},
    SchemaLibraryRow{.aten = "grid_sampler_2d_backward"},
    // Linear algebra beside the products.
    SchemaLibraryRow{.aten = "addr"},
    SchemaLibraryRow{.aten = "trace"},
    SchemaLibraryRow{.aten = "linalg_cross"},
    SchemaLibraryRow{.aten = "_cdist_forward"},
};

}  // namespace

std::span<const SchemaLibraryRow> schema_library_rows() { return kRows; }

}  // namespace spyre::engine

// spyre/engine/mathematics_table.cpp — the library tier's rows for linear algebra and functions of mathematics.
#include <ATen/Operators.h>
#include <ATen/ops/_linalg_det_meta_dispatch.h>
#include <ATen/ops/_linalg_eigh_meta_dispatch.h>
#include <ATen/ops/_linalg_slogdet_meta_dispatch.h>
#include <ATen/ops/_linalg_solve_ex_meta_dispatch.h>
#include <ATen/ops/_linalg_svd_meta_dispatch.h>
#include <ATen/ops/digamma_meta_dispatch.h>
#include <ATen/ops/erfinv_meta_dispatch.h>
#include <ATen/ops/gcd_meta_dispatch.h>
#include <ATen/ops/i0_meta_dispatch.h>
#include <ATen/ops/igamma_meta_dispatch.h>
#include <ATen/ops/igammac_meta_dispatch.h>
#include <ATen/ops/isin_meta_dispatch.h>
#include <ATen/ops/lcm_meta_dispatch.h>
#include <ATen/ops/linalg_cholesky_ex_meta_dispatch.h>
#include <ATen/ops/linalg_cross_meta_dispatch.h>
#include <ATen/ops/linalg_inv_ex_meta_dispatch.h>
#include <ATen/ops/linalg_ldl_factor_ex_meta_dispatch.h>
#include <ATen/ops/linalg_ldl_solve_meta_dispatch.h>
#include <ATen/ops/linalg_lu_factor_ex_meta_dispatch.h>
#include <ATen/ops/linalg_lu_meta_dispatch.h>
#include <ATen/ops/linalg_lu_solve_meta_dispatch.h>
#include <ATen/ops/linalg_qr_meta_dispatch.h>
#include <ATen/ops/logaddexp2_meta_dispatch.h>
#include <ATen/ops/lu_unpack_meta_dispatch.h>
#include <ATen/ops/nextafter_meta_dispatch.h>
#include <ATen/ops/polygamma_meta_dispatch.h>
#include <ATen/ops/renorm_meta_dispatch.h>
#include <ATen/ops/round_meta_dispatch.h>
#include <ATen/ops/special_airy_ai_meta_dispatch.h>
#include <ATen/ops/special_bessel_j0_meta_dispatch.h>
#include <ATen/ops/special_bessel_j1_meta_dispatch.h>
#include <ATen/ops/special_bessel_y0_meta_dispatch.h>
#include <ATen/ops/special_bessel_y1_meta_dispatch.h>
#include <ATen/ops/special_chebyshev_polynomial_t_meta_dispatch.h>
#include <ATen/ops/special_chebyshev_polynomial_u_meta_dispatch.h>
#include <ATen/ops/special_chebyshev_polynomial_v_meta_dispatch.h>
#include <ATen/ops/special_chebyshev_polynomial_w_meta_dispatch.h>
#include <ATen/ops/special_erfcx_meta_dispatch.h>
#include <ATen/ops/special_hermite_polynomial_h_meta_dispatch.h>
#include <ATen/ops/special_hermite_polynomial_he_meta_dispatch.h>
#include <ATen/ops/special_i0e_meta_dispatch.h>
#include <ATen/ops/special_i1_meta_dispatch.h>
#include <ATen/ops/special_i1e_meta_dispatch.h>
#include <ATen/ops/special_laguerre_polynomial_l_meta_dispatch.h>
#include <ATen/ops/special_legendre_polynomial_p_meta_dispatch.h>
#include <ATen/ops/special_log_ndtr_meta_dispatch.h>
#include <ATen/ops/special_modified_bessel_i0_meta_dispatch.h>
#include <ATen/ops/special_modified_bessel_i1_meta_dispatch.h>
#include <ATen/ops/special_modified_bessel_k0_meta_dispatch.h>
#include <ATen/ops/special_modified_bessel_k1_meta_dispatch.h>
#include <ATen/ops/special_ndtri_meta_dispatch.h>
#include <ATen/ops/special_scaled_modified_bessel_k0_meta_dispatch.h>
#include <ATen/ops/special_scaled_modified_bessel_k1_meta_dispatch.h>
#include <ATen/ops/special_shifted_chebyshev_polynomial_t_meta_dispatch.h>
#include <ATen/ops/special_shifted_chebyshev_polynomial_u_meta_dispatch.h>
#include <ATen/ops/special_shifted_chebyshev_polynomial_v_meta_dispatch.h>
#include <ATen/ops/special_shifted_chebyshev_polynomial_w_meta_dispatch.h>
#include <ATen/ops/special_spherical_bessel_j0_meta_dispatch.h>
#include <ATen/ops/special_zeta_meta_dispatch.h>
#include <ATen/ops/triangular_solve_meta_dispatch.h>

#include <array>

#include "schema_rules.h"
#include "schema_shapes.h"

namespace spyre::engine {
namespace {

/// Whether linalg.lstsq gives residuals depends on the ranks that it finds, but for the driver that never gives any.
/// For a matrix without elements, CPU's kernel wants memory that it may resize.
bool needs_cpu_least_squares(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments) {
  if (arguments[0].toTensor().numel() == 0) return true;
  const c10::IValue& driver =
      arguments[static_cast<std::size_t>(*op.schema().argumentIndexWithName("driver"))];
  return driver.isString() && driver.toStringRef() != "gelsy";
}

#define SHAPES(op, rule) &shapes_by<at::_ops::op, &at::meta::rule>
/// Operator, overload and rule of one name.
#define STRUCTURED(name, ...) \
  SchemaLibraryRow { .aten = #name __VA_OPT__(, ) __VA_ARGS__, .shapes = SHAPES(name, name) }

constexpr std::array kRows{
    // Linear algebra beside the products.
    SchemaLibraryRow{.aten = "addr"},
    SchemaLibraryRow{.aten = "trace"},
    STRUCTURED(linalg_cross),
    SchemaLibraryRow{.aten = "_cdist_forward"},
    SchemaLibraryRow{.aten = "_cdist_backward"},
    SchemaLibraryRow{.aten = "_pdist_forward"},
    SchemaLibraryRow{.aten = "_weight_norm_interface"},
    SchemaLibraryRow{.aten = "_weight_norm_interface_backward"},
    SchemaLibraryRow{.aten = "_pdist_backward"},
    // Factors of matrices, and what is solved with them.
    STRUCTURED(linalg_inv_ex),
    STRUCTURED(_linalg_solve_ex),
    STRUCTURED(linalg_cholesky_ex),
    STRUCTURED(linalg_lu_factor_ex),
    STRUCTURED(linalg_lu),
    STRUCTURED(linalg_lu_solve),
    STRUCTURED(lu_unpack),
    STRUCTURED(linalg_qr),
    STRUCTURED(linalg_ldl_factor_ex),
    STRUCTURED(linalg_ldl_solve),
    STRUCTURED(_linalg_det),
    STRUCTURED(_linalg_slogdet),
    STRUCTURED(triangular_solve),
    SchemaLibraryRow{.aten = "linalg_solve_triangular"},
    SchemaLibraryRow{
        .aten = "linalg_lstsq.out", .faults = true, .on_host = &needs_cpu_least_squares},
    SchemaLibraryRow{.aten = "_cholesky_solve_helper"},
    SchemaLibraryRow{.aten = "geqrf"},
    SchemaLibraryRow{.aten = "ormqr"},
    SchemaLibraryRow{.aten = "linalg_householder_product"},
    SchemaLibraryRow{.aten = "linalg_matrix_exp"},
    // Without a result for some matrices: LinAlgError then.
    STRUCTURED(_linalg_svd, .faults = true),
    STRUCTURED(_linalg_eigh, .faults = true),
    SchemaLibraryRow{.aten = "linalg_eig", .faults = true},
    SchemaLibraryRow{.aten = "_linalg_eigvals", .faults = true},
    SchemaLibraryRow{.aten = "cholesky", .faults = true},
    SchemaLibraryRow{.aten = "cholesky_inverse", .faults = true},
    // Functions that the op table does not have.
    STRUCTURED(digamma),
    STRUCTURED(erfinv),
    STRUCTURED(polygamma),
    STRUCTURED(igamma),
    STRUCTURED(igammac),
    STRUCTURED(i0),
    STRUCTURED(special_i0e),
    STRUCTURED(special_i1),
    STRUCTURED(special_i1e),
    STRUCTURED(special_ndtri),
    STRUCTURED(special_log_ndtr),
    STRUCTURED(special_erfcx),
    STRUCTURED(special_zeta),
    STRUCTURED(logaddexp2),
    STRUCTURED(nextafter),
    STRUCTURED(gcd),
    STRUCTURED(lcm),
    STRUCTURED(renorm),
    SchemaLibraryRow{.aten = "round.decimals", .shapes = SHAPES(round_decimals, round)},
    SchemaLibraryRow{.aten = "frexp.Tensor"},
    // Not a product with a power, which overflows before the result does.
    SchemaLibraryRow{.aten = "ldexp.Tensor", .shapes = &shapes_of_elements},
    SchemaLibraryRow{.aten = "isin.Tensor_Tensor", .shapes = SHAPES(isin_Tensor_Tensor, isin)},
    STRUCTURED(special_airy_ai),
    STRUCTURED(special_bessel_j0),
    STRUCTURED(special_bessel_j1),
    STRUCTURED(special_bessel_y0),
    STRUCTURED(special_bessel_y1),
    STRUCTURED(special_chebyshev_polynomial_t),
    STRUCTURED(special_chebyshev_polynomial_u),
    STRUCTURED(special_chebyshev_polynomial_v),
    STRUCTURED(special_chebyshev_polynomial_w),
    STRUCTURED(special_hermite_polynomial_h),
    STRUCTURED(special_hermite_polynomial_he),
    STRUCTURED(special_laguerre_polynomial_l),
    STRUCTURED(special_legendre_polynomial_p),
    STRUCTURED(special_modified_bessel_i0),
    STRUCTURED(special_modified_bessel_i1),
    STRUCTURED(special_modified_bessel_k0),
    STRUCTURED(special_modified_bessel_k1),
    STRUCTURED(special_scaled_modified_bessel_k0),
    STRUCTURED(special_scaled_modified_bessel_k1),
    STRUCTURED(special_shifted_chebyshev_polynomial_t),
    STRUCTURED(special_shifted_chebyshev_polynomial_u),
    STRUCTURED(special_shifted_chebyshev_polynomial_v),
    STRUCTURED(special_shifted_chebyshev_polynomial_w),
    STRUCTURED(special_spherical_bessel_j0),
    SchemaLibraryRow{.aten = "mvlgamma"},
    SchemaLibraryRow{.aten = "glu_jvp"},
    SchemaLibraryRow{.aten = "hash_tensor"},
};

#undef STRUCTURED
#undef SHAPES

}  // namespace

std::span<const SchemaLibraryRow> mathematics_library_rows() { return kRows; }

}  // namespace spyre::engine

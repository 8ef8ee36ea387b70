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

namespace spyre::engine {
namespace {

#define SHAPES(op, rule) &shapes_by<at::_ops::op, &at::meta::rule>

constexpr std::array kRows{
    // Linear algebra beside the products.
    SchemaLibraryRow{.aten = "addr"},
    SchemaLibraryRow{.aten = "trace"},
    SchemaLibraryRow{.aten = "linalg_cross", .shapes = SHAPES(linalg_cross, linalg_cross)},
    SchemaLibraryRow{.aten = "_cdist_forward"},
    SchemaLibraryRow{.aten = "_cdist_backward"},
    SchemaLibraryRow{.aten = "_pdist_forward"},
    SchemaLibraryRow{.aten = "_weight_norm_interface"},
    SchemaLibraryRow{.aten = "_weight_norm_interface_backward"},
    SchemaLibraryRow{.aten = "_pdist_backward"},
    // Factors of matrices, and what is solved with them.
    SchemaLibraryRow{.aten = "linalg_inv_ex", .shapes = SHAPES(linalg_inv_ex, linalg_inv_ex)},
    SchemaLibraryRow{.aten = "_linalg_solve_ex",
                     .shapes = SHAPES(_linalg_solve_ex, _linalg_solve_ex)},
    SchemaLibraryRow{.aten = "linalg_cholesky_ex",
                     .shapes = SHAPES(linalg_cholesky_ex, linalg_cholesky_ex)},
    SchemaLibraryRow{.aten = "linalg_lu_factor_ex",
                     .shapes = SHAPES(linalg_lu_factor_ex, linalg_lu_factor_ex)},
    SchemaLibraryRow{.aten = "linalg_lu", .shapes = SHAPES(linalg_lu, linalg_lu)},
    SchemaLibraryRow{.aten = "linalg_lu_solve", .shapes = SHAPES(linalg_lu_solve, linalg_lu_solve)},
    SchemaLibraryRow{.aten = "lu_unpack", .shapes = SHAPES(lu_unpack, lu_unpack)},
    SchemaLibraryRow{.aten = "linalg_qr", .shapes = SHAPES(linalg_qr, linalg_qr)},
    SchemaLibraryRow{.aten = "linalg_ldl_factor_ex",
                     .shapes = SHAPES(linalg_ldl_factor_ex, linalg_ldl_factor_ex)},
    SchemaLibraryRow{.aten = "linalg_ldl_solve",
                     .shapes = SHAPES(linalg_ldl_solve, linalg_ldl_solve)},
    SchemaLibraryRow{.aten = "_linalg_det", .shapes = SHAPES(_linalg_det, _linalg_det)},
    SchemaLibraryRow{.aten = "_linalg_slogdet", .shapes = SHAPES(_linalg_slogdet, _linalg_slogdet)},
    SchemaLibraryRow{.aten = "triangular_solve",
                     .shapes = SHAPES(triangular_solve, triangular_solve)},
    SchemaLibraryRow{.aten = "linalg_solve_triangular"},
    SchemaLibraryRow{.aten = "_cholesky_solve_helper"},
    SchemaLibraryRow{.aten = "geqrf"},
    SchemaLibraryRow{.aten = "ormqr"},
    SchemaLibraryRow{.aten = "linalg_householder_product"},
    SchemaLibraryRow{.aten = "linalg_matrix_exp"},
    // Without a result for some matrices: LinAlgError then.
    SchemaLibraryRow{
        .aten = "_linalg_svd", .faults = true, .shapes = SHAPES(_linalg_svd, _linalg_svd)},
    SchemaLibraryRow{
        .aten = "_linalg_eigh", .faults = true, .shapes = SHAPES(_linalg_eigh, _linalg_eigh)},
    SchemaLibraryRow{.aten = "linalg_eig", .faults = true},
    SchemaLibraryRow{.aten = "_linalg_eigvals", .faults = true},
    SchemaLibraryRow{.aten = "cholesky", .faults = true},
    SchemaLibraryRow{.aten = "cholesky_inverse", .faults = true},
    // Functions that the op table does not have.
    SchemaLibraryRow{.aten = "digamma", .shapes = SHAPES(digamma, digamma)},
    SchemaLibraryRow{.aten = "erfinv", .shapes = SHAPES(erfinv, erfinv)},
    SchemaLibraryRow{.aten = "polygamma", .shapes = SHAPES(polygamma, polygamma)},
    SchemaLibraryRow{.aten = "igamma", .shapes = SHAPES(igamma, igamma)},
    SchemaLibraryRow{.aten = "igammac", .shapes = SHAPES(igammac, igammac)},
    SchemaLibraryRow{.aten = "i0", .shapes = SHAPES(i0, i0)},
    SchemaLibraryRow{.aten = "special_i0e", .shapes = SHAPES(special_i0e, special_i0e)},
    SchemaLibraryRow{.aten = "special_i1", .shapes = SHAPES(special_i1, special_i1)},
    SchemaLibraryRow{.aten = "special_i1e", .shapes = SHAPES(special_i1e, special_i1e)},
    SchemaLibraryRow{.aten = "special_ndtri", .shapes = SHAPES(special_ndtri, special_ndtri)},
    SchemaLibraryRow{.aten = "special_log_ndtr",
                     .shapes = SHAPES(special_log_ndtr, special_log_ndtr)},
    SchemaLibraryRow{.aten = "special_erfcx", .shapes = SHAPES(special_erfcx, special_erfcx)},
    SchemaLibraryRow{.aten = "special_zeta", .shapes = SHAPES(special_zeta, special_zeta)},
    SchemaLibraryRow{.aten = "logaddexp2", .shapes = SHAPES(logaddexp2, logaddexp2)},
    SchemaLibraryRow{.aten = "nextafter", .shapes = SHAPES(nextafter, nextafter)},
    SchemaLibraryRow{.aten = "gcd", .shapes = SHAPES(gcd, gcd)},
    SchemaLibraryRow{.aten = "lcm", .shapes = SHAPES(lcm, lcm)},
    SchemaLibraryRow{.aten = "renorm", .shapes = SHAPES(renorm, renorm)},
    SchemaLibraryRow{.aten = "round.decimals", .shapes = SHAPES(round_decimals, round)},
    SchemaLibraryRow{.aten = "frexp.Tensor"},
    SchemaLibraryRow{.aten = "isin.Tensor_Tensor", .shapes = SHAPES(isin_Tensor_Tensor, isin)},
    SchemaLibraryRow{.aten = "special_airy_ai", .shapes = SHAPES(special_airy_ai, special_airy_ai)},
    SchemaLibraryRow{.aten = "special_bessel_j0",
                     .shapes = SHAPES(special_bessel_j0, special_bessel_j0)},
    SchemaLibraryRow{.aten = "special_bessel_j1",
                     .shapes = SHAPES(special_bessel_j1, special_bessel_j1)},
    SchemaLibraryRow{.aten = "special_bessel_y0",
                     .shapes = SHAPES(special_bessel_y0, special_bessel_y0)},
    SchemaLibraryRow{.aten = "special_bessel_y1",
                     .shapes = SHAPES(special_bessel_y1, special_bessel_y1)},
    SchemaLibraryRow{
        .aten = "special_chebyshev_polynomial_t",
        .shapes = SHAPES(special_chebyshev_polynomial_t, special_chebyshev_polynomial_t)},
    SchemaLibraryRow{
        .aten = "special_chebyshev_polynomial_u",
        .shapes = SHAPES(special_chebyshev_polynomial_u, special_chebyshev_polynomial_u)},
    SchemaLibraryRow{
        .aten = "special_chebyshev_polynomial_v",
        .shapes = SHAPES(special_chebyshev_polynomial_v, special_chebyshev_polynomial_v)},
    SchemaLibraryRow{
        .aten = "special_chebyshev_polynomial_w",
        .shapes = SHAPES(special_chebyshev_polynomial_w, special_chebyshev_polynomial_w)},
    SchemaLibraryRow{.aten = "special_hermite_polynomial_h",
                     .shapes = SHAPES(special_hermite_polynomial_h, special_hermite_polynomial_h)},
    SchemaLibraryRow{
        .aten = "special_hermite_polynomial_he",
        .shapes = SHAPES(special_hermite_polynomial_he, special_hermite_polynomial_he)},
    SchemaLibraryRow{
        .aten = "special_laguerre_polynomial_l",
        .shapes = SHAPES(special_laguerre_polynomial_l, special_laguerre_polynomial_l)},
    SchemaLibraryRow{
        .aten = "special_legendre_polynomial_p",
        .shapes = SHAPES(special_legendre_polynomial_p, special_legendre_polynomial_p)},
    SchemaLibraryRow{.aten = "special_modified_bessel_i0",
                     .shapes = SHAPES(special_modified_bessel_i0, special_modified_bessel_i0)},
    SchemaLibraryRow{.aten = "special_modified_bessel_i1",
                     .shapes = SHAPES(special_modified_bessel_i1, special_modified_bessel_i1)},
    SchemaLibraryRow{.aten = "special_modified_bessel_k0",
                     .shapes = SHAPES(special_modified_bessel_k0, special_modified_bessel_k0)},
    SchemaLibraryRow{.aten = "special_modified_bessel_k1",
                     .shapes = SHAPES(special_modified_bessel_k1, special_modified_bessel_k1)},
    SchemaLibraryRow{
        .aten = "special_scaled_modified_bessel_k0",
        .shapes = SHAPES(special_scaled_modified_bessel_k0, special_scaled_modified_bessel_k0)},
    SchemaLibraryRow{
        .aten = "special_scaled_modified_bessel_k1",
        .shapes = SHAPES(special_scaled_modified_bessel_k1, special_scaled_modified_bessel_k1)},
    SchemaLibraryRow{.aten = "special_shifted_chebyshev_polynomial_t",
                     .shapes = SHAPES(special_shifted_chebyshev_polynomial_t,
                                      special_shifted_chebyshev_polynomial_t)},
    SchemaLibraryRow{.aten = "special_shifted_chebyshev_polynomial_u",
                     .shapes = SHAPES(special_shifted_chebyshev_polynomial_u,
                                      special_shifted_chebyshev_polynomial_u)},
    SchemaLibraryRow{.aten = "special_shifted_chebyshev_polynomial_v",
                     .shapes = SHAPES(special_shifted_chebyshev_polynomial_v,
                                      special_shifted_chebyshev_polynomial_v)},
    SchemaLibraryRow{.aten = "special_shifted_chebyshev_polynomial_w",
                     .shapes = SHAPES(special_shifted_chebyshev_polynomial_w,
                                      special_shifted_chebyshev_polynomial_w)},
    SchemaLibraryRow{.aten = "special_spherical_bessel_j0",
                     .shapes = SHAPES(special_spherical_bessel_j0, special_spherical_bessel_j0)},
    SchemaLibraryRow{.aten = "mvlgamma"},
    SchemaLibraryRow{.aten = "glu_jvp"},
    SchemaLibraryRow{.aten = "hash_tensor"},
};

#undef SHAPES

}  // namespace

std::span<const SchemaLibraryRow> mathematics_library_rows() { return kRows; }

}  // namespace spyre::engine

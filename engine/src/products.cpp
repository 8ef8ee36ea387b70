// spyre/engine/products.cpp — matrix products as library operations.
//
// Products of float32 and narrower run on kernels::Product, whose bits do not depend on how the
// cores share the work. Other types, vectors, and very long sums are libtorch's, cut into panels by
// shape alone; each panel is one serial GEMM. The scaled sum of addmm and its kin is recorded as
// pointwise ops, which lazy/ fuses with what follows.
#include "spyre/engine/products.h"

#include <ATen/CPUFunctions.h>
#include <ATen/ExpandUtils.h>
#include <ATen/Operators.h>

#include <array>

#include "spyre/engine/card_numbers.h"
#include "spyre/engine/library_op.h"
#include "spyre/engine/operators.h"
#include "spyre/engine/recorder.h"
#include "spyre/engine/runtime.h"
#include "spyre/engine/schema_library.h"
#include "spyre/engine/shape_rules.h"
#include "spyre/engine/tensor.h"
#include "spyre/kernels/product_call.h"

namespace spyre::engine {
namespace {

using at::Tensor;
using c10::Scalar;

constexpr std::int64_t kMaxPanels = 8;
constexpr std::int64_t kPanelGrain = 64;  // rows or columns: keeps GEMM's packing worth its while
constexpr std::uint64_t kSmallProduct =
    1U << 18;  // multiply-accumulates below which one piece is enough

constexpr std::int64_t kMaxSteps = 8192;  // a packed tile of columns stays within a scratchpad
constexpr std::int64_t kVector = 1, kNarrow = 16;  // rows, columns that a tile is not worth

/// What determines a call of kernels::Product.
struct TiledProduct {
  kernels::Product product;
  kernels::RowSpace rows;
  std::int64_t right_matrices = 1;  // fewer than batches: all use the same
  kernels::ProductCall::Right right = kernels::ProductCall::Right::Plain;
  kernels::Causal causal;

  void describe(KeyWriter& key) const {
    key(product.type, product.result, product.k, product.n, product.isa, rows.batches, rows.rows,
        right_matrices, right, causal.matrix, causal.offset, causal.hidden);
  }
  static std::shared_ptr<const kernels::LibraryCall> make_pack(const void* context) {
    const auto& self = *static_cast<const TiledProduct*>(context);
    return std::make_shared<kernels::PackCall>(self.product, self.right_matrices);
  }
  static std::shared_ptr<const kernels::LibraryCall> make_product(const void* context) {
    const auto& self = *static_cast<const TiledProduct*>(context);
    return std::make_shared<kernels::ProductCall>(self.product, self.rows, self.right, self.causal);
  }
};

void record_tiled(std::string_view name, const TiledProduct& tiled,
                  decltype(lazy::Library::make) make, std::initializer_list<const Tensor*> inputs,
                  const Tensor* output) {
  KeyWriter key;
  tiled.describe(key);
  lazy::Library call;
  call.name = name;
  call.key = key.bytes();
  call.make = make;
  call.context = &tiled;
  record_library_call(call, TensorArguments(inputs.begin(), inputs.size()),
                      TensorArguments(&output, 1));
}

/// True if kernels::Product takes [m, k] x [k, n]. By shape and type alone.
bool tiles(c10::ScalarType type, std::int64_t m, std::int64_t k, std::int64_t n) {
  const DType native = *native_type(type);
  if (!kernels::Product::supports(native) || k > kMaxSteps) return false;
  return is_reduced_float(native) || (m > kVector && n >= kNarrow);
}

/// Whether few rows meet a matrix that is read in place as the left operand, as the weights of a
/// layer are, but would have to be packed into memory as the right one. Short chains do not pay for
/// storing the result transposed.
bool better_transposed(const Tensor& a, const Tensor& b) {
  constexpr std::int64_t kFewRows = 64, kSomeRows = 512, kLongChain = 256;
  if (a.dim() != 2 || b.stride(0) != 1 || b.size(1) < 2 * a.size(0)) return false;
  return a.size(0) <= kFewRows || (a.size(0) <= kSomeRows && a.size(1) >= kLongChain);
}

/// How the inner loop gets at `right`, of which there are so many matrices.
kernels::ProductCall::Right way_to(const Tensor& right, const TiledProduct& tiled) {
  using Call = kernels::ProductCall;
  constexpr std::int64_t kBatches = 8;  // with fewer, several cores would pack the same matrix
  if (tiled.product.reads_in_place(right.stride(-2), right.stride(-1))) return Call::Right::InPlace;
  const bool kept =
      tiled.right_matrices >= kBatches && tiled.product.packed_bytes() <= Call::kKeptTiles;
  return kept || tiled.rows.rows <= Call::kPlainRows ? Call::Right::Plain : Call::Right::Packed;
}

/// out = a x b, of two or three dimensions each. The chain of an element does not depend on which
/// operand is called the left one.
void tiled_product(const Tensor& a, const Tensor& b, const Tensor& out,
                   kernels::Causal causal = {}) {
  if (causal.matrix == kernels::Causal::Matrix::None && better_transposed(a, b))
    return tiled_product(b.t(), a.t(), out.t());
  const std::int64_t m = a.size(-2), k = a.size(-1), n = b.size(-1);
  const std::int64_t batches = a.dim() == 3 ? a.size(0) : 1;
  const bool shared = b.dim() == 2 || b.stride(0) == 0;
  TiledProduct tiled{.product = {*native_type(a.scalar_type()), *native_type(out.scalar_type()), k,
                                 n, Runtime::get().isa()},
                     .rows = {batches, m},
                     .right_matrices = shared ? 1 : batches,
                     .causal = causal};
  tiled.right = way_to(b, tiled);
  Tensor right = b;
  if (tiled.right == kernels::ProductCall::Right::Packed) {
    const auto words =
        static_cast<std::int64_t>(tiled.product.packed_bytes().count / sizeof(float));
    right = empty({tiled.right_matrices, words}, c10::kFloat, a.device());
    const Tensor plain = shared && b.dim() == 3 ? b.select(0, 0) : b;
    record_tiled("pack", tiled, &TiledProduct::make_pack, {&plain}, &right);
    if (shared) right = right.expand({batches, words});
  }
  record_tiled("product", tiled, &TiledProduct::make_product, {&a, &right}, &out);
}

/// [m, k] x [k, n], in panels of rows or of columns.
struct MatrixProduct {
  static std::string_view name() { return "mm"; }
  Panels panels;
  bool by_rows = true;
  std::uint64_t macs = 0;

  static MatrixProduct of(std::int64_t m, std::int64_t k, std::int64_t n) {
    const auto macs = static_cast<std::uint64_t>(m) * static_cast<std::uint64_t>(k) *
                      static_cast<std::uint64_t>(n);
    const bool by_rows = m >= n;
    return {Panels::of(by_rows ? m : n, macs < kSmallProduct ? 1 : kMaxPanels, kPanelGrain),
            by_rows, macs};
  }
  void describe(KeyWriter& key) const { key(panels.extent, panels.size, by_rows); }
  std::int64_t work_items() const { return panels.count(); }
  kernels::LibraryCost cost() const { return {.macs = macs, .product = true}; }
  void run(Tensors t, std::int64_t first, std::int64_t last) const {
    for (std::int64_t i = first; i < last; ++i) {
      Tensor out = panels.slice(t[2], by_rows ? 0 : 1, i);
      at::cpu::mm_out(out, by_rows ? panels.slice(t[0], 0, i) : t[0],
                      by_rows ? t[1] : panels.slice(t[1], 1, i));
    }
  }
};

/// [b, m, k] x [b, k, n], in panels of whole matrices.
struct BatchedProduct {
  static std::string_view name() { return "bmm"; }
  Panels panels;
  std::uint64_t macs = 0;

  void describe(KeyWriter& key) const { key(panels.extent, panels.size); }
  std::int64_t work_items() const { return panels.count(); }
  kernels::LibraryCost cost() const { return {.macs = macs, .product = true}; }
  void run(Tensors t, std::int64_t first, std::int64_t last) const {
    for (std::int64_t i = first; i < last; ++i) {
      Tensor out = panels.slice(t[2], 0, i);
      at::cpu::bmm_out(out, panels.slice(t[0], 0, i), panels.slice(t[1], 0, i));
    }
  }
};

/// True if the operands may be multiplied as they are; anything else takes the host path and raises
/// there.
bool multipliable(const Tensor& a, const Tensor& b, std::int64_t rank) {
  const std::array<const Tensor*, 2> both{&a, &b};
  check_same_device(both, a.is_privateuseone() ? a.device() : b.device());
  if (a.dim() != rank || b.dim() != rank || a.scalar_type() != b.scalar_type()) return false;
  if (!native_type(a.scalar_type()) || a.scalar_type() == c10::kBool) return false;
  return a.size(-1) == b.size(-2) && (rank == 2 || a.size(0) == b.size(0));
}

Tensor zeros(c10::IntArrayRef sizes, const Tensor& like) {
  Tensor out = empty(sizes, like.scalar_type(), like.device());
  return out.zero_();
}

/// A product that something is added to before it is rounded: the chain's own float32, where there
/// is one.
c10::ScalarType sum_type(c10::ScalarType type) {
  const std::optional<DType> native = native_type(type);
  return native && is_reduced_float(*native) && kernels::Product::supports(*native) ? c10::kFloat
                                                                                    : type;
}

/// A product whose float32 is rounded by the kernel that takes it, as the card would: the product
/// itself knows torch's types only.
bool is_rounded_apart(c10::ScalarType type) {
  return is_kept_as_another(type) && sum_type(type) == c10::kFloat;
}

/// The result has the operands' type, or float32.
Tensor matrix_product(const Tensor& a, const Tensor& b, c10::ScalarType type) {
  const std::int64_t m = a.size(0), k = a.size(1), n = b.size(1);
  if (m == 0 || k == 0 || n == 0) return zeros({m, n}, a);
  if (is_rounded_apart(type) && tiles(a.scalar_type(), m, k, n))
    return converted(matrix_product(a, b, c10::kFloat), *native_type(type));
  if (tiles(a.scalar_type(), m, k, n)) {
    Tensor out = empty({m, n}, type, a.device());
    tiled_product(a, b, out);
    return out;
  }
  Tensor out = empty({m, n}, a.scalar_type(), a.device());
  record_library(MatrixProduct::of(m, k, n), {&a, &b}, {&out});
  return out;
}

Tensor batched_product(const Tensor& a, const Tensor& b, c10::ScalarType type) {
  const std::int64_t batch = a.size(0), m = a.size(1), k = a.size(2), n = b.size(2);
  if (k == 0) return zeros({batch, m, n}, a);
  if (batch == 1) return matrix_product(a.select(0, 0), b.select(0, 0), type).unsqueeze(0);
  if (is_rounded_apart(type) && tiles(a.scalar_type(), m, k, n))
    return converted(batched_product(a, b, c10::kFloat), *native_type(type));
  if (tiles(a.scalar_type(), m, k, n)) {
    Tensor out = empty({batch, m, n}, type, a.device());
    tiled_product(a, b, out);
    return out;
  }
  Tensor out = empty({batch, m, n}, a.scalar_type(), a.device());
  const std::uint64_t macs = MatrixProduct::of(m, k, n).macs * static_cast<std::uint64_t>(batch);
  record_library(
      BatchedProduct{Panels::of(batch, macs < kSmallProduct ? 1 : 4 * kMaxPanels, 1), macs},
      {&a, &b}, {&out});
  return out;
}

bool is_one(const Scalar& s) { return s.equal(1); }

/// beta * self + alpha * product in the product's type, rounded to self's at the end.
Tensor scaled_sum(const Tensor& self, Tensor product, const Scalar& beta, const Scalar& alpha) {
  const DType compute = *native_type(product.scalar_type()),
              type = *native_type(self.scalar_type());
  const Vocabulary& w = words();
  if (!is_one(alpha)) product = apply(w.mul, compute, {product, alpha});
  if (beta.equal(0)) return converted(product, type);
  if (is_one(beta)) return apply(w.add, compute, type, {product, self});
  return apply(w.add_scaled, compute, type, {product, self, beta});
}

/// True if `self` and the numbers fit a product of `sizes`.
bool summable(const Tensor& self, const Tensor& product_operand, c10::IntArrayRef sizes,
              const Scalar& beta, const Scalar& alpha) {
  const std::array<const Tensor*, 2> both{&self, &product_operand};
  check_same_device(both, product_operand.device());
  if (self.scalar_type() != product_operand.scalar_type() || beta.isComplex() || alpha.isComplex())
    return false;
  const bool integers = c10::isIntegralType(self.scalar_type(), true);
  if (integers && !(beta.isIntegral(false) && alpha.isIntegral(false))) return false;
  return at::is_expandable_to(self.sizes(), sizes);
}

Tensor mm(const Tensor& self, const Tensor& mat2) {
  return multipliable(self, mat2, 2) ? matrix_product(self, mat2, self.scalar_type())
                                     : as_library<ATEN_OP(mm)>::call(self, mat2);
}

Tensor bmm(const Tensor& self, const Tensor& mat2) {
  return multipliable(self, mat2, 3) ? batched_product(self, mat2, self.scalar_type())
                                     : as_library<ATEN_OP(bmm)>::call(self, mat2);
}

Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
             const Scalar& alpha) {
  if (!multipliable(mat1, mat2, 2) ||
      !summable(self, mat1, {mat1.size(0), mat2.size(1)}, beta, alpha))
    return as_library<ATEN_OP(addmm)>::call(self, mat1, mat2, beta, alpha);
  return scaled_sum(self, matrix_product(mat1, mat2, sum_type(self.scalar_type())), beta, alpha);
}

Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
               const Scalar& alpha) {
  if (!multipliable(batch1, batch2, 3) ||
      !summable(self, batch1, {batch1.size(0), batch1.size(1), batch2.size(2)}, beta, alpha))
    return as_library<ATEN_OP(baddbmm)>::call(self, batch1, batch2, beta, alpha);
  return scaled_sum(self, batched_product(batch1, batch2, sum_type(self.scalar_type())), beta,
                    alpha);
}

/// The sum over the batch is one long inner dimension.
Tensor addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
              const Scalar& alpha) {
  if (!multipliable(batch1, batch2, 3) ||
      !summable(self, batch1, {batch1.size(1), batch2.size(2)}, beta, alpha))
    return as_library<ATEN_OP(addbmm)>::call(self, batch1, batch2, beta, alpha);
  const std::int64_t inner = batch1.size(0) * batch1.size(2);
  const Tensor a = batch1.permute({1, 0, 2}).reshape({batch1.size(1), inner});
  const Tensor b = batch2.reshape({inner, batch2.size(2)});
  return scaled_sum(self, matrix_product(a, b, sum_type(self.scalar_type())), beta, alpha);
}

bool is_matrix_times_vector(const Tensor& mat, const Tensor& vec) {
  return mat.dim() == 2 && vec.dim() == 1 && multipliable(mat, vec.unsqueeze(1), 2);
}

Tensor mv(const Tensor& self, const Tensor& vec) {
  if (!is_matrix_times_vector(self, vec)) return as_library<ATEN_OP(mv)>::call(self, vec);
  return matrix_product(self, vec.unsqueeze(1), self.scalar_type()).squeeze(1);
}

Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta,
             const Scalar& alpha) {
  if (!is_matrix_times_vector(mat, vec) || !summable(self, mat, {mat.size(0)}, beta, alpha))
    return as_library<ATEN_OP(addmv)>::call(self, mat, vec, beta, alpha);
  return scaled_sum(self,
                    matrix_product(mat, vec.unsqueeze(1), sum_type(self.scalar_type())).squeeze(1),
                    beta, alpha);
}

Tensor dot(const Tensor& self, const Tensor& other) {
  if (self.dim() != 1 || other.dim() != 1 ||
      !multipliable(self.unsqueeze(0), other.unsqueeze(1), 2))
    return as_library<ATEN_OP(dot)>::call(self, other);
  return matrix_product(self.unsqueeze(0), other.unsqueeze(1), self.scalar_type()).squeeze();
}

Tensor vdot(const Tensor& self, const Tensor& other) {
  return self.is_complex() ? as_library<ATEN_OP(vdot)>::call(self, other)
                           : engine::dot(self, other);
}

/// As [batch, rows, columns], and as it lies in memory: who calls has not passed the dispatcher, which resolves signs.
Tensor batched(const Tensor& t) { return t.resolve_neg().reshape({-1, t.size(-2), t.size(-1)}); }

std::vector<std::int64_t> product_sizes(const Tensor& a, const Tensor& b) {
  std::vector<std::int64_t> sizes = a.sizes().vec();
  sizes.back() = b.size(-1);
  return sizes;
}

}  // namespace

Tensor wide_product(const Tensor& a, const Tensor& b) {
  const Tensor out = batched_product(batched(a), batched(b), sum_type(a.scalar_type()));
  return converted(out, DType::F32).view(product_sizes(a, b));
}

std::optional<Tensor> causal_product(const Tensor& a, const Tensor& b, kernels::Causal causal) {
  const c10::ScalarType type = a.scalar_type();
  if (b.scalar_type() != type || b.device() != a.device()) return std::nullopt;
  if (!native_type(type) || is_kept_as_another(type) ||
      !tiles(type, a.size(-2), a.size(-1), b.size(-1)))
    return std::nullopt;
  const Tensor left = batched(a), right = batched(b);
  Tensor out = empty({left.size(0), left.size(1), right.size(2)}, sum_type(type), a.device());
  tiled_product(left, right, out, causal);
  return out.view(product_sizes(a, b));
}

void register_products(Registrations& registrations) {
  registrations.add_function<&mm>("mm");
  registrations.add_function<&bmm>("bmm");
  registrations.add_function<&addmm>("addmm");
  registrations.add_function<&baddbmm>("baddbmm");
  registrations.add_function<&addbmm>("addbmm");
  registrations.add_function<&mv>("mv");
  registrations.add_function<&addmv>("addmv");
  registrations.add_function<&dot>("dot");
  registrations.add_function<&vdot>("vdot");
}

}  // namespace spyre::engine

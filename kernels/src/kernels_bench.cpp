// spyre/kernels/kernels_bench.cpp — what does compiling a kernel cost, and how near to memory speed does it run?
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "cpu_features.h"
#include "spec_builder.h"
#include "spyre/kernels/kernel.h"
#include "spyre/kernels/product.h"

namespace spyre::kernels {
namespace {

/// Floats in huge pages, as the card's memory is.
using HugeBuffer = std::unique_ptr<float, decltype(&std::free)>;

HugeBuffer make_buffer(std::size_t elements) {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  const std::size_t bytes = (elements * sizeof(float) + kHugePage - 1) / kHugePage * kHugePage;
  HugeBuffer buffer(static_cast<float*>(std::aligned_alloc(kHugePage, bytes)), &std::free);
  madvise(buffer.get(), bytes, MADV_HUGEPAGE);
  std::fill_n(buffer.get(), elements,
              std::bit_cast<float>(0x3a833a83U));  // about 0.001, as bfloat16 too
  return buffer;
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double best_seconds(int repetitions, const std::function<void()>& work) {
  double best = 1e9;
  for (int i = 0; i < repetitions; ++i) best = std::min(best, seconds_of(work));
  return best;
}

KernelSpec chain(int ops) {
  SpecBuilder b(Form::Pointwise);
  std::uint16_t x = b.load(DType::F32);
  const std::uint16_t y = b.load(DType::F32);
  const std::string_view names[] = {"add", "mul",     "tanh",    "sub",
                                    "exp", "maximum", "sigmoid", "abs"};
  for (int i = 0; i < ops; ++i) {
    const std::string_view name = names[i % 8];
    const bool one_input = op(op_named(name)).info.arity == 1;
    const bool scaled = op(op_named(name)).info.arity == 3;
    x = b.apply(name, DType::F32,
                one_input ? std::vector{x}
                : scaled  ? std::vector{x, y, y}
                          : std::vector{x, y});
  }
  b.store(x, DType::F32);
  return b.spec();
}

KernelSpec multiply_add() {
  SpecBuilder b(Form::Pointwise);
  const std::uint16_t product =
      b.apply("mul", DType::F32, {b.load(DType::F32), b.load(DType::F32)});
  b.store(b.apply("add_scaled", DType::F32, {product, b.load(DType::F32), b.param(DType::F32)}),
          DType::F32);
  return b.spec();
}

/// Products, sums and differences in turn, as the benchmarks' chains have them.
KernelSpec arithmetic(int ops, DType type) {
  SpecBuilder b(Form::Pointwise);
  const std::uint16_t x = b.load(type);
  std::uint16_t y = x;
  for (int i = 0; i < ops; ++i) {
    if (i % 4 == 2) y = b.apply("add_scaled", type, {y, x, b.param(DType::F32)});
    else y = b.apply(i % 4 == 1 ? "add" : "mul", type, {y, b.param(type)});
  }
  b.store(y, type);
  return b.spec();
}

KernelSpec unary(std::string_view name, DType type = DType::F32) {
  SpecBuilder b(Form::Pointwise);
  b.store(b.apply(name, type, {b.load(type)}), type);
  return b.spec();
}

KernelSpec softmax(DType type) {
  SpecBuilder b(Form::Row, 2);
  const std::uint16_t x = b.load(type);
  const std::uint16_t largest = b.reduce(Reduction::Max, type, type, x);
  const std::uint16_t e = b.apply("exp", DType::F32, {b.apply("sub", DType::F32, {x, largest})});
  const std::uint16_t total = b.reduce(Reduction::Sum, DType::F32, DType::F32, e);
  b.store(b.apply("mul", DType::F32, {e, b.apply("reciprocal", DType::F32, {total})}), type);
  return b.spec();
}

KernelSpec reduction(Reduction how, Form form) {
  SpecBuilder b(form, 2);
  b.store(b.reduce(how, DType::F32, DType::F32, b.load(DType::F32)), DType::F32,
          form == Form::Row ? InnerStride::Zero : InnerStride::Unit);
  return b.spec();
}

void report_compile(const char* name, const KernelSpec& spec, Isa isa) {
  const double seconds = best_seconds(20, [&] { compile(spec, isa); });
  const auto kernel = compile(spec, isa);
  std::printf("  compile %-16s %7.0f us %7llu bytes\n", name, seconds * 1e6,
              static_cast<unsigned long long>(kernel->code_bytes().count));
}

/// Bytes moved per second over [rows, row] points, counting each tensor once.
void report_speed(const char* name, const KernelSpec& spec, Isa isa, std::int64_t rows,
                  std::int64_t row) {
  const auto kernel = compile(spec, isa);
  const std::size_t rank = spec.rank;
  std::vector<HugeBuffer> buffers;
  std::vector<std::uint64_t> bases;
  std::vector<std::int64_t> strides;
  double bytes = 0;
  const std::vector<std::int64_t> extents =
      rank == 1 ? std::vector{rows * row} : std::vector{rows, row};
  for (const ArgumentSpec& a : spec.arguments) {
    buffers.push_back(make_buffer(static_cast<std::size_t>(rows * row)));
    bases.push_back(reinterpret_cast<std::uint64_t>(buffers.back().get()));
    const bool per_row = a.inner == InnerStride::Zero;
    const bool per_column = spec.form == Form::Column && a.kind == ArgumentSpec::Kind::Store;
    if (rank == 2)
      strides.push_back(per_column ? 0 : per_row ? size_of(a.dtype) : row * size_of(a.dtype));
    strides.push_back(per_row ? 0 : size_of(a.dtype));
    if (!per_row && !per_column) bytes += static_cast<double>(rows * row * size_of(a.dtype));
  }
  const std::vector<std::uint64_t> params(spec.params,
                                          0x3f803f80);  // about one, as float32 and as bfloat16
  const LaunchArguments launch{bases.data(), extents.data(), strides.data(), params.data()};
  std::vector<std::byte> scratch(kernel->scratch_bytes(extents.data()).count + 64);
  const std::int64_t items = kernel->work_items(extents.data());
  const int repetitions = rows * row > 1000000 ? 7 : 200;
  const double seconds =
      best_seconds(repetitions, [&] { kernel->run(launch, 0, items, scratch.data()); });
  std::printf("  %-20s %6.1f MiB %8.1f us %7.1f GB/s %6.2f Gelem/s\n", name, bytes / (1 << 20),
              seconds * 1e6, bytes / seconds * 1e-9,
              static_cast<double>(rows * row) / seconds * 1e-9);
}

struct ProductShape {
  const char* name;
  DType type;
  std::int64_t rows, k, n;
};

/// One core, panels of rows, right operand packed.
void report_product(const ProductShape& s, Isa isa) {
  constexpr std::int64_t kPanel = 96, kScratch = 1 << 20;  // rows, floats
  const Product product{s.type, s.type, s.k, s.n, isa};
  const std::int64_t size = size_of(s.type);
  const auto matrix = [&](std::int64_t elements) {
    return make_buffer(static_cast<std::size_t>(elements));
  };
  const HugeBuffer left = matrix(s.rows * s.k), right = matrix(s.k * s.n),
                   out = matrix(s.rows * s.n),
                   packed = matrix(static_cast<std::int64_t>(product.packed_bytes().count / 4)),
                   scratch = matrix(kScratch);
  const auto bytes = [](const HugeBuffer& b) { return reinterpret_cast<std::byte*>(b.get()); };
  product.pack({bytes(right), s.n, 1}, 0, product.tiles(), bytes(packed));
  const double seconds = best_seconds(7, [&] {
    for (std::int64_t row = 0; row < s.rows; row += kPanel)
      product.multiply({bytes(left) + row * s.k * size, s.k, 1}, std::min(kPanel, s.rows - row),
                       product.packed_tiles(bytes(packed)), 0, product.tiles(),
                       {bytes(out) + row * s.n * size, s.n, 1}, {bytes(scratch), kScratch * 4});
  });
  std::printf("  %-28s %8.2f ms %7.1f GFLOP/s\n", s.name, seconds * 1e3,
              2e-9 * static_cast<double>(s.rows * s.k * s.n) / seconds);
}

void run(Isa isa, const char* only) {
  const auto report_speed = [&](const char* name, const KernelSpec& spec, Isa i, std::int64_t rows,
                                std::int64_t row) {
    if (std::strstr(name, only) != nullptr) kernels::report_speed(name, spec, i, rows, row);
  };
  std::printf("%s\n", isa == Isa::Avx2 ? "AVX2" : "AVX-512");
  report_compile("1 op", chain(1), isa);
  report_compile("10 ops", chain(10), isa);
  report_compile("60 ops", chain(60), isa);
  report_compile("softmax row", softmax(DType::F32), isa);
  for (const std::int64_t rows : {std::int64_t{64}, std::int64_t{16384}}) {
    report_speed("a * b + c", multiply_add(), isa, rows, 1024);
    report_speed("relu", unary("relu"), isa, rows, 1024);
    report_speed("gelu (erf)", unary("gelu"), isa, rows, 1024);
    report_speed("exp", unary("exp"), isa, rows, 1024);
    report_speed("tanh", unary("tanh"), isa, rows, 1024);
    report_speed("gelu (erf) bf16", unary("gelu", DType::BF16), isa, rows, 1024);
    report_speed("chain of 12", arithmetic(12, DType::F32), isa, rows, 1024);
    report_speed("chain of 12, bf16", arithmetic(12, DType::BF16), isa, rows, 1024);
    report_speed("chain of 12, fp16", arithmetic(12, DType::F16), isa, rows, 1024);
    report_speed("softmax", softmax(DType::F32), isa, rows, 1024);
    report_speed("softmax bf16", softmax(DType::BF16), isa, rows, 1024);
    report_speed("sum of rows", reduction(Reduction::Sum, Form::Row), isa, rows, 1024);
    report_speed("maximum of rows", reduction(Reduction::Max, Form::Row), isa, rows, 1024);
    report_speed("sum of columns", reduction(Reduction::Sum, Form::Column), isa, rows, 1024);
  }
  for (const ProductShape& s :
       {ProductShape{"product 12 x 1024 x 32", DType::F32, 12, 1024, 32},
        ProductShape{"product 512 x 1024 x 2048", DType::F32, 512, 1024, 2048},
        ProductShape{"product 2048 x 384 x 1536", DType::F32, 2048, 384, 1536},
        ProductShape{"product 96 x 64 x 2048", DType::F32, 96, 64, 2048},
        ProductShape{"product 96 x 2048 x 64", DType::F32, 96, 2048, 64},
        ProductShape{"product bf16 12 x 1024 x 32", DType::BF16, 12, 1024, 32},
        ProductShape{"product bf16 512 x 1024 x 2048", DType::BF16, 512, 1024, 2048},
        ProductShape{"product bf16 2048 x 384 x 1536", DType::BF16, 2048, 384, 1536}})
    if (std::strstr(s.name, only) != nullptr) report_product(s, isa);
}

}  // namespace
}  // namespace spyre::kernels

int main(int argc, char** argv) {
  using spyre::kernels::Isa;
  for (const Isa isa : {Isa::Avx2, Isa::Avx512})
    if (spyre::kernels::cpu_runs(isa)) spyre::kernels::run(isa, argc > 1 ? argv[1] : "");
}

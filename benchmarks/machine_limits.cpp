// spyre/benchmarks/machine_limits.cpp — prints as JSON what this machine's memory and arithmetic can do at best.
//
// Built with -march=native -ffast-math -fopenmp. Bandwidths count each byte read and each byte written once, are the
// best of several repetitions, and use plain or streaming stores, whichever is faster at that size.
#include <immintrin.h>
#include <omp.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kSizes[] = {size_t{256} << 10, size_t{2} << 20,  size_t{8} << 20,
                             size_t{16} << 20,  size_t{32} << 20, size_t{64} << 20,
                             size_t{128} << 20, size_t{256} << 20};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Memory on huge pages where the system grants them, full of unlike numbers: some machines write a line of zeros past
/// the caches in half the time of any other. Confined to its owner.
class Array {
 public:
  explicit Array(size_t bytes) : bytes_((bytes + kHugePage - 1) / kHugePage * kHugePage) {
    data_ = static_cast<float*>(std::aligned_alloc(kHugePage, bytes_));
    madvise(data_, bytes_, MADV_HUGEPAGE);
    for (size_t i = 0; i < bytes_ / sizeof(float); ++i)
      data_[i] = static_cast<float>(static_cast<uint32_t>(i) * 2654435761U);  // Knuth's multiplier
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { std::free(data_); }
  float* data() const { return data_; }

 private:
  size_t bytes_;
  float* data_;
};

/// c = a + s * b if b is given, else c = a; `streaming` writes past the caches.
void move(const float* a, const float* b, float* c, size_t count, bool streaming) {
  const __m128 scale = _mm_set1_ps(0.5F);
  for (size_t i = 0; i < count; i += 4) {
    __m128 value = _mm_load_ps(a + i);
    if (b != nullptr) value = _mm_add_ps(value, _mm_mul_ps(scale, _mm_load_ps(b + i)));
    if (streaming) {
      _mm_stream_ps(c + i, value);
    } else {
      _mm_store_ps(c + i, value);
    }
  }
}

/// Seconds for one pass of all threads, each over its own part: the best of several.
template <typename Pass> double best_seconds(size_t bytes, const Pass& pass) {
  const int repeats = std::max(1, static_cast<int>((size_t{32} << 20) / bytes));
  double best = 1e9;
  for (int attempt = 0; attempt < 8; ++attempt) {
    double start = 0;
#pragma omp parallel
    {
#pragma omp barrier
#pragma omp master
      start = now();
      for (int i = 0; i < repeats; ++i) pass(omp_get_thread_num(), omp_get_num_threads());
    }
    best = std::min(best, (now() - start) / repeats);
  }
  return best;
}

/// Bytes per second when `bytes` are moved, operands and result together.
double bandwidth(size_t bytes, bool triad) {
  const size_t arrays = triad ? 3 : 2;
  const size_t count = bytes / arrays / sizeof(float) / 1024 * 1024;
  const Array a(count * sizeof(float));
  const Array b(count * sizeof(float));
  const Array c(count * sizeof(float));
  double best = 1e9;
  for (const bool streaming : {false, true}) {
    best = std::min(best, best_seconds(bytes, [&](int thread, int threads) {
                      const size_t part = count / threads / 4 * 4;
                      const size_t from = part * thread;
                      move(a.data() + from, triad ? b.data() + from : nullptr, c.data() + from,
                           part, streaming);
                    }));
  }
  return static_cast<double>(count * sizeof(float) * arrays) / best;
}

constexpr int kSteps = 100000;
constexpr int kChains = 10;
#ifdef __AVX512F__
constexpr int kLanes = 16;
#else
constexpr int kLanes = 8;
#endif

/// fp32 multiply-adds on as many independent registers as hide their latency: flops per second of all threads.
double fp32_flops() {
  using Vector = float __attribute__((vector_size(kLanes * sizeof(float))));
  const double seconds = best_seconds(size_t{32} << 20, [](int, int) {
    Vector sums[kChains] = {};
    Vector factor = Vector{} + 0.999F;
    asm volatile("" : "+m"(factor));
    for (int i = 0; i < kSteps; ++i) {
      for (Vector& sum : sums) sum = sum * factor + factor;
    }
    asm volatile("" : : "m"(sums));
  });
  return 2.0 * kLanes * kChains * kSteps * omp_get_max_threads() / seconds;
}

/// The same for bf16 products with fp32 sums; 0 where the processor has no such instruction.
double bf16_flops() {
#ifdef __AVX512BF16__
  const double seconds = best_seconds(size_t{32} << 20, [](int, int) {
    __m512 sums[kChains] = {};
    __m512bh factor = {};
    asm volatile("" : "+m"(factor));
    for (int i = 0; i < kSteps; ++i) {
      for (__m512& sum : sums) sum = _mm512_dpbf16_ps(sum, factor, factor);
    }
    asm volatile("" : : "m"(sums));
  });
  return 4.0 * 16 * kChains * kSteps * omp_get_max_threads() / seconds;
#else
  return 0;
#endif
}

/// Exponentials per second of all threads, by the vector library of the compiler, in the first cache.
double exponentials() {
  constexpr size_t kCount = 2048;
  constexpr int kRepeats = 200;
  const double seconds = best_seconds(size_t{32} << 20, [](int, int) {
    alignas(64) static thread_local float x[kCount];
    alignas(64) static thread_local float y[kCount];
    for (int i = 0; i < kRepeats; ++i) {
      asm volatile("" : : "r"(x), "r"(y) : "memory");
#pragma omp simd
      for (size_t j = 0; j < kCount; ++j) y[j] = expf(x[j]);
    }
    asm volatile("" : : "r"(y) : "memory");
  });
  return static_cast<double>(kCount) * kRepeats * omp_get_max_threads() / seconds;
}

void print_bandwidths(const char* name, bool triad) {
  std::printf("\"%s\": {", name);
  for (const size_t bytes : kSizes) {
    std::printf("%s\"%zu\": %.6g", bytes == kSizes[0] ? "" : ", ", bytes, bandwidth(bytes, triad));
  }
  std::printf("},\n ");
}

}  // namespace

int main() {
  std::printf("{");
  print_bandwidths("copy", false);
  print_bandwidths("triad", true);
  std::printf("\"float32_flops\": %.6g, \"bfloat16_flops\": %.6g, \"exponentials\": %.6g}\n",
              fp32_flops(), bf16_flops(), exponentials());
  return 0;
}

// spyre/kernels/product_tiles.cpp — see product_tiles.h.
//
// The accumulators of a tile stay in registers for all of k: as many rows as leave room for two
// vectors of columns and one word of the left operand.
#include "product_tiles.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "cpu_features.h"
#include "spyre/base/float16.h"

#define SPYRE_AVX2 [[gnu::target("avx2,fma,f16c")]]
#define SPYRE_AVX512 [[gnu::target("avx512f,f16c")]]
#define SPYRE_AVX512_BF16 [[gnu::target("avx512f,avx512bf16")]]

namespace spyre::kernels {
namespace {

std::int32_t word_at(const std::byte* p) {
  std::int32_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

/// A word of each row of the left operand. Compilers would keep a pointer for every row, more than
/// there are registers; two bases and a few multiples of the distance address twelve.
class LeftWords {
 public:
  explicit LeftWords(const ProductTile& t)
      : upper_(t.left), lower_(t.left + kBaseRows * t.row_bytes), row_(t.row_bytes) {}

  std::int32_t word(int row) const {
    return word_at((row < kBaseRows ? upper_ : lower_) + row % kBaseRows * row_);
  }
  void advance(std::int64_t bytes) {
    upper_ += bytes;
    lower_ += bytes;
    asm("" : "+r"(upper_), "+r"(lower_));  // not to be split into pointers again
  }

 private:
  static constexpr int kBaseRows = 6;
  const std::byte *upper_, *lower_;
  std::int64_t row_;
};

// Every loop over registers is unrolled by request: else the sums go through memory once.
template <int Rows, int Vectors> SPYRE_AVX512 void avx512_tile(const ProductTile& t) {
  __m512 sum[Rows][Vectors];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v)
      sum[r][v] =
          t.continues ? _mm512_loadu_ps(t.out + r * t.out_row + 16 * v) : _mm512_setzero_ps();
  LeftWords left(t);
  const std::byte *right = t.right, *next = t.next;
  const std::int64_t step_bytes = t.step_bytes, right_step_bytes = t.right_step_bytes,
                     next_step_bytes = t.next_step_bytes;
  for (std::int64_t step = t.steps; step > 0; --step) {
    __m512 b[Vectors];
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) b[v] = _mm512_loadu_ps(right + 64 * v);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const __m512 a = _mm512_castsi512_ps(_mm512_set1_epi32(left.word(r)));
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) sum[r][v] = _mm512_fmadd_ps(a, b[v], sum[r][v]);
    }
    left.advance(step_bytes);
    right += right_step_bytes;
    _mm_prefetch(next, _MM_HINT_T1);
    next += next_step_bytes;
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) _mm512_storeu_ps(t.out + r * t.out_row + 16 * v, sum[r][v]);
}

template <int Rows, int Vectors> SPYRE_AVX512_BF16 void avx512_bf16_tile(const ProductTile& t) {
  __m512 sum[Rows][Vectors];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v)
      sum[r][v] =
          t.continues ? _mm512_loadu_ps(t.out + r * t.out_row + 16 * v) : _mm512_setzero_ps();
  LeftWords left(t);
  const std::byte *right = t.right, *next = t.next;
  const std::int64_t step_bytes = t.step_bytes, right_step_bytes = t.right_step_bytes,
                     next_step_bytes = t.next_step_bytes;
  for (std::int64_t step = t.steps; step > 0; --step) {
    __m512bh b[Vectors];
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) b[v] = (__m512bh)_mm512_loadu_si512(right + 64 * v);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const auto a = (__m512bh)_mm512_set1_epi32(left.word(r));
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) sum[r][v] = _mm512_dpbf16_ps(sum[r][v], a, b[v]);
    }
    left.advance(step_bytes);
    right += right_step_bytes;
    _mm_prefetch(next, _MM_HINT_T1);
    next += next_step_bytes;
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) _mm512_storeu_ps(t.out + r * t.out_row + 16 * v, sum[r][v]);
}

template <int Rows, int Vectors> SPYRE_AVX2 void avx2_tile(const ProductTile& t) {
  __m256 sum[Rows][Vectors];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v)
      sum[r][v] =
          t.continues ? _mm256_loadu_ps(t.out + r * t.out_row + 8 * v) : _mm256_setzero_ps();
  LeftWords left(t);
  const std::byte *right = t.right, *next = t.next;
  const std::int64_t step_bytes = t.step_bytes, right_step_bytes = t.right_step_bytes,
                     next_step_bytes = t.next_step_bytes;
  for (std::int64_t step = t.steps; step > 0; --step) {
    __m256 b[Vectors];
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v)
      b[v] = _mm256_loadu_ps(reinterpret_cast<const float*>(right + 32 * v));
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const __m256 a = _mm256_castsi256_ps(_mm256_set1_epi32(left.word(r)));
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) sum[r][v] = _mm256_fmadd_ps(a, b[v], sum[r][v]);
    }
    left.advance(step_bytes);
    right += right_step_bytes;
    _mm_prefetch(next, _MM_HINT_T1);
    next += next_step_bytes;
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) _mm256_storeu_ps(t.out + r * t.out_row + 8 * v, sum[r][v]);
}

using Loop = void (*)(const ProductTile&);
template <int Vectors, int... Rows>
constexpr std::array<Loop, sizeof...(Rows)> avx512_tiles(std::integer_sequence<int, Rows...>) {
  return {avx512_tile<Rows + 1, Vectors>...};
}
template <int Vectors, int... Rows>
constexpr std::array<Loop, sizeof...(Rows)> avx512_bf16_tiles(std::integer_sequence<int, Rows...>) {
  return {avx512_bf16_tile<Rows + 1, Vectors>...};
}
template <int Vectors, int... Rows>
constexpr std::array<Loop, sizeof...(Rows)> avx2_tiles(std::integer_sequence<int, Rows...>) {
  return {avx2_tile<Rows + 1, Vectors>...};
}
using Twelve = std::make_integer_sequence<int, 12>;
constexpr auto kAvx512 = avx512_tiles<2>(Twelve{}), kAvx512Narrow = avx512_tiles<1>(Twelve{});
constexpr auto kAvx512Bf16 = avx512_bf16_tiles<2>(Twelve{}),
               kAvx512Bf16Narrow = avx512_bf16_tiles<1>(Twelve{});
constexpr auto kAvx2 = avx2_tiles<2>(std::make_integer_sequence<int, 6>{});

struct LoopChoice {
  ProductLoops wide, narrow;
};

LoopChoice choose_loops(Isa isa, DType type) {
  if (isa == Isa::Avx512 && cpu_runs(Isa::Avx512)) {
    if (type == DType::BF16 && cpu_multiplies_bfloat16())
      return {{32, 2, kAvx512Bf16}, {16, 2, kAvx512Bf16Narrow}};
    return {{32, 1, kAvx512}, {16, 1, kAvx512Narrow}};
  }
  if (cpu_runs(Isa::Avx2)) return {{16, 1, kAvx2}, {16, 1, kAvx2}};
  return {};
}

SPYRE_AVX2 __m128i to_bfloat16(__m256 values) {
  const __m256i bits = _mm256_castps_si256(values);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_srli_epi32(
      _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
  const __m256i nan = _mm256_or_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(0x40));
  const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(values, values, _CMP_UNORD_Q));
  const __m256i chosen = _mm256_blendv_epi8(rounded, nan, is_nan);
  const __m256i packed =
      _mm256_permute4x64_epi64(_mm256_packus_epi32(chosen, chosen), 0b11'01'10'00);
  return _mm256_castsi256_si128(packed);
}

constexpr int kToNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
/// For intrinsics that some compilers take for reading uninitialised lanes unless they are masked.
constexpr __mmask16 kAllLanes = 0xffff;

SPYRE_AVX512 __m256i to_bfloat16(__m512 values) {
  const __m512i bits = _mm512_castps_si512(values),
                high = _mm512_maskz_srli_epi32(kAllLanes, bits, 16);
  const __m512i odd = _mm512_and_si512(high, _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_maskz_srli_epi32(
      kAllLanes, _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff))), 16);
  const __mmask16 is_nan = _mm512_cmp_ps_mask(values, values, _CMP_UNORD_Q);
  return _mm512_maskz_cvtepi32_epi16(
      kAllLanes, _mm512_mask_or_epi32(rounded, is_nan, high, _mm512_set1_epi32(0x40)));
}

SPYRE_AVX512 void round_sixteens(DType type, const float* values, std::int64_t sixteens,
                                 std::byte* out) {
  for (std::int64_t i = 0; i < sixteens; ++i) {
    const __m512 v = _mm512_loadu_ps(values + i * 16);
    const __m256i bits =
        type == DType::BF16 ? to_bfloat16(v) : _mm512_maskz_cvtps_ph(kAllLanes, v, kToNearest);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out) + i, bits);
  }
}

SPYRE_AVX2 void round_eights(DType type, const float* values, std::int64_t eights, std::byte* out) {
  for (std::int64_t i = 0; i < eights; ++i) {
    const __m256 v = _mm256_loadu_ps(values + i * 8);
    const __m128i bits = type == DType::BF16 ? to_bfloat16(v) : _mm256_cvtps_ph(v, kToNearest);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out) + i, bits);
  }
}

SPYRE_AVX2 void widen_eights(DType type, const std::byte* values, std::int64_t eights, float* out) {
  for (std::int64_t i = 0; i < eights; ++i) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(values) + i);
    const __m256 v = type == DType::BF16
                         ? _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16))
                         : _mm256_cvtph_ps(bits);
    _mm256_storeu_ps(out + i * 8, v);
  }
}

/// One cache line each, which no other store of this tile touches.
[[gnu::target("avx512f,avx512bw,avx512vl,f16c")]] void avx512_store_column(DType type,
                                                                           const float* values,
                                                                           std::int64_t rows,
                                                                           std::byte* out) {
  const auto present = static_cast<__mmask16>((1U << rows) - 1);
  const __m512 v = _mm512_load_ps(values);
  if (type == DType::F32) return _mm512_mask_storeu_ps(out, present, v);
  std::array<std::byte, kTileRoom * 2> rounded;
  round_sixteens(type, values, 1, rounded.data());
  _mm256_mask_storeu_epi16(out, present,
                           _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rounded.data())));
}

/// Of at most eight rows, as AVX2's tiles have them.
SPYRE_AVX2 void avx2_store_column(DType type, const float* values, std::int64_t rows,
                                  std::byte* out) {
  if (type == DType::F32) {
    const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
                  present = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(rows)), numbers);
    return _mm256_maskstore_ps(reinterpret_cast<float*>(out), present, _mm256_load_ps(values));
  }
  std::array<std::byte, 16> rounded;
  round_eights(type, values, 1, rounded.data());
  if (rows == 6) std::memcpy(out, rounded.data(), 12);  // known to the compiler: no call
  else std::memcpy(out, rounded.data(), static_cast<std::size_t>(rows * 2));
}

}  // namespace

void store_columns(DType type, const float* values, std::int64_t pitch, std::int64_t rows,
                   std::int64_t columns, std::byte* out, std::int64_t column_bytes) {
  static const auto store_column = cpu_runs(Isa::Avx512) ? avx512_store_column : avx2_store_column;
  constexpr std::int64_t kBlock = 8;
  alignas(64) std::array<float, kBlock * kTileRoom> turned;  // by column
  for (std::int64_t column = 0; column < columns; column += kBlock) {
    for (std::int64_t row = 0; row < rows; row += kBlock)
      transpose_words(reinterpret_cast<const std::byte*>(values + row * pitch + column),
                      pitch * static_cast<std::int64_t>(sizeof(float)), kBlock,
                      reinterpret_cast<std::byte*>(turned.data() + row), kTileRoom);
    for (std::int64_t c = column; c < std::min(column + kBlock, columns); ++c)
      store_column(type, &turned[static_cast<std::size_t>((c - column) * kTileRoom)], rows,
                   out + c * column_bytes);
  }
}

const ProductLoops& product_loops(Isa isa, DType type, std::int64_t columns) {
  struct Choices {
    LoopChoice full, bfloat16;
    explicit Choices(Isa isa)
        : full(choose_loops(isa, DType::F32)), bfloat16(choose_loops(isa, DType::BF16)) {}
  };
  static const Choices avx2(Isa::Avx2), avx512(Isa::Avx512);
  static const LoopChoice none;
  const Choices& choices = isa == Isa::Avx2 ? avx2 : avx512;
  const LoopChoice& choice = !is_float(type) || type == DType::F64 ? none
                             : type == DType::BF16                 ? choices.bfloat16
                                                                   : choices.full;
  return columns <= choice.narrow.columns ? choice.narrow : choice.wide;
}

SPYRE_AVX2 void transpose_words(const std::byte* source, std::int64_t source_row, std::int64_t rows,
                                std::byte* target, std::int64_t target_row) {
  const auto row = [&](std::int64_t number) {
    return reinterpret_cast<const float*>(source + std::min(number, rows - 1) * source_row);
  };
  __m256 pairs[8], quads[8];
  for (std::int64_t i = 0; i < 4; ++i) {
    const __m256 even = _mm256_loadu_ps(row(2 * i)), odd = _mm256_loadu_ps(row(2 * i + 1));
    pairs[2 * i] = _mm256_unpacklo_ps(even, odd);
    pairs[2 * i + 1] = _mm256_unpackhi_ps(even, odd);
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      const __m256 a = pairs[4 * i + j], b = pairs[4 * i + 2 + j];
      quads[4 * i + 2 * j] = _mm256_shuffle_ps(a, b, 0b01'00'01'00);
      quads[4 * i + 2 * j + 1] = _mm256_shuffle_ps(a, b, 0b11'10'11'10);
    }
  auto* const out =
      reinterpret_cast<float*>(target);  // a row's end goes before the next row's beginning
  for (int i = 0; i < 4; ++i)
    _mm256_storeu_ps(out + i * target_row, _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x20));
  for (int i = 0; i < 4; ++i)
    _mm256_storeu_ps(out + (i + 4) * target_row,
                     _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x31));
}

SPYRE_AVX2 void interleave(const std::byte* even, const std::byte* odd, std::int64_t count,
                           std::byte* out) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(even + i * 2)),
                  b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(odd + i * 2));
    auto* const to = reinterpret_cast<__m128i*>(out + i * 4);
    _mm_storeu_si128(to, _mm_unpacklo_epi16(a, b));
    _mm_storeu_si128(to + 1, _mm_unpackhi_epi16(a, b));
  }
  for (; i < count; ++i) {
    std::memcpy(out + i * 4, even + i * 2, 2);
    std::memcpy(out + i * 4 + 2, odd + i * 2, 2);
  }
}

void round_row(DType type, const float* values, std::int64_t count, std::byte* out) {
  static const bool wide = cpu_runs(Isa::Avx512);
  if (wide) round_sixteens(type, values, count / 16, out);
  else round_eights(type, values, count / 8, out);
  for (std::int64_t i = wide ? count / 16 * 16 : count / 8 * 8; i < count; ++i) {
    const std::uint16_t bits =
        type == DType::BF16 ? bfloat16_bits(values[i]) : float16_bits(values[i]);
    std::memcpy(out + 2 * i, &bits, sizeof bits);
  }
}

void widen_row(DType type, const std::byte* values, std::int64_t count, float* out) {
  widen_eights(type, values, count / 8, out);
  for (std::int64_t i = count / 8 * 8; i < count; ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, values + 2 * i, sizeof bits);
    out[i] = type == DType::BF16 ? bfloat16_value(bits) : float16_value(bits);
  }
}

}  // namespace spyre::kernels

// spyre/kernels/math_function.cpp — one row per function, naming its entry points for every width.
//
// SLEEF's "finz" functions are bit-reproducible: the same operations, with fused multiply-add, whether in
// plain C, AVX2 or AVX-512. sleef.h declares a set only in files compiled for its target, which would make the
// whole file need that target; so they are declared here, and only the loops carry a target.
#include "spyre/kernels/math_function.h"

#include <immintrin.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "spyre/base/error.h"

// Function, arguments, SLEEF's stated accuracy in tenths of an ulp; in the order of MathFunction.
// clang-format off
#define SPYRE_SLEEF_FUNCTIONS(F1, F2)                                                        \
  F1(sin, u10) F1(cos, u10) F1(tan, u10) F1(asin, u10) F1(acos, u10) F1(atan, u10)           \
  F1(sinh, u10) F1(cosh, u10) F1(tanh, u10) F1(asinh, u10) F1(acosh, u10) F1(atanh, u10)     \
  F1(exp, u10) F1(exp2, u10) F1(expm1, u10) F1(log, u10) F1(log2, u10) F1(log10, u10)        \
  F1(log1p, u10) F1(erf, u10) F1(erfc, u15) F1(lgamma, u10)                                  \
  F2(pow, u10) F2(atan2, u10) F2(hypot, u05)
// clang-format on

#define SPYRE_DECLARE1(f, u)                       \
  float Sleef_finz_##f##f1_##u##purecfma(float);   \
  double Sleef_finz_##f##d1_##u##purecfma(double); \
  __m256 Sleef_finz_##f##f8_##u##avx2(__m256);     \
  __m256d Sleef_finz_##f##d4_##u##avx2(__m256d);   \
  __m512 Sleef_finz_##f##f16_##u##avx512f(__m512); \
  __m512d Sleef_finz_##f##d8_##u##avx512f(__m512d);
#define SPYRE_DECLARE2(f, u)                               \
  float Sleef_finz_##f##f1_##u##purecfma(float, float);    \
  double Sleef_finz_##f##d1_##u##purecfma(double, double); \
  __m256 Sleef_finz_##f##f8_##u##avx2(__m256, __m256);     \
  __m256d Sleef_finz_##f##d4_##u##avx2(__m256d, __m256d);  \
  __m512 Sleef_finz_##f##f16_##u##avx512f(__m512, __m512); \
  __m512d Sleef_finz_##f##d8_##u##avx512f(__m512d, __m512d);
extern "C" {
SPYRE_SLEEF_FUNCTIONS(SPYRE_DECLARE1, SPYRE_DECLARE2)
}

namespace spyre::kernels {
namespace {

// Which NaN a function returns is not among SLEEF's promises: every loop below replaces it by this one.
template <class T> constexpr T kNan = std::numeric_limits<T>::quiet_NaN();

template <auto F, class T> T apply_one(T a, T b) {
  T result;
  if constexpr (std::is_invocable_v<decltype(F), T>) result = F(a);
  else result = F(a, b);
  return std::isnan(result) ? kNan<T> : result;
}

template <auto F, class T>
void scalar_lanes(const void* a, const void* b, void* out, std::size_t lanes) {
  const auto *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
  auto* z = static_cast<T*>(out);
  for (std::size_t i = 0; i < lanes; ++i) z[i] = apply_one<F>(x[i], b ? y[i] : T{0});
}

template <class T> struct Avx2Vector;
template <> struct Avx2Vector<float> {
  using Type = __m256;
};
template <> struct Avx2Vector<double> {
  using Type = __m256d;
};
template <class T> struct Avx512Vector;
template <> struct Avx512Vector<float> {
  using Type = __m512;
};
template <> struct Avx512Vector<double> {
  using Type = __m512d;
};

/// The lanes that do not fill a vector go one by one: the same bits, and no access past the end.
template <auto One, class T>
void remaining_lanes(const char* x, const char* y, char* z, std::size_t first, std::size_t lanes) {
  const std::size_t at = first * sizeof(T);
  scalar_lanes<One, T>(x + at, y ? y + at : nullptr, z + at, lanes - first);
}

template <auto F, auto One, class T>
[[gnu::target("avx2,fma")]] void avx2_lanes(const void* a, const void* b, void* out,
                                            std::size_t lanes) {
  typename Avx2Vector<T>::Type u, v, w;
  const auto *x = static_cast<const char*>(a), *y = static_cast<const char*>(b);
  auto* z = static_cast<char*>(out);
  std::size_t i = 0;
  for (; i + sizeof(u) / sizeof(T) <= lanes; i += sizeof(u) / sizeof(T)) {
    std::memcpy(&u, x + i * sizeof(T), sizeof(u));
    if constexpr (std::is_invocable_v<decltype(One), T>) {
      w = F(u);
    } else {
      std::memcpy(&v, y + i * sizeof(T), sizeof(v));
      w = F(u, v);
    }
    w = w == w ? w : decltype(w){} + kNan<T>;
    std::memcpy(z + i * sizeof(T), &w, sizeof(w));
  }
  remaining_lanes<One, T>(x, y, z, i, lanes);
}

template <auto F, auto One, class T>
[[gnu::target("avx512f")]] void avx512_lanes(const void* a, const void* b, void* out,
                                             std::size_t lanes) {
  typename Avx512Vector<T>::Type u, v, w;
  const auto *x = static_cast<const char*>(a), *y = static_cast<const char*>(b);
  auto* z = static_cast<char*>(out);
  std::size_t i = 0;
  for (; i + sizeof(u) / sizeof(T) <= lanes; i += sizeof(u) / sizeof(T)) {
    std::memcpy(&u, x + i * sizeof(T), sizeof(u));
    if constexpr (std::is_invocable_v<decltype(One), T>) {
      w = F(u);
    } else {
      std::memcpy(&v, y + i * sizeof(T), sizeof(v));
      w = F(u, v);
    }
    w = w == w ? w : decltype(w){} + kNan<T>;
    std::memcpy(z + i * sizeof(T), &w, sizeof(w));
  }
  remaining_lanes<One, T>(x, y, z, i, lanes);
}

struct Row {
  std::string_view name;
  float (*one_f32)(float, float);
  double (*one_f64)(double, double);
  std::array<LanesFunction, 3> f32, f64;  // by MathWidth
};

/// libm, lane by lane on every width.
template <auto F32, auto F64> constexpr Row libm(std::string_view name) {
  constexpr LanesFunction kF32 = &scalar_lanes<F32, float>;
  constexpr LanesFunction kF64 = &scalar_lanes<F64, double>;
  return {name,
          &apply_one<F32, float>,
          &apply_one<F64, double>,
          {kF32, kF32, kF32},
          {kF64, kF64, kF64}};
}

float fmod_f32(float a, float b) { return std::fmod(a, b); }
double fmod_f64(double a, double b) { return std::fmod(a, b); }

#define SPYRE_ROW(f, u)                                                                           \
  Row{#f,                                                                                         \
      &apply_one<Sleef_finz_##f##f1_##u##purecfma, float>,                                        \
      &apply_one<Sleef_finz_##f##d1_##u##purecfma, double>,                                       \
      {&scalar_lanes<Sleef_finz_##f##f1_##u##purecfma, float>,                                    \
       &avx2_lanes<Sleef_finz_##f##f8_##u##avx2, Sleef_finz_##f##f1_##u##purecfma, float>,        \
       &avx512_lanes<Sleef_finz_##f##f16_##u##avx512f, Sleef_finz_##f##f1_##u##purecfma, float>}, \
      {&scalar_lanes<Sleef_finz_##f##d1_##u##purecfma, double>,                                   \
       &avx2_lanes<Sleef_finz_##f##d4_##u##avx2, Sleef_finz_##f##d1_##u##purecfma, double>,       \
       &avx512_lanes<Sleef_finz_##f##d8_##u##avx512f, Sleef_finz_##f##d1_##u##purecfma, double>}},
constexpr std::array<Row, kMathFunctionCount> kRows{
    SPYRE_SLEEF_FUNCTIONS(SPYRE_ROW, SPYRE_ROW) libm<fmod_f32, fmod_f64>("fmod"),
};
static_assert(kRows[static_cast<std::size_t>(MathFunction::Fmod)].name == "fmod",
              "rows are in enum order");

const Row& row(MathFunction function) { return kRows[static_cast<std::size_t>(function)]; }

MathWidth widest() {
  static const MathWidth width_of_cpu = cpu_runs(MathWidth::Avx512) ? MathWidth::Avx512
                                        : cpu_runs(MathWidth::Avx2) ? MathWidth::Avx2
                                                                    : MathWidth::Scalar;
  return width_of_cpu;
}

}  // namespace

std::string_view name_of(MathFunction function) { return row(function).name; }
float call(MathFunction function, float a, float b) { return row(function).one_f32(a, b); }
double call(MathFunction function, double a, double b) { return row(function).one_f64(a, b); }

bool cpu_runs(MathWidth width) {
  switch (width) {
    case MathWidth::Scalar: return true;
    case MathWidth::Avx2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case MathWidth::Avx512: return __builtin_cpu_supports("avx512f");
  }
  return false;
}

LanesFunction lanes_function(MathFunction function, Lane lane, MathWidth width) {
  ensure(lane == Lane::F32 || lane == Lane::F64, "library functions take floats");
  const Row& r = row(function);
  return (lane == Lane::F32 ? r.f32 : r.f64)[static_cast<std::size_t>(width)];
}

LanesFunction lanes_function(MathFunction function, Lane lane) {
  return lanes_function(function, lane, widest());
}

void call_lanes(MathFunction function, Lane lane, std::size_t lanes, const void* a, const void* b,
                void* out) {
  lanes_function(function, lane)(a, b, out, lanes);
}

}  // namespace spyre::kernels

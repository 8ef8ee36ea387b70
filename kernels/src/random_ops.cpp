// spyre/kernels/random_ops.cpp — the Philox generator over micro-ops, and a plain one to check it against.
#include "spyre/kernels/ops/random.h"

namespace spyre::kernels::ops {
namespace {

constexpr std::uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;

Value low_word(Builder& b, Value wide) { return b.convert(wide, Lane::I32); }
Value high_word(Builder& b, Value wide) {
  return b.convert(b.shr_logical(wide, b.constant(Lane::I64, 32)), Lane::I32);
}

Value zero_extended(Builder& b, Value word) {
  return b.bit_and(b.convert(word, Lane::I64), b.bits(Lane::I64, 0xffffffffU));
}

/// High half of the unsigned 128-bit product, from four 32-bit products.
Value multiply_high(Builder& b, Value x, Value y) {
  const Value half = b.constant(Lane::I64, 32), mask = b.bits(Lane::I64, 0xffffffffU);
  const Value x0 = b.bit_and(x, mask), x1 = b.shr_logical(x, half);
  const Value y0 = b.bit_and(y, mask), y1 = b.shr_logical(y, half);
  const Value low = b.shr_logical(b.mul(x0, y0), half);
  const Value middle = b.add(b.mul(x1, y0), low);
  const Value cross = b.add(b.mul(x0, y1), b.bit_and(middle, mask));
  return b.add(b.mul(x1, y1), b.add(b.shr_logical(middle, half), b.shr_logical(cross, half)));
}

}  // namespace

PhiloxWords PhiloxWords::generate(Builder& b, Value block, Value seed, Value offset) {
  std::array<Value, 4> c{low_word(b, block), high_word(b, block), low_word(b, offset),
                         high_word(b, offset)};
  Value key0 = low_word(b, seed), key1 = high_word(b, seed);
  const Value m0 = b.bits(Lane::I32, kMultiplier0), m1 = b.bits(Lane::I32, kMultiplier1);
  for (int round = 0; round < kRounds; ++round) {
    const Value high0 = b.mul_hi_u32(m0, c[0]), low0 = b.mul(m0, c[0]);
    const Value high1 = b.mul_hi_u32(m1, c[2]), low1 = b.mul(m1, c[2]);
    c = {b.bit_xor(b.bit_xor(high1, c[1]), key0), low1, b.bit_xor(b.bit_xor(high0, c[3]), key1),
         low0};
    key0 = b.add(key0, b.bits(Lane::I32, kWeyl0));
    key1 = b.add(key1, b.bits(Lane::I32, kWeyl1));
  }
  return {c};
}

Value PhiloxWords::wide(Builder& b, std::size_t low) const {
  const Value high = b.shl(b.convert(words[low + 1], Lane::I64), b.constant(Lane::I64, 32));
  return b.bit_or(high, zero_extended(b, words[low]));
}

Value random_bits(Builder& b, Values x) {
  const Value one = b.constant(Lane::I64, 1);
  const PhiloxWords random = PhiloxWords::generate(b, b.shr_logical(x[0], one), x[1], x[2]);
  const Value odd = b.nonzero(b.convert(b.bit_and(x[0], one), Lane::I32));
  const PhiloxWords half{{b.select(odd, random.words[2], random.words[0]),
                          b.select(odd, random.words[3], random.words[1]),
                          {},
                          {}}};
  return half.wide(b, 0);
}

Value RandomInteger::body(Builder& b, Values x) {
  const Value bits = random_bits(b, x);
  const Value picked = b.select(b.nonzero(x[4]), multiply_high(b, bits, x[4]), bits);
  return b.add(x[3], picked);
}

std::array<std::uint64_t, 2> reference_philox(std::uint64_t block, std::uint64_t seed,
                                              std::uint64_t offset) {
  std::array<std::uint32_t, 4> c{
      static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
      static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(offset >> 32)};
  auto key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t p0 = std::uint64_t{kMultiplier0} * c[0],
                        p1 = std::uint64_t{kMultiplier1} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ key0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ key1, static_cast<std::uint32_t>(p0)};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return {c[0] | std::uint64_t{c[1]} << 32, c[2] | std::uint64_t{c[3]} << 32};
}

}  // namespace spyre::kernels::ops

// spyre/base/hash_test.cpp — the hash is XXH3-128, and masks keep what they say.
#include "spyre/base/hash.h"

#include <gtest/gtest.h>

#include <string_view>
#include <unordered_set>

namespace spyre {
namespace {

Hash128 hash_text(std::string_view text) { return hash(std::as_bytes(std::span(text))); }

TEST(Hash, EmptyInputHasThePublishedValue) {
  EXPECT_EQ(hash_text(""), (Hash128{0x6001c324468d497fULL, 0x99aa06d3014798d8ULL}));
}

TEST(Hash, OneBitChangesBothHalves) {
  const Hash128 a = hash_text("trace 0"), b = hash_text("trace 1");
  EXPECT_NE(a.low, b.low);
  EXPECT_NE(a.high, b.high);
}

TEST(Hash, LongInputsHashEveryByte) {
  std::string text(5000, 'x');
  std::unordered_set<Hash128> seen{hash_text(text)};
  for (const std::size_t at : {0U, 1U, 255U, 256U, 1024U, 4998U, 4999U}) {
    std::string changed = text;
    changed[at] = 'y';
    EXPECT_TRUE(seen.insert(hash_text(changed)).second) << at;
  }
}

TEST(Hash, MaskKeepsLowBits) {
  const Hash128 h{~0ULL, ~0ULL};
  EXPECT_EQ(h.masked(4), (Hash128{15, 0}));
  EXPECT_EQ(h.masked(64), (Hash128{~0ULL, 0}));
  EXPECT_EQ(h.masked(68), (Hash128{~0ULL, 15}));
  EXPECT_EQ(h.masked(128), h);
}

}  // namespace
}  // namespace spyre

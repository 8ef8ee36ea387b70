// spyre/lazy/verified_cache_test.cpp — hits are verified, capacity holds, the oldest goes.
#include "spyre/lazy/verified_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace spyre::lazy {
namespace {

std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text)); }
std::shared_ptr<const int> value(int v) { return std::make_shared<const int>(v); }

TEST(VerifiedCache, FindsWhatWasStored) {
  Retired gone;
  VerifiedCache<const int> cache(1_KiB);
  EXPECT_EQ(cache.find(bytes("a")), nullptr);
  cache.insert(bytes("a"), value(1), 8_B, gone);
  EXPECT_EQ(*cache.find(bytes("a")), 1);
  EXPECT_EQ(cache.counts().hits, 1U);
  EXPECT_EQ(cache.counts().misses, 1U);
  EXPECT_EQ(cache.counts().bytes, 9U);
}

TEST(VerifiedCache, CollidingHashesAreToldApart) {
  Retired gone;
  VerifiedCache<const int> cache(64_KiB);
  cache.set_hash_mask(2);  // four different hashes
  for (int i = 0; i < 100; ++i) cache.insert(bytes(std::to_string(i)), value(i), 8_B, gone);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(*cache.find(bytes(std::to_string(i))), i);
  EXPECT_EQ(cache.find(bytes("100")), nullptr);
}

TEST(VerifiedCache, EvictsTheLeastRecentlyUsed) {
  Retired gone;
  VerifiedCache<const int> cache(30_B);  // three entries of 10 bytes
  for (const char* key : {"a", "b", "c"}) cache.insert(bytes(key), value(key[0]), 9_B, gone);
  EXPECT_NE(cache.find(bytes("a")), nullptr);
  cache.insert(bytes("d"), value('d'), 9_B, gone);
  EXPECT_EQ(cache.find(bytes("b")), nullptr);
  EXPECT_NE(cache.find(bytes("a")), nullptr);
  EXPECT_EQ(cache.counts().evictions, 1U);
  EXPECT_EQ(gone.size(), 1U);
  EXPECT_EQ(cache.counts().bytes, 30U);
}

TEST(VerifiedCache, AnEvictedValueLivesOnWhileInUse) {
  Retired gone;
  VerifiedCache<const int> cache(8_B);
  cache.insert(bytes("a"), value(1), 8_B, gone);
  const auto held = cache.find(bytes("a"));
  cache.insert(bytes("b"), value(2), 8_B, gone);
  EXPECT_EQ(cache.counts().entries, 1U);
  EXPECT_EQ(*held, 1);
}

TEST(VerifiedCache, AnEntryAboveCapacityIsKeptUntilTheNext) {
  Retired gone;
  VerifiedCache<const int> cache(8_B);
  cache.insert(bytes("big"), value(1), 1_KiB, gone);
  EXPECT_NE(cache.find(bytes("big")), nullptr);
}

TEST(VerifiedCache, RetireAllEmpties) {
  Retired gone;
  VerifiedCache<const int> cache(1_KiB);
  cache.insert(bytes("a"), value(1), 8_B, gone);
  cache.retire_all(gone);
  EXPECT_EQ(gone.size(), 1U);
  EXPECT_EQ(cache.find(bytes("a")), nullptr);
  EXPECT_EQ(cache.counts().bytes, 0U);
}

/// What a caller of find_next would build a key from.
auto same_as(std::string wanted) {
  return
      [wanted](std::span<const std::byte> key) { return std::ranges::equal(key, bytes(wanted)); };
}

TEST(VerifiedCache, ExpectsWhatCameNextBefore) {
  Retired gone;
  VerifiedCache<const int> cache(1_KiB);
  CacheHint before;
  for (const char* key : {"a", "b", "a", "b"}) {
    if (cache.find(bytes(key)) == nullptr) cache.insert(bytes(key), value(key[0]), 8_B, gone);
    cache.expect_latest_after(before);
  }
  EXPECT_EQ(*cache.find_next(before, same_as("a")), 'a');
  EXPECT_EQ(*cache.find_next(before, same_as("b")), 'b');
  EXPECT_EQ(cache.find_next(before, same_as("b")), nullptr);  // "a" was expected: verified
  EXPECT_EQ(*cache.find_next(before, same_as("a")), 'a');
  EXPECT_EQ(cache.predicted(), 3U);
  EXPECT_EQ(cache.counts().hits, 5U);
}

TEST(VerifiedCache, ExpectsNothingOnceEntriesHaveGone) {
  Retired gone;
  VerifiedCache<const int> cache(20_B);
  CacheHint before;
  cache.insert(bytes("a"), value(1), 9_B, gone);
  cache.expect_latest_after(before);
  cache.expect_latest_after(before);  // "a" comes after "a"
  CacheHint copy = before;
  EXPECT_NE(cache.find_next(copy, same_as("a")), nullptr);
  cache.insert(bytes("b"), value(2), 9_B, gone);
  cache.insert(bytes("c"), value(3), 9_B, gone);
  EXPECT_EQ(cache.find_next(before, same_as("a")), nullptr);
  cache.retire_all(gone);
  EXPECT_EQ(cache.find_next(before, same_as("c")), nullptr);
}

}  // namespace
}  // namespace spyre::lazy

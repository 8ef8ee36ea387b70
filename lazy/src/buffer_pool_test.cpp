// spyre/lazy/buffer_pool_test.cpp — buffers serve again, keep their mark, and are counted while somebody owns them.
#include "buffer_pool.h"

#include <map>
#include <set>
#include <thread>

#include "device_fixture.h"

namespace spyre::lazy {
namespace {

class BufferPoolTest : public DeviceFixture {};

TEST_F(BufferPoolTest, ADroppedBufferServesAgainWithItsMark) {
  BufferRef first = device.create_buffer(100_B);
  first->set_mark(77);
  const Buffer* const object = first.get();
  first = {};
  const BufferRef other_class = device.create_buffer(1_KiB);
  EXPECT_NE(other_class.get(), object);
  const BufferRef again = device.create_buffer(128_B);
  EXPECT_EQ(again.get(), object);
  EXPECT_EQ(again->mark(), 77U);
  EXPECT_EQ(again->size(), 128_B);
  EXPECT_TRUE(again->observable());
}

TEST_F(BufferPoolTest, AReusedBufferIsWithoutHistory) {
  DeviceTensor x = tensor<float>({4}, {1, 2, 3, 4});
  const Buffer* const object = x.buffer.get();
  x.buffer = {};
  const DeviceTensor y = empty({4});
  ASSERT_EQ(y.buffer.get(), object);
  EXPECT_EQ(read<float>(y), (std::vector<float>{0, 0, 0, 0}));
}

TEST_F(BufferPoolTest, BuffersComeBackFromAnyThread) {
  const std::uint64_t before = device.stats().buffers_made;
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 200; ++i) {
          std::vector<BufferRef> some;
          for (int k = 0; k < 4; ++k) some.push_back(device.create_buffer(64_B));
          std::set<const Buffer*> distinct;
          for (const BufferRef& b : some) distinct.insert(b.get());
          EXPECT_EQ(distinct.size(), 4U);
        }
      });
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_LE(device.stats().buffers_made - before, 64U);
  EXPECT_EQ(device.owned().buffers.current, 0);
}

TEST_F(BufferPoolTest, WhatIsTooMuchEndsWithItsMark) {
  std::map<std::uintptr_t, Bytes> ended;
  device.set_mark_end([&](std::uintptr_t mark, Bytes size) { ended[mark] = size; });
  std::vector<BufferRef> many;
  for (std::size_t i = 0; i < BufferPool::kRetained + 5; ++i) {
    many.push_back(device.create_buffer(200_B));
    many.back()->set_mark(i + 1);
  }
  many.clear();
  const BufferRef sorts_what_came_back = device.create_buffer(200_B);
  EXPECT_EQ(ended.size(), 5U);
  EXPECT_EQ(ended.begin()->second, 200_B);
}

TEST_F(BufferPoolTest, OwnedBytesFollowOwnersNotReferences) {
  BufferRef a = device.create_buffer(100_B);
  const BufferRef same = a;
  BufferRef b = device.create_buffer(50_B);
  EXPECT_EQ(device.owned().requested.current, 150);
  EXPECT_EQ(device.owned().bytes.current, 256);
  b->add_reference();
  Buffer& retained = *b;
  b = {};
  EXPECT_EQ(device.owned().requested.current, 100);
  EXPECT_EQ(device.owned().bytes.peak, 256);
  retained.drop_reference();
  a = {};
  EXPECT_EQ(device.owned().buffers.current, 1);
  EXPECT_EQ(device.owned().requested.freed, 50);
  EXPECT_EQ(device.owned().bytes.freed, 128);
  device.reset_owned_peak();
  device.reset_owned_totals();
  EXPECT_EQ(device.owned().bytes.peak, 128);
  EXPECT_EQ(device.owned().bytes.allocated, 0);
}

}  // namespace
}  // namespace spyre::lazy

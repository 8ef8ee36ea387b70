// spyre/device_sim/restickify_test.cpp — changing places is what a derivation in another order gives.
#include "spyre/device_sim/restickify.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "spyre/base/error.h"

namespace spyre::device_sim {
namespace {

using enum DataFormat;

HostShape dense(const Dims& sizes) { return {sizes, contiguous_strides(sizes)}; }

TEST(Restickify, TheWorkedExample) {
  const HostShape shape = dense({512, 256});
  const auto rows = TensorLayout::derived(shape.sizes, Sen169Fp16);
  EXPECT_EQ(restickified(rows, shape, 0), TensorLayout({8, 256, 64}, {16384, 1, 256}, Sen169Fp16));
  EXPECT_EQ(restickified(rows, shape, 1), rows);
  EXPECT_EQ(restickify_cost(rows), 512 * 256);
}

TEST(Restickify, IsTheDerivationWithTwoDimensionsExchanged) {
  for (const Dims& size : {Dims{70, 33}, Dims{5, 70, 130}, Dims{2, 3, 4, 5}, Dims{3, 1, 70}}) {
    const HostShape shape = dense(size);
    Dims order = identity_order(size.size());
    do {
      const auto layout = TensorLayout::derived(size, shape.strides, Sen169Fp16, order);
      for (std::size_t dim = 0; dim < size.size(); ++dim) {
        if (size[static_cast<std::size_t>(order.back())] == 1)
          continue;  // nothing lies in the sticks
        Dims exchanged = order;
        std::swap(*std::ranges::find(exchanged, static_cast<std::int64_t>(dim)),
                  exchanged[order.size() - 1]);
        EXPECT_EQ(restickified(layout, shape, dim),
                  TensorLayout::derived(size, shape.strides, Sen169Fp16, exchanged))
            << layout << " to " << dim;
      }
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST(Restickify, RefusesOtherLayouts) {
  const HostShape shape = dense({512, 256});
  const auto sparse = TensorLayout::derived(shape.sizes, shape.strides, Sen169Fp16, {0, 1, -1});
  EXPECT_EQ(stick_dim(sparse, shape), std::nullopt);
  EXPECT_THROW(restickified(sparse, shape, 0), Unsupported);
  const TensorLayout padded({4, 600, 64}, {64, 256, 1}, Sen169Fp16);
  EXPECT_THROW(restickified(padded, shape, 0), Unsupported);
}

}  // namespace
}  // namespace spyre::device_sim

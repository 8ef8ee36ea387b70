// spyre/base/bytes_test.cpp — arithmetic and printing of memory amounts.
#include "spyre/base/bytes.h"

#include <gtest/gtest.h>

#include "spyre/base/text.h"

namespace spyre {
namespace {

TEST(Bytes, RoundsUpToTheUnit) {
  EXPECT_EQ((0_B).rounded_up(128_B), 0_B);
  EXPECT_EQ((1_B).rounded_up(128_B), 128_B);
  EXPECT_EQ((128_B).rounded_up(128_B), 128_B);
  EXPECT_EQ((129_B).rounded_up(128_B), 256_B);
}

TEST(Bytes, PrintsAsPeopleReadMemory) {
  EXPECT_EQ(str(0_B), "0 B");
  EXPECT_EQ(str(1023_B), "1023 B");
  EXPECT_EQ(str(1_KiB), "1.00 KiB");
  EXPECT_EQ(str(2560_KiB), "2.50 MiB");
  EXPECT_EQ(str(8_GiB), "8.00 GiB");
  EXPECT_EQ(str(Bytes{1ULL << 62}), "4096.00 PiB");
}

TEST(Bytes, PrintingKeepsTheStreamsFormat) { EXPECT_EQ(str(1_MiB, ' ', 0.125), "1.00 MiB 0.125"); }

}  // namespace
}  // namespace spyre

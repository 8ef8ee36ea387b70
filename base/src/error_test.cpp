// spyre/base/error_test.cpp — invariants name themselves and their place.
#include "spyre/base/error.h"

#include <gtest/gtest.h>

#include "spyre/base/text.h"

namespace spyre {
namespace {

TEST(Ensure, HoldsSilently) { EXPECT_NO_THROW(ensure(true, "truth")); }

TEST(Ensure, NamesInvariantAndPlace) {
  try {
    ensure(false, "rows are sorted");
    FAIL() << "must throw";
  } catch (const InternalError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("rows are sorted"), text.npos) << text;
    EXPECT_NE(text.find("base/src/error_test.cpp:"), text.npos) << text;
    EXPECT_EQ(text.find("/base/src"), text.npos) << "no machine path: " << text;
  }
}

TEST(Str, JoinsParts) { EXPECT_EQ(str("add: got ", 3, " of ", 'x'), "add: got 3 of x"); }

}  // namespace
}  // namespace spyre

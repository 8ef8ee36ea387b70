// spyre/base/visible_cards_test.cpp — counting, choosing, defaults, and what bad values are told.
#include "spyre/base/visible_cards.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "spyre/base/error.h"

namespace spyre {
namespace {

class VisibleCardsTest : public ::testing::Test {
 protected:
  ~VisibleCardsTest() override {
    for (const char* name : {"AIU_WORLD_SIZE", "SPYRE_DEVICES", "LOCAL_RANK"}) unsetenv(name);
  }
  static VisibleCards with(const char* world, const char* devices = "", const char* rank = "") {
    setenv("AIU_WORLD_SIZE", world, 1);
    setenv("SPYRE_DEVICES", devices, 1);
    setenv("LOCAL_RANK", rank, 1);
    return visible_cards_from_environment();
  }
  static std::string rejection(const char* world, const char* devices = "", const char* rank = "") {
    try {
      with(world, devices, rank);
    } catch (const InvalidArgument& error) { return error.what(); }
    return "accepted";
  }
};

using Numbers = std::vector<std::size_t>;

TEST_F(VisibleCardsTest, OneByDefaultWhateverTheRank) {
  EXPECT_EQ(with("").numbers, Numbers{0});
  EXPECT_EQ(with("", "", "3").first, 0U);
  EXPECT_EQ(with("", "0", "3").count(), 1U);
}

TEST_F(VisibleCardsTest, AllOfTheMachineUnlessChosen) {
  EXPECT_EQ(with("3").numbers, (Numbers{0, 1, 2}));
  EXPECT_EQ(with("3", "2,0").numbers, (Numbers{2, 0}));
  EXPECT_EQ(with("3", " 1, 1 ,0").numbers, (Numbers{1, 0}));
  EXPECT_EQ(with("3", "2").of_machine, 3U);
}

TEST_F(VisibleCardsTest, TheRankIsAnIndexAmongThem) {
  EXPECT_EQ(with("2").first, 0U);
  EXPECT_EQ(with("2", "", "1").first, 1U);
  EXPECT_EQ(with("4", "3,2", "1").first, 1U);
}

TEST_F(VisibleCardsTest, BadValuesSayWhatToDo) {
  EXPECT_EQ(rejection("0"),
            "AIU_WORLD_SIZE: out of range; got \"0\"; expected 1..64; try AIU_WORLD_SIZE=2");
  EXPECT_EQ(rejection("2", "0,x"),
            "SPYRE_DEVICES: \"x\" is no card's number; got \"0,x\"; expected card,...; try "
            "SPYRE_DEVICES=1,0");
  EXPECT_EQ(rejection("2", "0,2"),
            "SPYRE_DEVICES: got 0,2; this machine has 2 card(s), numbered from 0; try "
            "AIU_WORLD_SIZE=3");
  EXPECT_EQ(rejection("2", "0,"),
            "SPYRE_DEVICES: \"\" is no card's number; got \"0,\"; expected card,...; try "
            "SPYRE_DEVICES=1,0");
  EXPECT_EQ(rejection("2", "", "2"),
            "LOCAL_RANK: got 2; this process sees 2 card(s), with indexes from 0; try "
            "AIU_WORLD_SIZE=3, without SPYRE_DEVICES");
  EXPECT_EQ(rejection("2", "", "one"),
            "LOCAL_RANK: not an integer; got \"one\"; expected 0..65535; try LOCAL_RANK=1");
}

}  // namespace
}  // namespace spyre

// spyre/base/env_test.cpp — defaults parse, bad values explain themselves.
#include "spyre/base/env.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "spyre/base/error.h"

namespace spyre {
namespace {

class ScopedEnv {
 public:
  ScopedEnv(Env variable, const char* value) : name_(env_row(variable).name) {
    setenv(name_.c_str(), value, 1);
  }
  ~ScopedEnv() { unsetenv(name_.c_str()); }

 private:
  std::string name_;
};

std::string rejection(Env variable, const char* value) {
  const ScopedEnv set(variable, value);
  try {
    check_environment();
  } catch (const InvalidArgument& error) { return error.what(); }
  return "accepted";
}

TEST(Env, EveryDefaultAndExampleFitsItsGrammar) {
  check_environment();
  for (const EnvRow& row : env_table()) {
    const ScopedEnv set(row.variable, std::string(row.example).c_str());
    EXPECT_NO_THROW(check_environment()) << row.name;
    EXPECT_FALSE(row.meaning.empty()) << row.name;
  }
}

TEST(Env, ChoicesAreCountedInGrammarOrder) {
  EXPECT_EQ(env_choice(Env::Mode), 0U);
  const ScopedEnv set(Env::Exec, "null");
  EXPECT_EQ(env_choice(Env::Exec), 2U);
}

TEST(Env, EmptyMeansDefault) {
  const ScopedEnv set(Env::Mode, "");
  EXPECT_EQ(env_choice(Env::Mode), 0U);
  EXPECT_FALSE(env_is_set(Env::Mode));
}

TEST(Env, SizesTakeUnitsAndFractions) {
  const ScopedEnv set(Env::DeviceMemory, "1.5 GiB");
  EXPECT_EQ(env_size(Env::DeviceMemory), 1536_MiB);
  EXPECT_EQ(env_size(Env::PlanCache), 64_MiB);
}

TEST(Env, BadValuesPrintGrammarAndExample) {
  EXPECT_EQ(rejection(Env::Mode, "fast"),
            "SPYRE_MODE: unknown word; got \"fast\"; expected lazy|eager; try SPYRE_MODE=eager");
  EXPECT_EQ(rejection(Env::Cores, "33"),
            "SENCORES: out of range; got \"33\"; expected 1..32; try SENCORES=8");
  EXPECT_EQ(rejection(Env::Cores, "7x"),
            "SENCORES: not an integer; got \"7x\"; expected 1..32; try SENCORES=8");
}

TEST(Env, BadSizesAreRejected) {
  for (const char* bad : {"8", "8GB", "-1GiB", "nanGiB", "1e30TiB", "GiB", "inf B"}) {
    EXPECT_NE(rejection(Env::DeviceMemory, bad), "accepted") << bad;
  }
}

TEST(Env, ReadingAsAnotherKindIsABug) { EXPECT_THROW(env_integer(Env::Mode), InternalError); }

}  // namespace
}  // namespace spyre

// spyre/base/log_test.cpp — channels, levels, and lines that are not built when off.
#include "spyre/base/log.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "spyre/base/env.h"
#include "spyre/base/error.h"

namespace spyre {
namespace {

std::uint8_t level(const LogLevels& levels, LogChannel channel) {
  return levels.of[static_cast<std::size_t>(channel)];
}

TEST(Log, ParsesChannelsAndLevels) {
  const LogLevels levels = LogLevels::parse("trace,fusion:2");
  EXPECT_EQ(level(levels, LogChannel::Trace), 1);
  EXPECT_EQ(level(levels, LogChannel::Fusion), 2);
  EXPECT_EQ(level(levels, LogChannel::Alloc), 0);
}

TEST(Log, LaterItemsWin) {
  const LogLevels levels = LogLevels::parse("all:3,alloc:0");
  EXPECT_EQ(level(levels, LogChannel::Time), 3);
  EXPECT_EQ(level(levels, LogChannel::Alloc), 0);
}

TEST(Log, RejectsUnknownChannelsAndLevels) {
  for (const char* bad : {"tracer", "trace:", "trace:x", "trace:999", "trace,,alloc", ":1"}) {
    EXPECT_THROW(LogLevels::parse(bad), InvalidArgument) << bad;
  }
}

TEST(Log, UpstreamsSwitchesSetChannelsThatSpyreLogDoesNotName) {
  setenv("DT_DEEPRT_VERBOSE", "2", 1);
  EXPECT_EQ(level(LogLevels::from_environment(), LogChannel::Launch), 2);
  EXPECT_EQ(level(LogLevels::from_environment(), LogChannel::Fusion), 0);
  setenv("TORCH_SPYRE_DEBUG", "1", 1);
  setenv("SPYRE_LOG", "stream:0,cache:3", 1);
  const LogLevels levels = LogLevels::from_environment();
  for (const char* name : {"DT_DEEPRT_VERBOSE", "TORCH_SPYRE_DEBUG", "SPYRE_LOG"}) unsetenv(name);
  EXPECT_EQ(level(levels, LogChannel::Launch), 2);
  EXPECT_EQ(level(levels, LogChannel::Fusion), 1);
  EXPECT_EQ(level(levels, LogChannel::Stream), 0);
  EXPECT_EQ(level(levels, LogChannel::Cache), 3);
  EXPECT_EQ(LogLevels::from_environment().of, LogLevels{}.of);
}

TEST(Log, AFileThatCannotBeWrittenIsNamed) {
  setenv("SPYRE_LOG_FILE", "/nowhere/spyre.log", 1);
  EXPECT_THROW(check_log(), InvalidArgument);
  unsetenv("SPYRE_LOG_FILE");
  EXPECT_NO_THROW(check_log());
}

TEST(Log, OffBuildsNoText) {
  bool built = false;
  log(LogChannel::Trace, 200, [&] { return built = true, "text"; });
  EXPECT_FALSE(built);
}

TEST(Log, WritesWholeLines) {
  testing::internal::CaptureStderr();
  write_log_line(LogChannel::Alloc, "4 KiB");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[spyre alloc] 4 KiB\n");
}

}  // namespace
}  // namespace spyre

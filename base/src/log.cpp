// spyre/base/log.cpp — parses SPYRE_LOG and writes lines.
#include "spyre/base/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <optional>
#include <string>

#include "spyre/base/env.h"
#include "spyre/base/error.h"

namespace spyre {
namespace {

constexpr std::array<std::string_view, kLogChannelCount> kNames{
    "trace", "cache",  "fusion",   "schedule", "emit",    "launch",
    "alloc", "stream", "transfer", "time",     "fallback"};

std::optional<std::size_t> channel_named(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return i;
  }
  return std::nullopt;
}

/// "fusion:2" sets one channel, "all" each of them.
void apply(LogLevels& levels, std::string_view item) {
  const std::size_t colon = item.find(':');
  const std::string_view name = item.substr(0, colon);
  std::uint8_t level = 1;
  if (colon != item.npos) {
    const std::string_view digits = item.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), level);
    if (error != std::errc{} || end != digits.data() + digits.size())
      reject_env_value(Env::Log, item, "a level is a number from 0 to 255");
  }
  if (name == "all") return levels.of.fill(level);
  const std::optional<std::size_t> channel = channel_named(name);
  if (!channel) reject_env_value(Env::Log, item, "unknown channel");
  levels.of[*channel] = level;
}

LogLevels levels_or_off() noexcept {
  try {
    return LogLevels::from_environment();
  } catch (const Error&) { return {}; }
}

/// Of SPYRE_LOG_FILE; -1: it cannot be written.
int open_log_file(const std::string& path) {
  constexpr mode_t kForItsOwner = 0600;
  return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, kForItsOwner);
}

/// Opened at the first line; open until the process ends.
int log_descriptor() {
  static const int descriptor = [] {
    const std::string path = env_text(Env::LogFile);
    const int file = path.empty() ? -1 : open_log_file(path);
    return file < 0 ? STDERR_FILENO : file;
  }();
  return descriptor;
}

}  // namespace

std::string_view name_of(LogChannel channel) { return kNames[static_cast<std::size_t>(channel)]; }

LogLevels LogLevels::with(std::string_view text) const {
  LogLevels levels = *this;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    apply(levels, text.substr(0, comma));
    text.remove_prefix(comma == text.npos ? text.size() : comma + 1);
  }
  return levels;
}

LogLevels LogLevels::from_environment() {
  using enum LogChannel;
  LogLevels levels;
  if (env_switch(Env::Debug)) levels.of.fill(1);
  const std::int64_t runtime = env_integer(Env::RuntimeLog);
  for (const LogChannel channel : {Launch, Alloc, Stream, Transfer, Time})
    if (runtime >= 0)
      levels.of[static_cast<std::size_t>(channel)] = static_cast<std::uint8_t>(runtime);
  return levels.with(env_text(Env::Log));
}

const LogLevels& log_levels() noexcept {
  static const LogLevels levels = levels_or_off();
  return levels;
}

void check_log() {
  LogLevels::from_environment();
  const std::string path = env_text(Env::LogFile);
  if (path.empty()) return;
  const int file = open_log_file(path);
  if (file < 0) reject_env_value(Env::LogFile, path, "cannot be written");
  ::close(file);
}

void write_log_line(LogChannel channel, std::string_view text) {
  std::string line = "[spyre ";
  line.append(name_of(channel)).append("] ").append(text).push_back('\n');
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t written = ::write(log_descriptor(), rest.data(), rest.size());
    if (written <= 0) return;  // nobody can be told that it is gone
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace spyre

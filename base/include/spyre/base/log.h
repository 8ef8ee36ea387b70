// spyre/base/log.h — SPYRE_LOG=trace,fusion:2 — text on stderr, or in SPYRE_LOG_FILE, by channel and
// level; nearly free when off.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace spyre {

enum class LogChannel : std::uint8_t {
  Trace,
  Cache,
  Fusion,
  Schedule,
  Emit,
  Launch,
  Alloc,
  Stream,
  Transfer,
  Time,
  Fallback,
};
inline constexpr std::size_t kLogChannelCount = static_cast<std::size_t>(LogChannel::Fallback) + 1;

std::string_view name_of(LogChannel channel);  // as in SPYRE_LOG

/// One level per channel; 0: off. A value.
struct LogLevels {
  std::array<std::uint8_t, kLogChannelCount> of{};
  /// "trace,fusion:2", "all", "all:2,alloc:0". Throws InvalidArgument with the grammar.
  static LogLevels parse(std::string_view text) { return LogLevels{}.with(text); }
  /// These, but for what the text names.
  LogLevels with(std::string_view text) const;
  /// What SPYRE_LOG, TORCH_SPYRE_DEBUG and DT_DEEPRT_VERBOSE ask for.
  static LogLevels from_environment();
};

/// The levels that the environment asked for at first use; immutable after that. If it is malformed
/// all is off here: logging never throws, check_log() does.
const LogLevels& log_levels() noexcept;
/// Throws InvalidArgument for levels that are malformed, or a file that cannot be written.
void check_log();

inline bool log_is_on(LogChannel channel, int level = 1) noexcept {
  static const LogLevels& levels = log_levels();
  return levels.of[static_cast<std::size_t>(channel)] >= level;
}

/// Writes one whole line, in one write. Any thread.
void write_log_line(LogChannel channel, std::string_view text);

/// `text` is called only if the channel is on at `level`: log(LogChannel::Alloc, 2, [&] { return
/// str(...); }).
template <class Text> void log(LogChannel channel, int level, Text&& text) {
  if (log_is_on(channel, level)) [[unlikely]]
    write_log_line(channel, text());
}
template <class Text> void log(LogChannel channel, Text&& text) {
  log(channel, 1, static_cast<Text&&>(text));
}

}  // namespace spyre

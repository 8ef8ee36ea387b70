// spyre/base/env.cpp — the table of environment variables, and its parser.
#include "spyre/base/env.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre {
namespace {

using enum EnvRow::Kind;

constexpr std::int64_t kMaxThreads = 1024, kMaxTraceNodes = 1 << 20, kMaxCards = 64,
                       kMaxRank = 65535, kMaxHostStreams = 8, kMaxCorrections = 8;

constexpr std::array kTable{
    EnvRow{Env::Mode, Choice, "SPYRE_MODE", "lazy", "lazy|eager", "eager",
           "lazy records operations and runs them at sync points; eager runs each at once, for "
           "debugging"},
    EnvRow{
        Env::Exec, Choice, "SPYRE_EXEC", "vector", "vector|scalar|null", "scalar",
        "what runs kernels: machine code, the reference interpreter, or nothing (planning only)"},
    EnvRow{Env::Isa, Choice, "SPYRE_ISA", "auto", "auto|avx2|avx512", "avx2",
           "instruction set of the machine code; auto takes the best of this CPU"},
    EnvRow{
        Env::Numerics, Choice, "SPYRE_NUMERICS", "ieee", "ieee|card|quirks", "card",
        "what memory holds: what torch's types say, or only what the card's formats for them can; "
        "quirks: besides, what cards have been seen to do otherwise"},
    EnvRow{Env::Fallback, Choice, "SPYRE_FALLBACK", "allow", "allow|warn|error", "warn",
           "what happens when an operation has to run on the host"},
    EnvRow{Env::Log, Text, "SPYRE_LOG", "", "channel[:level],... or all[:level]",
           "trace,fusion:2,alloc",
           "log to stderr; channels: trace, cache, fusion, schedule, emit, launch, alloc, stream, "
           "transfer, time, "
           "fallback"},
    EnvRow{Env::Debug, Choice, "TORCH_SPYRE_DEBUG", "0", "0|1", "1",
           "logs on every channel, as SPYRE_LOG=all does; what SPYRE_LOG names has its own level"},
    EnvRow{Env::RuntimeLog, Integer, "DT_DEEPRT_VERBOSE", "-1", "-1..255", "1",
           "level of the runtime's channels of the log (launch, alloc, stream, transfer, time), "
           "unless SPYRE_LOG names them; -1: off",
           -1, 255},
    EnvRow{Env::LogFile, Text, "SPYRE_LOG_FILE", "", "file", "spyre.log",
           "the log goes to the end of this file instead of stderr"},
    EnvRow{Env::Dump, Text, "SPYRE_DUMP", "", "directory", "/tmp/spyre",
           "writes each compiled graph's stages, plan and listings into this directory"},
    EnvRow{Env::Passes, Text, "SPYRE_PASSES", "", "-pass,...", "-fuse_rows,-duplicates",
           "switches compiler passes off"},
    EnvRow{Env::Verify, Choice, "SPYRE_VERIFY", "0", "0|1", "1",
           "checks the graph after every pass"},
    EnvRow{Env::Sync, Choice, "SPYRE_SYNC", "0", "0|1", "1",
           "runs each operation before its call returns, and raises its fault there"},
    EnvRow{Env::MaxNodes, Integer, "SPYRE_MAX_NODES", "4096", "1..1048576", "512",
           "operations that a trace may hold before it is flushed", 1, kMaxTraceNodes},
    EnvRow{Env::MaxPending, Size, "SPYRE_MAX_PENDING", "1GiB", "number and B, KiB, MiB, GiB or TiB",
           "256MiB", "memory that the results of a trace may need before it is flushed"},
    EnvRow{Env::PlanCache, Size, "SPYRE_PLAN_CACHE", "64MiB", "number and B, KiB, MiB, GiB or TiB",
           "16MiB", "bound of the plan cache"},
    EnvRow{Env::KernelCache, Size, "SPYRE_KERNEL_CACHE", "64MiB",
           "number and B, KiB, MiB, GiB or TiB", "16MiB", "bound of the kernel cache"},
    EnvRow{Env::Cores, Integer, "SENCORES", "32", "1..32", "8", "cores of the simulated card", 1,
           32},
    EnvRow{Env::Threads, Integer, "SPYRE_THREADS", "0", "0..1024", "4",
           "host threads that play the cores; 0: all processors of this process", 0, kMaxThreads},
    EnvRow{Env::WorldSize, Integer, "AIU_WORLD_SIZE", "1", "1..64", "2",
           "cards of the machine; they share what is its memory by default", 1, kMaxCards},
    EnvRow{Env::Devices, Text, "SPYRE_DEVICES", "", "card,...", "1,0",
           "which of the machine's cards this process sees, in this order; empty: all"},
    EnvRow{Env::LocalRank, Integer, "LOCAL_RANK", "0", "0..65535", "1",
           "with AIU_WORLD_SIZE: the card, among those that it sees, which a thread uses until it "
           "chooses one",
           0, kMaxRank},
    EnvRow{Env::DeviceMemory, Size, "SPYRE_DEVICE_MEMORY", "0B",
           "number and B, KiB, MiB, GiB or TiB", "8GiB",
           "memory of a card; 0B: an equal share of half of this machine's"},
    EnvRow{Env::DeviceSpec, Text, "SPYRE_DEVICE_SPEC", "",
           "path of a JSON object, calibrated or datasheet", "card.json",
           "overrides fields of the card's description, or names a whole one"},
    EnvRow{Env::DeviceFunction, Choice, "FLEX_DEVICE", "PF", "PF|VF|MOCK", "VF",
           "physical or virtual function of the card: what handles of its memory are"},
    EnvRow{Env::Clock, Choice, "SPYRE_CLOCK", "virtual", "virtual|anchored|realtime|off",
           "realtime",
           "how the modelled host's time passes: by fixed costs, with this host, or with this host "
           "waiting for the modelled card; off: no time is modelled"},
    EnvRow{Env::Poison, Choice, "SPYRE_POISON", "0", "0|1", "1",
           "fills fresh, freed and padding bytes of device memory with NaN"},
    EnvRow{Env::DowncastWarn, Choice, "TORCH_SPYRE_DOWNCAST_WARN", "1", "0|1", "0",
           "with SPYRE_NUMERICS=card: warns once that int64 is kept as int32"},
    EnvRow{Env::HostStreams, Integer, "TORCH_SPYRE_NUM_HOST_COMPUTE_STREAMS", "4", "1..8", "2",
           "streams and modelled threads on which the host prepares launches", 1, kMaxHostStreams},
    EnvRow{Env::CorrectionDepth, Integer, "SPYRE_CORRECTION_ARENA_DEPTH", "1", "1..8", "2",
           "launches of a stream whose arguments may be under way at once: with 1, arguments are "
           "written when the launch before has computed; with more, beside it",
           1, kMaxCorrections},
    EnvRow{Env::LxFraction, Text, "DXP_LX_FRAC_AVAIL", "", "number from 0 to 1", "0.2",
           "share of a core's scratchpad that plans leave free; empty: what the card's description "
           "says"},
    EnvRow{Env::LxPlanning, Choice, "LX_PLANNING", "1", "0|1", "0",
           "what the operations of a kernel pass on stays in scratchpads; 0: it is priced as going "
           "through device memory, and descriptions of compiled kernels place nothing"},
    EnvRow{Env::CompilePasses, Text, "SPYRE_COMPILE_PASSES", "", "-pass,...",
           "-stickify,-core_division",
           "torch.compile: switches passes over a kernel's description off"},
    EnvRow{Env::CompileFallback, Choice, "SPYRE_COMPILE_FALLBACK", "0", "0|1", "1",
           "torch.compile: what has no operations runs eagerly, with a warning and a count"},
    EnvRow{Env::Metrics, Text, "SPYRE_METRICS", "/dev/shm", "directory, or off", "off",
           "where running processes keep their counters for spyre-smi: a file system in memory"},
    EnvRow{Env::FailureReports, Choice, "TORCH_SPYRE_FFDC", "0", "0|1", "1",
           "writes a report of each failure of the device as JSON; the last 50 are kept"},
    EnvRow{Env::FailureFolder, Text, "TORCH_SPYRE_FFDC_DIR", "", "directory", "failures",
           "where reports of failures go; empty: torch_spyre_ffdc_<user> in the folder for "
           "temporary files"},
};

constexpr bool rows_stand_in_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (kTable[i].variable != static_cast<Env>(i)) return false;
  }
  return kTable.back().variable == Env::FailureFolder;
}
static_assert(rows_stand_in_order());

/// nullptr: unset or empty.
const char* set_value(const EnvRow& row) {
  const char* value = std::getenv(std::string(row.name).c_str());
  return value != nullptr && *value != '\0' ? value : nullptr;
}

std::string value_of(const EnvRow& row) {
  const char* value = set_value(row);
  return value != nullptr ? value : std::string(row.fallback);
}

const EnvRow& row_of_kind(Env variable, EnvRow::Kind kind) {
  const EnvRow& row = env_row(variable);
  ensure(row.kind == kind, "an environment variable is read as its own kind");
  return row;
}

std::optional<std::size_t> position_in(std::string_view grammar, std::string_view word) {
  for (std::size_t position = 0;; ++position) {
    const std::size_t end = grammar.find('|');
    if (grammar.substr(0, end) == word) return position;
    if (end == grammar.npos) return std::nullopt;
    grammar.remove_prefix(end + 1);
  }
}

/// The number at the front of `text`, which loses it.
template <class Number> std::optional<Number> take_number(std::string_view& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

std::optional<Bytes> parse_size(std::string_view text) {
  constexpr std::array<std::string_view, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  const std::optional<double> amount = take_number<double>(text);
  if (!amount || !(*amount >= 0)) return std::nullopt;
  while (text.starts_with(' ')) text.remove_prefix(1);
  for (std::size_t unit = 0; unit < kUnits.size(); ++unit) {
    if (text != kUnits[unit]) continue;
    const double count = *amount * static_cast<double>(1ULL << (10 * unit));
    if (count >= 0x1p63) return std::nullopt;
    return Bytes{static_cast<std::uint64_t>(count)};
  }
  return std::nullopt;
}

void check(const EnvRow& row) {
  switch (row.kind) {
    case Choice: env_choice(row.variable); break;
    case Integer: env_integer(row.variable); break;
    case Size: env_size(row.variable); break;
    case Text: break;
  }
}

}  // namespace

std::span<const EnvRow> env_table() { return kTable; }

const EnvRow& env_row(Env variable) { return kTable[static_cast<std::size_t>(variable)]; }

bool env_is_set(Env variable) { return set_value(env_row(variable)) != nullptr; }

void reject_env_value(Env variable, std::string_view value, std::string_view why) {
  const EnvRow& row = env_row(variable);
  throw InvalidArgument(str(row.name, ": ", why, "; got \"", value, "\"; expected ", row.grammar,
                            "; try ", row.name, "=", row.example));
}

std::size_t env_choice(Env variable) {
  const EnvRow& row = row_of_kind(variable, Choice);
  const std::string value = value_of(row);
  const std::optional<std::size_t> position = position_in(row.grammar, value);
  if (!position) reject_env_value(variable, value, "unknown word");
  return *position;
}

std::int64_t env_integer(Env variable) {
  const EnvRow& row = row_of_kind(variable, Integer);
  const std::string value = value_of(row);
  std::string_view rest = value;
  const std::optional<std::int64_t> number = take_number<std::int64_t>(rest);
  if (!number || !rest.empty()) reject_env_value(variable, value, "not an integer");
  if (*number < row.low || *number > row.high) reject_env_value(variable, value, "out of range");
  return *number;
}

Bytes env_size(Env variable) {
  const std::string value = value_of(row_of_kind(variable, Size));
  const std::optional<Bytes> size = parse_size(value);
  if (!size) reject_env_value(variable, value, "not a size");
  return *size;
}

std::string env_text(Env variable) { return value_of(row_of_kind(variable, Text)); }

void check_environment() {
  for (const EnvRow& row : kTable) check(row);
}

}  // namespace spyre

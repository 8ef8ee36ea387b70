// spyre/device_sim/trace_json.cpp — slices on lanes, arrows between them, counters below.
//
// Lanes are threads of the two processes: the host, one per pipeline, and on request one per core.
// Arrows lead from the host's call to what it started, and from an awaited operation to the first
// one that waited.
#include "trace_json.h"

#include <array>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "spyre/base/text.h"

namespace spyre::device_sim {
namespace {

constexpr unsigned kModelled = 1, kWall = 2, kHostLane = 0, kFirstCoreLane = 100;
constexpr int kSchemaVersion = 2;

unsigned lane_of(PipelineId pipeline) { return static_cast<unsigned>(pipeline) + 1; }

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Chrome wants microseconds: "12.000345".
std::string microseconds(Picoseconds time) {
  const std::string digits = std::to_string(time.count % 1'000'000);
  return str(time.count / 1'000'000, '.', std::string(6 - digits.size(), '0'), digits);
}

std::string fixed(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

/// Writes events, a line each. Confined to one thread.
class TraceWriter {
 public:
  TraceWriter(const DeviceSpec& spec, const TraceOptions& options)
      : spec_(spec), options_(options) {}

  void modelled(const ModelledRun& run) {
    names(kModelled, "modelled card");
    for (const ModelledRow& row : run.rows) {
      if (row.entry->kind == RunEntry::Kind::Join) joined(row);
      else submission(row);
    }
  }

  void wall(const std::deque<WallRow>& rows) {
    names(kWall, "this host");
    for (const WallRow& row : rows)
      slice(kWall, lane_of(row.pipeline), row.name, {row.start_ps}, {row.length_ps},
            place(row.point, row.correlation, row.bytes));
  }

  std::string finish(std::uint64_t modelled_dropped, std::uint64_t wall_dropped) {
    std::string parameters = to_json(spec_);
    out_.erase(out_.size() - 2);  // the last comma
    return str("{\"traceEvents\":[\n", out_, "\n],\n\"schema_version\":", kSchemaVersion,
               ",\"profile\":", quoted(spec_.profile), ",\"dropped_modelled\":", modelled_dropped,
               ",\"dropped_wall\":", wall_dropped, ",\n\"device\":", parameters, "}\n");
  }

 private:
  void name_lane(unsigned process, unsigned lane, std::string_view name) {
    out_ += str("{\"ph\":\"M\",\"pid\":", process, ",\"tid\":", lane,
                ",\"name\":\"thread_name\",\"args\":{\"name\":\"", name, "\"}},\n");
  }

  void names(unsigned process, std::string_view name) {
    out_ += str("{\"ph\":\"M\",\"pid\":", process,
                ",\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"", name, "\"}},\n");
    if (process == kModelled) name_lane(process, kHostLane, "host");
    for (std::size_t i = 0; i < kPipelineCount; ++i) {
      const auto pipeline = static_cast<PipelineId>(i);
      if (pipeline != PipelineId::Join) name_lane(process, lane_of(pipeline), name_of(pipeline));
    }
    if (process != kModelled || !options_.core_lanes) return;
    for (unsigned core = 0; core < static_cast<unsigned>(spec_.cores); ++core)
      name_lane(process, kFirstCoreLane + core, str("core ", core));
  }

  static std::string place(const TimelinePoint& point, std::uint64_t correlation,
                           std::uint64_t bytes) {
    return str("\"stream\":", point.stream, ",\"sequence\":", point.sequence,
               ",\"correlation\":", correlation, ",\"bytes\":", bytes);
  }

  void slice(unsigned process, unsigned lane, const std::string& name, Picoseconds start,
             Picoseconds length, const std::string& args) {
    out_ += str("{\"ph\":\"X\",\"pid\":", process, ",\"tid\":", lane,
                ",\"ts\":", microseconds(start), ",\"dur\":", microseconds(length),
                ",\"name\":", quoted(name), ",\"args\":{", args, "}},\n");
  }

  void submission(const ModelledRow& row) {
    const RunEntry& entry = *row.entry;
    const Work& work = entry.charge.work;
    const bool compute = entry.charge.pipeline == PipelineId::Compute;
    const std::uint64_t bytes = compute ? traffic_of(work, spec_).both() : entry.charge.bytes;
    const std::string where = place(entry.point, entry.correlation, bytes);
    const Picoseconds length = row.span.end - row.span.start;
    slice(kModelled, kHostLane, entry.name, row.span.submit, row.span.submitted - row.span.submit,
          where);
    slice(kModelled, lane_of(entry.charge.pipeline), entry.name, row.span.start, length,
          str(where, details(row)));
    if (compute && options_.core_lanes) cores(row, where);
    arrow("launch", kHostLane, row.span.submit, lane_of(entry.charge.pipeline), row.span.start);
    arrive(entry, row.span.start);
    ends_[{entry.point.stream.value, entry.point.sequence}] = {lane_of(entry.charge.pipeline),
                                                               row.span.end};
    counters(row, bytes);
  }

  std::string details(const ModelledRow& row) const {
    const RuleRow& rule = row_of(row.price.rule);
    std::string text = str(",\"bound\":\"", name_of(row.price.bound), "\",\"rule\":\"", rule.name,
                           "\",\"mark\":\"", rule.mark, '"');
    if (row.entry->charge.pipeline != PipelineId::Compute) return text;
    const Work& work = row.entry->charge.work;
    const Picoseconds length = row.span.end - row.span.start;
    return text + str(",\"macs\":", work.macs, ",\"lane_ops\":", work.lane_ops,
                      ",\"cores\":", row.price.cores, ",\"cycles\":", cycles(length),
                      ",\"memory_cycles\":", cycles(row.price.memory),
                      ",\"matrix_cycles\":", cycles(row.price.matrix),
                      ",\"vector_cycles\":", cycles(row.price.vector),
                      ",\"ring_cycles\":", cycles(row.price.ring + row.price.partial_sums),
                      ",\"padding_bytes\":", work.padding_read + work.padding_written,
                      ",\"scratchpad_peak\":", work.scratchpad_peak,
                      ",\"pt_utilisation\":", fixed(matrix_utilisation(work, spec_, length), 4));
  }

  std::uint64_t cycles(Picoseconds time) const {
    return static_cast<std::uint64_t>(static_cast<double>(time.count) * spec_.core_clock_ghz /
                                      1000);
  }

  void cores(const ModelledRow& row, const std::string& where) {
    for (unsigned core = 0; core < static_cast<unsigned>(row.price.cores); ++core)
      slice(kModelled, kFirstCoreLane + core, row.entry->name, row.span.start,
            row.span.end - row.span.start, where);
  }

  void arrow(std::string_view name, unsigned from_lane, Picoseconds from, unsigned to_lane,
             Picoseconds to) {
    const std::uint64_t id = ++arrows_;
    const auto end = [&](std::string_view phase, unsigned lane, Picoseconds time) {
      out_ += str("{\"ph\":\"", phase, "\",\"pid\":", kModelled, ",\"tid\":", lane,
                  ",\"ts\":", microseconds(time), ",\"id\":", id, ",\"cat\":\"flow\",\"name\":\"",
                  name, "\",\"bp\":\"e\"},\n");
    };
    end("s", from_lane, from);
    end("f", to_lane, to);
  }

  void joined(const ModelledRow& row) {
    for (const TimelinePoint& point : row.entry->after)
      waiting_[row.entry->point.stream.value].push_back(point);
  }

  /// Arrows from everything that the operation, or a join in front of it, waited for.
  void arrive(const RunEntry& entry, Picoseconds start) {
    std::vector<TimelinePoint>& points = waiting_[entry.point.stream.value];
    points.insert(points.end(), entry.after.begin(), entry.after.end());
    for (const TimelinePoint& point : points) {
      const auto from = ends_.find({point.stream.value, point.sequence});
      if (from != ends_.end())
        arrow("event", from->second.first, from->second.second, lane_of(entry.charge.pipeline),
              start);
    }
    points.clear();
  }

  void counter(std::string_view name, Picoseconds time, const std::string& value) {
    out_ += str("{\"ph\":\"C\",\"pid\":", kModelled, ",\"ts\":", microseconds(time), ",\"name\":\"",
                name, "\",\"args\":{\"value\":", value, "}},\n");
  }

  void pulse(std::string_view name, const ModelledRow& row, double value) {
    counter(name, row.span.start, fixed(value, 3));
    counter(name, row.span.end, "0");
  }

  void counters(const ModelledRow& row, std::uint64_t bytes) {
    const Picoseconds length = row.span.end - row.span.start;
    if (length == Picoseconds{}) return;
    const double gb_per_s = static_cast<double>(bytes) * 1000 / static_cast<double>(length.count);
    const Work& work = row.entry->charge.work;
    switch (row.entry->charge.pipeline) {
      case PipelineId::HostToDevice: return pulse("PCIe to card GB/s", row, gb_per_s);
      case PipelineId::DeviceToHost: return pulse("PCIe to host GB/s", row, gb_per_s);
      case PipelineId::Compute: break;
      case PipelineId::Callback:
      case PipelineId::Join: return;
    }
    pulse("LPDDR5 GB/s", row, gb_per_s);
    pulse("PT %", row, 100 * matrix_utilisation(work, spec_, length));
    pulse("LX bytes per core", row, static_cast<double>(work.scratchpad_peak));
  }

  const DeviceSpec& spec_;
  const TraceOptions& options_;
  std::string out_;
  std::uint64_t arrows_ = 0;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::pair<unsigned, Picoseconds>> ends_;
  std::map<std::uint32_t, std::vector<TimelinePoint>> waiting_;  // by waiting stream
};

}  // namespace

std::string trace_json(const ModelledRun& run, const std::deque<WallRow>& wall,
                       std::uint64_t wall_dropped, const DeviceSpec& spec,
                       const TraceOptions& options) {
  TraceWriter writer(spec, options);
  writer.modelled(run);
  writer.wall(wall);
  return writer.finish(run.dropped, wall_dropped);
}

}  // namespace spyre::device_sim

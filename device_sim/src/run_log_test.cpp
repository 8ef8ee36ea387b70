// spyre/device_sim/run_log_test.cpp — pricing a run again gives what its clock said, or another
// card's time.
#include "run_log.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "spyre/device_sim/work_division.h"
#include "test_programs.h"

namespace spyre::device_sim {
namespace {

/// Random calls, applied to a clock and noted in a log. Confined to one thread.
class RandomRun {
 public:
  RandomRun(const DeviceSpec& spec, unsigned seed) : clock(spec), log(clock), random_(seed) {}

  void steps(int count) {
    for (int i = 0; i < count; ++i) step();
  }
  Clock clock;
  RunLog log;
  std::vector<ModelledSpan> spans;

 private:
  void step() {
    const StreamId stream{static_cast<std::uint32_t>(random_() % 3)};
    const TimelinePoint other = last_[random_() % 3];
    switch (random_() % 8) {
      case 0: return wait(other);
      case 1: return submit(stream, {}, true, true, other);
      default: break;
    }
    const auto pipeline = static_cast<PipelineId>(random_() % 4);
    const Work work{.bytes_read = random_() % (1 << 24), .bytes_written = random_() % (1 << 24)};
    submit(stream, {pipeline, random_() % (1 << 22), work}, random_() % 3 != 0, false, other);
  }

  void wait(const TimelinePoint& point) {
    clock.synchronize({point.modelled_ps});
    log.add({.kind = RunEntry::Kind::Synchronize, .point = point});
  }

  void submit(StreamId stream, const Charge& charge, bool barrier, bool join,
              const TimelinePoint& other) {
    std::vector<TimelinePoint> after;
    if (join || random_() % 4 == 0) after.push_back(other);
    const Picoseconds ready{after.empty() ? 0 : other.modelled_ps};
    spans.push_back(join ? clock.join(stream, ready)
                         : clock.submit(stream, charge, barrier, ready));
    TimelinePoint& last = last_[stream.value];
    last = {stream, last.sequence + 1, clock.last(stream).count};
    log.add({.kind = join ? RunEntry::Kind::Join : RunEntry::Kind::Submit,
             .point = last,
             .after = after,
             .charge = charge,
             .barrier = barrier});
  }

  std::mt19937 random_;
  std::array<TimelinePoint, 3> last_{TimelinePoint{{0}}, TimelinePoint{{1}}, TimelinePoint{{2}}};
};

TEST(RunLog, PricedOnItsOwnCardItIsWhatTheClockSaid) {
  const DeviceSpec spec;
  for (unsigned seed = 0; seed < 20; ++seed) {
    RandomRun run(spec, seed);
    run.steps(300);
    const ModelledRun again = run.log.priced(spec);
    ASSERT_EQ(again.rows.size(), run.spans.size());
    for (std::size_t i = 0; i < run.spans.size(); ++i) {
      EXPECT_EQ(again.rows[i].span.start, run.spans[i].start);
      EXPECT_EQ(again.rows[i].span.end, run.spans[i].end);
    }
    EXPECT_EQ(again.host, run.clock.host());
  }
}

TEST(RunLog, DroppedEntriesStillCount) {
  const DeviceSpec spec;
  RandomRun run(spec, 1);
  run.steps(static_cast<int>(RunLog::kEntries) + 500);
  const ModelledRun again = run.log.priced(spec);
  EXPECT_EQ(run.log.size(), RunLog::kEntries);
  EXPECT_EQ(again.dropped, 500U);
  EXPECT_EQ(again.rows.back().span.end, run.spans.back().end);
  EXPECT_EQ(again.host, run.clock.host());
}

TEST(RunLog, AFasterCardIsNoSlower) {
  const DeviceSpec spec;
  DeviceSpec fast = spec;
  fast.memory_gb_per_s *= 2;
  fast.h2d_gb_per_s *= 2;
  fast.d2h_gb_per_s *= 2;
  for (unsigned seed = 0; seed < 20; ++seed) {
    RandomRun run(spec, seed);
    run.steps(100);
    EXPECT_LE(run.log.priced(fast).end, run.log.priced(spec).end);
  }
}

nlohmann::json report(const std::string& text) { return nlohmann::json::parse(text); }

nlohmann::json kernel(const std::string& text, const std::string& name) {
  const nlohmann::json all = report(text);
  for (const nlohmann::json& row : all["kernels"])
    if (row["name"] == name) return row;
  return {};
}

/// A product that is divided over the cores, and an addition.
void run_program(Card& card) {
  card.record_timeline(true);
  Work product{.bytes_read = 2 * (512 * 4096 + 4096 * 4096),
               .bytes_written = 2 * 512 * 4096,
               .macs = 512ULL * 4096 * 4096,
               .pattern = Work::Pattern::Product,
               .rows = 512,
               .product = {.m = 512, .n = 4096, .k = 4096}};
  product = divided(product, card.spec().cores);
  for (const auto& [name, work] : {std::pair{"mm", product}, std::pair{"add", kLargeWork}}) {
    Operation operation = compute(1, [](auto, auto, Core&) {}, work);
    operation.name = name;
    card.enqueue(kDefault, std::move(operation), Urgency::Waited);
  }
  card.synchronize_all();
}

TEST(Report, SaysWhatTheTimeWentInto) {
  Card card(small_spec());
  run_program(card);
  const nlohmann::json all = report(card.report_json());
  ASSERT_EQ(all["kernels"].size(), 2U);
  EXPECT_EQ(all["kernels"][0]["name"], "add") << "the longest first";
  const nlohmann::json add = kernel(card.report_json(), "add");
  const nlohmann::json mm = kernel(card.report_json(), "mm");
  EXPECT_EQ(mm["bound"], "memory");
  EXPECT_EQ(mm["mark"], "M");
  EXPECT_NEAR(mm["total_us"], 304, 1);
  EXPECT_NEAR(mm["pt_utilisation"], 238.3 / 304, 0.01);
  EXPECT_LE(mm["attainment"], 1.0);
  EXPECT_EQ(add["macs"], 0);
  EXPECT_NEAR(all["roofline"]["ridge_ops_per_byte"], 480, 1);
  EXPECT_NEAR(all["pipelines"]["COMPUTE"]["busy_us"],
              mm["total_us"].get<double>() + add["total_us"].get<double>(), 1e-9);
  EXPECT_NEAR(all["bound"]["memory"], all["pipelines"]["COMPUTE"]["busy_us"], 1e-9);
}

TEST(Report, WhatIfPricesTheSameRunOnAnotherCard) {
  Card card(small_spec());
  run_program(card);
  EXPECT_EQ(card.report_json(), card.report_json(card.spec()));
  const auto mm_us = [&](const DeviceSpec& spec) {
    return kernel(card.report_json(spec), "mm")["total_us"].get<double>();
  };
  EXPECT_NEAR(mm_us(device_profile("datasheet")), 205, 1);
  DeviceSpec one_core = card.spec();
  one_core.cores = 1;
  EXPECT_NEAR(mm_us(one_core), 32 * 235.5, 5) << "divided anew, and bound by the matrix unit";
  EXPECT_EQ(card.counters().computes, 2U) << "nothing ran again";
}

TEST(Report, NothingRecordedIsAnEmptyReport) {
  const Card card(small_spec());
  EXPECT_EQ(report(card.report_json())["kernels"].size(), 0U);
}

}  // namespace
}  // namespace spyre::device_sim

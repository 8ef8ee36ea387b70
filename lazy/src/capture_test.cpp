// spyre/lazy/capture_test.cpp — a captured program runs at replays alone, and as it would have run.
#include "device_fixture.h"
#include "spyre/lazy/captured_graph.h"

namespace spyre::lazy {
namespace {

using Floats = std::vector<float>;
using Graph = std::unique_ptr<CapturedGraph>;

class CaptureTest : public DeviceFixture {
 protected:
  /// What `record` records, on a capture's stream.
  template <class Record> Graph capture(const Record& record) {
    const StreamId stream = device.begin_capture(kStream);
    record(stream);
    return device.end_capture(stream);
  }
  void replay(const Graph& graph, RandomShift random = {}) {
    device.replay(kStream, *graph, random);
  }
};

TEST_F(CaptureTest, RunsAtReplaysAlone) {
  const DeviceTensor x = tensor<float>({3}, {1, 2, 3}), y = empty({3});
  const Graph graph = capture([&](StreamId s) { apply("add", {in(x), number(1)}, y, s); });
  EXPECT_EQ(graph->nodes(), 1U);
  device.synchronize(kStream);
  EXPECT_EQ(device.stats().kernel_launches, 0U);
  EXPECT_THROW(read<float>(y), CaptureError);
  EXPECT_THROW(apply("add", {in(y), number(1)}, x), CaptureError);
  replay(graph);
  EXPECT_EQ(read<float>(y), (Floats{2, 3, 4}));
  EXPECT_EQ(device.stats().graph_replays, 1U);
}

TEST_F(CaptureTest, ReplaysSeeWhatItsInputsHoldThen) {
  const DeviceTensor x = tensor<float>({2}, {1, 2}), y = empty({2}),
                     sum = tensor<float>({2}, {0, 0});
  const Graph graph = capture([&](StreamId s) {
    apply("mul", {in(x), number(10)}, y, s);
    apply("add", {in(sum), in(y)}, sum, s);
  });
  replay(graph);
  apply("add", {in(x), number(1)}, x);  // recorded, and not launched, when the replay comes
  replay(graph);
  apply("neg", {in(y)}, x);
  EXPECT_EQ(read<float>(y), (Floats{20, 30}));
  EXPECT_EQ(read<float>(sum), (Floats{30, 50}));
  EXPECT_EQ(read<float>(x), (Floats{-20, -30}));
}

TEST_F(CaptureTest, WhatWasRecordedBeforeRunsBefore) {
  const DeviceTensor x = tensor<float>({2}, {1, 2}), y = empty({2});
  apply("add", {in(x), number(1)}, x);
  const Graph graph = capture([&](StreamId s) { apply("mul", {in(x), in(x)}, y, s); });
  replay(graph);
  EXPECT_EQ(read<float>(y), (Floats{4, 9}));
}

TEST_F(CaptureTest, KeepsWhatItReads) {
  const DeviceTensor y = empty({2});
  Graph graph;
  {
    const DeviceTensor x = tensor<float>({2}, {1, 2});
    graph = capture([&](StreamId s) { apply("add", {in(x), number(1)}, y, s); });
  }
  const DeviceTensor other = tensor<float>({2}, {7, 7});  // would take the memory, were it free
  replay(graph);
  EXPECT_EQ(read<float>(y), (Floats{2, 3}));
  EXPECT_EQ(read<float>(other), (Floats{7, 7}));
  EXPECT_EQ(device.owned().buffers.current, 3) << "the graph owns what it reads";
  graph.reset();
  EXPECT_EQ(device.owned().buffers.current, 2);
}

TEST_F(CaptureTest, NobodySeesIntermediates) {
  const DeviceTensor x = tensor<float>({1024}, Floats(1024, 2)), y = empty({1024});
  device.synchronize(kStream);
  const Graph graph = capture([&](StreamId s) {
    const DeviceTensor h = empty({1024});
    apply("add", {in(x), number(1)}, h, s);
    apply("mul", {in(h), in(h)}, y, s);
  });
  replay(graph);
  device.synchronize(kStream);
  EXPECT_EQ(device.stats().kernel_launches, 1U);
  EXPECT_EQ(device.stats().ops_fused, 2U);
  EXPECT_EQ(read<float>(y), Floats(1024, 9));
}

TEST_F(CaptureTest, ReplaysLookNothingUp) {
  const DeviceTensor x = tensor<float>({2}, {1, 2}), y = empty({2});
  const Graph graph = capture([&](StreamId s) { apply("add", {in(x), number(1)}, y, s); });
  device.prepare(*graph);
  const Stats before = device.stats();
  for (int i = 0; i < 20; ++i) replay(graph);
  const Stats after = device.stats();
  EXPECT_EQ(after.dispatches, before.dispatches);
  EXPECT_EQ(after.plan_cache.hits, before.plan_cache.hits);
  EXPECT_EQ(after.plan_cache.misses, before.plan_cache.misses);
  EXPECT_EQ(after.kernels_compiled, before.kernels_compiled);
  EXPECT_EQ(after.kernel_launches, before.kernel_launches + 20);
}

TEST_F(CaptureTest, OutlivesCachesAndSettings) {
  const DeviceTensor x = tensor<float>({2}, {1, 2}), y = empty({2});
  const Graph graph = capture([&](StreamId s) { apply("add", {in(x), number(1)}, y, s); });
  replay(graph);
  device.empty_cache();
  replay(graph);
  Settings other = device.settings();
  other.passes = "-fuse_pointwise";
  other.mode = Mode::Eager;
  device.configure(other);
  const std::uint64_t misses = device.stats().plan_cache.misses;
  replay(graph);
  EXPECT_EQ(device.stats().plan_cache.misses, misses + 1);
  EXPECT_EQ(read<float>(y), (Floats{2, 3}));
}

class LongCaptureTest : public CaptureTest {
 protected:
  LongCaptureTest() {
    Settings settings = device.settings();
    settings.max_nodes = 8;
    device.configure(settings);
  }
};

TEST_F(LongCaptureTest, LongProgramsAreSeveralTraces) {
  const DeviceTensor x = tensor<float>({2}, {1, 2}), y = empty({2});
  const Graph graph = capture([&](StreamId s) {
    DeviceTensor h = x;
    for (int i = 0; i < 37; ++i) {
      const DeviceTensor next = empty({2});
      apply("add", {in(h), number(1)}, next, s);
      h = next;
    }
    apply("add", {in(h), in(x)}, y, s);
  });
  EXPECT_EQ(graph->nodes(), 38U);
  EXPECT_THROW(read<float>(y), CaptureError);
  for (int i = 0; i < 3; ++i) {
    replay(graph);
    EXPECT_EQ(read<float>(y), (Floats{39, 41}));
  }
  EXPECT_EQ(device.stats().kernel_launches, 15U);
}

TEST_F(LongCaptureTest, AFullCardLosesOneTrace) {
  const std::int64_t large = (24 << 20) / 4;
  const DeviceTensor x = tensor<float>({2}, {1, 2}), y = empty({2});
  const StreamId s = device.begin_capture(kStream);
  std::vector<DeviceTensor> all;
  const auto fill = [&] {
    all.push_back(empty({large}));
    apply("cast", {number(1)}, all.back(), s);
  };
  EXPECT_THROW(for (int i = 0; i < 8; ++i) fill(), OutOfDeviceMemory);
  EXPECT_THROW(apply("neg", {in(all[0])}, all[1], s), OutOfDeviceMemory);
  apply("add", {in(x), number(1)}, y, s);
  const Graph graph = device.end_capture(s);
  EXPECT_EQ(graph->nodes(), 1U);
  replay(graph);
  EXPECT_EQ(read<float>(y), (Floats{2, 3}));
  EXPECT_THROW(read<float>(all[0]), OutOfDeviceMemory);
}

TEST_F(CaptureTest, RefusesWhatWouldHaveToRun) {
  const DeviceTensor x = tensor<float>({2}, {1, 2}), y = empty({2});
  const StreamId s = device.begin_capture(kStream);
  apply("add", {in(x), number(1)}, y, s);
  Floats host(2);
  auto* bytes = reinterpret_cast<std::byte*>(host.data());
  for (const DeviceTensor* t : {&x, &y}) {
    EXPECT_THROW(
        device.download(s, *t->buffer, {}, bytes, t->buffer->size(), FlushReason::DeviceToHost),
        CaptureError);
    EXPECT_THROW(device.upload(s, *t->buffer, {}, bytes, t->buffer->size(), true), CaptureError);
    EXPECT_THROW(device.host_address(s, *t->buffer, FlushReason::HostOp), CaptureError);
  }
  EXPECT_THROW(device.synchronize(s), CaptureError);
  EXPECT_THROW(device.flush(s, FlushReason::Event), CaptureError);
  EXPECT_THROW(device.record_event(s), CaptureError);
  EXPECT_THROW(device.begin_capture(s), CaptureError);
  EXPECT_THROW(apply("neg", {in(y)}, x), CaptureError) << "on another stream";
  apply("mul", {in(y), number(2)}, y, s);  // the capture goes on
  const Graph graph = device.end_capture(s);
  replay(graph);
  EXPECT_EQ(read<float>(y), (Floats{4, 6}));
}

TEST_F(CaptureTest, UploadsIntoNewTensorsAreConstants) {
  const DeviceTensor x = tensor<float>({2}, {1, 2}), y = empty({2});
  const Graph graph = capture([&](StreamId s) {
    const DeviceTensor constant = empty({2});
    const Floats values{10, 20};
    device.upload(s, *constant.buffer, {}, reinterpret_cast<const std::byte*>(values.data()),
                  constant.buffer->size(), true);
    apply("add", {in(x), in(constant)}, y, s);
  });
  for (int i = 0; i < 2; ++i) {
    replay(graph);
    EXPECT_EQ(read<float>(y), (Floats{11, 22}));
  }
}

TEST_F(CaptureTest, DroppedOnesComputeNothing) {
  const DeviceTensor x = tensor<float>({2}, {1, 2}), y = empty({2});
  const StreamId first = device.begin_capture(kStream);
  apply("add", {in(x), number(1)}, y, first);
  apply("add", {in(x), number(1)}, x, first);
  device.drop_capture(first);
  EXPECT_THROW(apply("add", {in(x), number(1)}, y, first), InvalidArgument);
  EXPECT_THROW(read<float>(y), CaptureError);
  EXPECT_EQ(read<float>(x), (Floats{1, 2}));
  const StreamId second = device.begin_capture(kStream);
  EXPECT_EQ(second, first) << "streams of captures serve again";
  apply("add", {in(x), number(5)}, y, second);
  const Graph graph = device.end_capture(second);
  replay(graph);
  EXPECT_EQ(read<float>(y), (Floats{6, 7}));
}

TEST_F(CaptureTest, TwoAtOnce) {
  const DeviceTensor x = tensor<float>({2}, {1, 2}), y = empty({2}), z = empty({2});
  const StreamId first = device.begin_capture(kStream), second = device.begin_capture(kStream);
  apply("add", {in(x), number(1)}, y, first);
  EXPECT_THROW(apply("neg", {in(y)}, z, second), CaptureError);
  apply("cast", {number(4)}, z, second);
  const Graph one = device.end_capture(first), two = device.end_capture(second);
  replay(two);
  replay(one);
  EXPECT_EQ(read<float>(y), (Floats{2, 3}));
  EXPECT_EQ(read<float>(z), (Floats{4, 4}));
}

TEST_F(CaptureTest, OneGoesOnWhereAnotherEnds) {
  const DeviceTensor x = tensor<float>({2}, {1, 2}), y = empty({2}), z = empty({2});
  const Graph first = capture([&](StreamId s) { apply("add", {in(x), number(1)}, y, s); });
  const Graph second = capture([&](StreamId s) { apply("mul", {in(y), number(2)}, z, s); });
  EXPECT_THROW(replay(second), CaptureError);
  EXPECT_THROW(read<float>(z), CaptureError);
  replay(first);
  replay(second);
  EXPECT_EQ(read<float>(z), (Floats{4, 6}));
}

TEST_F(CaptureTest, UpdatesOfWhatAnotherComputesComeAfterIt) {
  const DeviceTensor x = tensor<float>({2}, {1, 2}), y = empty({2}), z = empty({2});
  const Graph first = capture([&](StreamId s) { apply("add", {in(x), number(1)}, y, s); });
  const Graph second = capture([&](StreamId s) {
    apply("mul", {in(y), number(2)}, y, s);
    apply("neg", {in(y)}, z, s);
  });
  EXPECT_THROW(replay(second), CaptureError);
  EXPECT_THROW(read<float>(z), CaptureError);
  replay(first);
  replay(second);
  EXPECT_EQ(read<float>(z), (Floats{-4, -6}));
}

TEST_F(CaptureTest, OnAnotherStream) {
  const StreamId other = device.create_stream();
  const DeviceTensor x = tensor<float>({2}, {1, 2}), y = empty({2});
  const Graph graph = capture([&](StreamId s) { apply("add", {in(x), number(1)}, y, s); });
  apply("mul", {in(x), number(3)}, x);  // pending on the first stream
  device.replay(other, *graph, {});
  EXPECT_EQ(read<float>(y), (Floats{4, 7}));
}

TEST_F(CaptureTest, RandomNumbersMoveOn) {
  const auto draw = [&](const DeviceTensor& out, std::int64_t seed, std::int64_t offset,
                        StreamId s) {
    const Input inputs[]{Input::iota(0, out.strides.span()), Input::of_int(seed, DType::I64),
                         Input::of_int(offset, DType::I64)};
    device.record(s, Pointwise{kernels::op_named("random_bits"), DType::I64, DType::I64,
                               out.sizes.span(), inputs, out.view(), 0});
  };
  const DeviceTensor first = empty({5}, DType::I64), second = empty({5}, DType::I64),
                     expected = empty({5}, DType::I64);
  const Graph graph = capture([&](StreamId s) {
    draw(first, 7, 100, s);
    draw(second, 7, 101, s);
  });
  replay(graph, {.captured_seed = 7, .seed = 7, .offset = 0});
  draw(expected, 7, 101, kStream);
  EXPECT_EQ(read<std::int64_t>(second), read<std::int64_t>(expected));
  replay(graph, {.captured_seed = 7, .seed = 9, .offset = 40});
  draw(expected, 9, 141, kStream);
  EXPECT_EQ(read<std::int64_t>(second), read<std::int64_t>(expected));
  draw(expected, 9, 140, kStream);
  EXPECT_EQ(read<std::int64_t>(first), read<std::int64_t>(expected));
  replay(graph, {.captured_seed = 8, .seed = 9, .offset = 40});
  draw(expected, 7, 100, kStream);
  EXPECT_EQ(read<std::int64_t>(first), read<std::int64_t>(expected)) << "not the generator's seed";
}

TEST_F(CaptureTest, FaultsAreRaisedAtTheNextWait) {
  const DeviceTensor a = tensor<std::int32_t>({2}, {6, 7}), b = tensor<std::int32_t>({2}, {3, 0}),
                     q = empty({2}, DType::I32);
  const Graph graph = capture([&](StreamId s) {
    const Input inputs[]{in(a), in(b)};
    device.record(s, Pointwise{kernels::op_named("div_trunc"), DType::I32, DType::I32,
                               q.sizes.span(), inputs, q.view(), 0, true});
  });
  replay(graph);
  EXPECT_THROW(device.synchronize(kStream), Error);
  apply("add", {in(b), number(1, DType::I32)}, b);
  replay(graph);
  EXPECT_EQ(read<std::int32_t>(q), (std::vector<std::int32_t>{1, 7}));
}

TEST_F(CaptureTest, AFullCardEndsOneCaptureAlone) {
  const std::int64_t large = (24 << 20) / 4;
  const DeviceTensor x = empty({large});
  const Graph graph = capture([&](StreamId s) { apply("cast", {number(1)}, x, s); });
  replay(graph);
  device.synchronize(kStream);
  const StreamId s = device.begin_capture(kStream);
  const DeviceTensor second = empty({large}), third = empty({large});
  apply("cast", {number(2)}, second, s);
  apply("cast", {number(3)}, third, s);
  EXPECT_THROW(device.end_capture(s), OutOfDeviceMemory);
  device.drop_capture(s);
  EXPECT_THROW(device.synchronize(s), InvalidArgument);
  replay(graph);
  device.synchronize(kStream);
}

TEST_F(CaptureTest, EmptyOnesDoNothing) {
  const Graph graph = capture([](StreamId) {});
  EXPECT_TRUE(graph->empty());
  replay(graph);
  EXPECT_EQ(graph->text(), "");
}

TEST_F(CaptureTest, ReadsAsText) {
  const DeviceTensor x = tensor<float>({2}, {1, 2}), y = empty({2});
  const Graph graph = capture([&](StreamId s) { apply("add", {in(x), number(1)}, y, s); });
  EXPECT_NE(graph->text().find("add"), std::string::npos) << graph->text();
}

}  // namespace
}  // namespace spyre::lazy

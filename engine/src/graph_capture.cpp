// spyre/engine/graph_capture.cpp — torch.accelerator.Graph on this device: PyTorch's interface over captures.
#include "spyre/engine/graph_capture.h"

#include <c10/util/Exception.h>

#include <atomic>
#include <fstream>
#include <memory>

#include "spyre/engine/error_boundary.h"
#include "spyre/engine/generator.h"
#include "spyre/engine/guard.h"
#include "spyre/engine/runtime.h"
#include "spyre/lazy/captured_graph.h"

namespace spyre::engine {
namespace {

class Graph final : public at::GraphImplInterface {
 public:
  explicit Graph(const at::GraphImplArgs& arguments) : keep_graph_(arguments.keep_graph) {}
  ~Graph() override {
    if (capturing()) leave();
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void capture_begin(at::MempoolId_t pool, at::GraphCaptureMode) override {
    TORCH_CHECK(!capturing() && graph_ == nullptr,
                "capture_begin: this graph holds a program already; reset() it first");
    device_ = current_device();
    TORCH_CHECK(!is_capturing(device_),
                "capture_begin: this thread is capturing another graph; end that capture first");
    if (pool != at::MempoolId_t{}) pool_ = pool;
    stream_ = bounded([&] { return device().begin_capture(current_stream_on(device_)); });
    random_ = begin_capture_draws(device_, stream_);
    begin_capture_on(device_, stream_);
  }

  void capture_end() override {
    TORCH_CHECK(capturing(), "capture_end: there is no capture; call capture_begin() first");
    TORCH_CHECK(is_here(), "capture_end: the capture was begun by another thread; end it there");
    const PhiloxState end = end_capture_draws(device_, stream_);
    try {
      TORCH_CHECK(end.seed == random_.seed && end.offset >= random_.offset,
                  "capture_end: the random generator was seeded inside the capture, which no "
                  "replay could repeat; seed it before a replay");
      bounded([&] { graph_ = device().end_capture(stream_); });
    } catch (...) {
      abandon();
      throw;
    }
    end_capture_on(device_);
    stream_ = {};
    draws_ = end.offset - random_.offset;
    if (!keep_graph_) instantiate();
  }

  void instantiate() override {
    bounded([&] { device().prepare(program("instantiate")); });
  }

  void replay() override {
    lazy::CapturedGraph& graph = program("replay");
    TORCH_CHECK(!is_capturing(device_),
                "replay: a graph cannot become a part of the graph that is being captured");
    const PhiloxState now = reserve(std::nullopt, {c10::kPrivateUse1, device_}, draws_);
    bounded([&] {
      device().replay(
          current_stream_on(device_), graph,
          {.captured_seed = random_.seed, .seed = now.seed, .offset = now.offset - random_.offset});
    });
  }

  void reset() override {
    TORCH_CHECK(!capturing() || is_here(),
                "reset: the capture was begun by another thread; end it there");
    if (capturing()) leave();
    graph_.reset();
  }

  at::MempoolId_t pool() const override { return pool_; }

  void enable_debug_mode() override {}

  void debug_dump(const std::string& path) override {
    std::ofstream file(path);
    file << program("debug_dump").text();
    TORCH_CHECK(file.flush(), "debug_dump: cannot write ", path);
  }

 private:
  static at::MempoolId_t new_pool() {
    static std::atomic<at::CaptureId_t> made{0};
    return {0, ++made};
  }
  bool capturing() const { return stream_ != StreamId{}; }
  /// Whether the calling thread is the one whose work is captured.
  bool is_here() const { return current_stream_on(device_) == stream_; }
  lazy::Device& device() const { return Runtime::get().device(device_); }
  lazy::CapturedGraph& program(const char* asked) const {
    TORCH_CHECK(graph_ != nullptr, asked, ": nothing has been captured; capture a program first");
    return *graph_;
  }
  /// Ends a capture without a graph.
  void leave() {
    end_capture_draws(device_, stream_);
    abandon();
  }
  void abandon() {
    device().drop_capture(stream_);
    if (is_here()) end_capture_on(device_);
    stream_ = {};
  }

  bool keep_graph_;
  at::MempoolId_t pool_ = new_pool();
  c10::DeviceIndex device_ = 0;
  StreamId stream_{};  // of the capture in progress
  std::unique_ptr<lazy::CapturedGraph> graph_;
  PhiloxState random_;  // when the capture began
  std::uint64_t draws_ = 0;
};

}  // namespace

std::unique_ptr<at::GraphImplInterface> make_graph(const at::GraphImplArgs& arguments) {
  return std::make_unique<Graph>(arguments);
}

}  // namespace spyre::engine

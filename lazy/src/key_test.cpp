// spyre/lazy/key_test.cpp — law 4: what may change a plan is in the key, what may not is not.
#include "spyre/lazy/key.h"

#include <functional>
#include <set>

#include "device_fixture.h"

namespace spyre::lazy {
namespace {

class KeyTest : public DeviceFixture {
 protected:
  /// One pointwise node, described by fields that tests change one at a time.
  struct Program {
    std::string_view op = "mul";
    DType compute = DType::F32, result = DType::F32;
    Dims sizes{4, 8}, strides{8, 1}, out_strides{8, 1};
    std::int64_t offset = 0;
    double scalar = 2;
    bool scalar_input = false, same_input = false, counter = false;
    bool keep_input = true, keep_output = true, input_has_memory = true;
    std::uint64_t output_bytes = 4096;
    bool interleaved = false;
    std::string_view settings = "s";
    std::uint32_t source = 0;
  };

  static std::string text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  using Settings = std::span<const std::byte>;

  /// Calls `use` with the program's trace and settings at the moment of its flush.
  template <class Use> auto recorded(const Program& p, const Use& use) {
    const std::vector<float> zeros(1024);
    BufferRef a = device.create_buffer(4_KiB), b = device.create_buffer(4_KiB), out;
    if (p.interleaved) device.exchange_directive({device_sim::MemoryPolicy::Interleave});
    out = device.create_buffer({p.output_bytes});
    device.exchange_directive({});
    for (const BufferRef* x : {&a, &b})
      if (p.input_has_memory)
        device.upload(kStream, **x, {}, reinterpret_cast<const std::byte*>(zeros.data()), 4_KiB,
                      true);
    const View first{a.get(), p.compute, p.offset, p.strides.span()};
    const View second{p.same_input ? a.get() : b.get(), p.compute, 0, p.strides.span()};
    Input inputs[]{Input::of(first), Input::of(second)};
    if (p.scalar_input) inputs[1] = number(p.scalar);
    if (p.counter) inputs[1] = Input::iota(static_cast<std::int64_t>(p.scalar), p.strides.span());
    Trace trace(kStream);
    trace.append(Pointwise{kernels::op_named(p.op), p.compute, p.result, p.sizes.span(), inputs,
                           View{out.get(), p.result, 0, p.out_strides.span()}, p.source});
    if (!p.keep_input) a = {};
    if (!p.keep_output) out = {};
    return use(trace, std::as_bytes(std::span(p.settings)));
  }

  std::string key(const Program& p) {
    return recorded(p, [&](const Trace& trace, Settings settings) {
      std::vector<BufferFacts> facts;
      collect_facts(trace, facts);
      return text(builder_.build(trace, facts, settings));
    });
  }

  bool has_key(const Program& p, const std::string& key) {
    return recorded(p, [&](const Trace& trace, Settings settings) {
      return KeyBuilder::is_key(std::as_bytes(std::span(key)), trace, settings);
    });
  }

  KeyBuilder builder_;
};

TEST_F(KeyTest, EveryFieldThatMattersChangesTheKey) {
  const std::vector<std::function<void(Program&)>> changes{
      [](Program& p) { p.op = "div"; },           [](Program& p) { p.interleaved = true; },
      [](Program& p) { p.compute = DType::I32; }, [](Program& p) { p.result = DType::F64; },
      [](Program& p) { p.sizes = {8, 4}; },       [](Program& p) { p.strides = {1, 4}; },
      [](Program& p) { p.out_strides = {1, 4}; }, [](Program& p) { p.offset = 3; },
      [](Program& p) { p.scalar_input = true; },  [](Program& p) { p.same_input = true; },
      [](Program& p) { p.counter = true; },       [](Program& p) { p.keep_input = false; },
      [](Program& p) { p.keep_output = false; },  [](Program& p) { p.input_has_memory = false; },
      [](Program& p) { p.output_bytes = 8192; },  [](Program& p) { p.settings = "t"; },
  };
  const std::string first = key({});
  std::set<std::string> keys{first};
  EXPECT_TRUE(has_key({}, first));
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Program p;
    changes[i](p);
    EXPECT_TRUE(keys.insert(key(p)).second) << "change " << i << " is not in the key";
    EXPECT_FALSE(has_key(p, first)) << "change " << i << " is not compared";
    EXPECT_TRUE(has_key(p, key(p)));
  }
}

TEST_F(KeyTest, ScalarsCountersAddressesAndLinesAreNot) {
  EXPECT_EQ(key({}), key({}));  // other buffers
  EXPECT_EQ(key({.scalar = 1, .scalar_input = true}), key({.scalar = 9, .scalar_input = true}));
  EXPECT_EQ(key({.scalar = 1, .counter = true}), key({.scalar = 9, .counter = true}));
  EXPECT_EQ(key({}), key({.source = 17}));
}

TEST_F(KeyTest, LibraryKeysAndShapesCount) {
  class Nothing final : public kernels::LibraryCall {
   public:
    std::string_view name() const override { return "nothing"; }
    void run(std::span<const kernels::DeviceView>, std::int64_t, std::int64_t,
             std::span<std::byte>) const override {}
    kernels::LibraryCost cost() const override { return {}; }
  };
  const auto call = std::make_shared<const Nothing>();
  const auto key_of = [&](std::string_view name, char attribute, std::uint8_t code,
                          const Dims& sizes) {
    const BufferRef a = device.create_buffer(4_KiB), out = device.create_buffer(4_KiB);
    const std::byte bytes[1]{static_cast<std::byte>(attribute)};
    const Dims strides = contiguous_strides(sizes);
    const LibraryOperand in{a.get(), 4, code, 0, sizes.span(), strides.span()};
    const LibraryOperand to{out.get(), 4, code, 0, sizes.span(), strides.span()};
    Trace trace(kStream);
    trace.append(Library{.name = name,
                         .key = bytes,
                         .make = nullptr,
                         .context = nullptr,
                         .inputs = {&in, 1},
                         .outputs = {&to, 1},
                         .source = 0},
                 call);
    std::vector<BufferFacts> facts;
    collect_facts(trace, facts);
    return text(builder_.build(trace, facts, {}));
  };
  const auto base = key_of("mm", 'a', 6, {4, 4});
  EXPECT_EQ(base, key_of("mm", 'a', 6, {4, 4}));
  EXPECT_NE(base, key_of("bmm", 'a', 6, {4, 4}));
  EXPECT_NE(base, key_of("mm", 'b', 6, {4, 4}));
  EXPECT_NE(base, key_of("mm", 'a', 7, {4, 4}));
  EXPECT_NE(base, key_of("mm", 'a', 6, {2, 8}));
}

}  // namespace
}  // namespace spyre::lazy

// spyre/lazy/images.cpp — copies between sticks and images are recorded like any other node.
#include "images.h"

#include <algorithm>
#include <utility>

#include "buffer_access.h"
#include "device_state.h"
#include "spyre/device_sim/joint_nest.h"
#include "tiled_content.h"

namespace spyre::lazy {

bool has_tiled(const Reduce& op) {
  return op.input.buffer->is_tiled() || op.output.buffer->is_tiled();
}

bool has_tiled(const Library& op) {
  const auto tiled = [](const LibraryOperand& operand) { return operand.buffer->is_tiled(); };
  return std::ranges::any_of(op.inputs, tiled) || std::ranges::any_of(op.outputs, tiled);
}

namespace {

/// More pieces than this cost more than an image.
constexpr std::size_t kMostNests = 8;

/// Where an operand's elements are, index by index; nullopt if its view does not follow its tiles.
std::optional<device_sim::TiledWindow> arrangement_of(const View& view, const Dims& sizes) {
  const Dims strides(view.strides);
  const Tiled* tiled = view.buffer == nullptr ? nullptr : view.buffer->tiled();
  if (tiled == nullptr)
    return device_sim::TiledWindow{device_sim::Tiling::strided({sizes, strides}), view.offset};
  if (size_of(view.dtype) != size_of(tiled->element())) return std::nullopt;
  const auto whole = device_sim::Tiling::of(tiled->layout(), tiled->shape());
  if (!whole || !whole->repeats().empty()) return std::nullopt;
  return whole->window(tiled->shape(), {sizes, strides, view.offset});
}

OpId copy_op() {
  static const OpId copy = kernels::op_named("cast");
  return copy;
}

/// A restickify: the same elements in other sticks.
bool changes_layout(const Pointwise& op) {
  if (op.op != copy_op() || op.inputs[0].kind != Input::Kind::View) return false;
  const Tiled *from = op.inputs[0].view.buffer->tiled(), *to = op.output.buffer->tiled();
  return from != nullptr && to != nullptr && from->layout() != to->layout();
}

/// The views of one operation, the output's first: its arrangements and where they begin.
struct Arrangements {
  std::vector<device_sim::Tiling> tilings;
  std::vector<std::int64_t> offsets;

  bool add(const View& view, const Dims& sizes) {
    auto found = arrangement_of(view, sizes);
    if (!found) return false;
    tilings.push_back(std::move(found->tiling));
    offsets.push_back(found->offset);
    return true;
  }
};

}  // namespace

bool Images::record_on_sticks(const Pointwise& op) {
  const Dims sizes(op.sizes);
  Arrangements all;
  if (!all.add(op.output, sizes)) return false;
  for (const Input& input : op.inputs)
    if (input.kind != Input::Kind::Scalar && !all.add(input.view, sizes)) return false;
  const auto nests = device_sim::joint_nests(all.tilings);
  if (!nests || nests->size() > kMostNests) return false;
  for (const device_sim::JointNest& nest : *nests) {
    std::size_t at = 0;
    const auto place = [&](View view) {
      if (view.buffer != nullptr) view.buffer = &sticks_of(*view.buffer);
      view.offset = all.offsets[at] + nest.offsets[at];
      view.strides = nest.strides[at++].span();
      return view;
    };
    Pointwise piece = op;
    piece.sizes = nest.sizes.span();
    piece.output = place(op.output);
    std::vector<Input> inputs(op.inputs.begin(), op.inputs.end());
    for (Input& input : inputs) {
      if (input.kind == Input::Kind::Scalar) continue;
      input.view = place(input.view);
      if (input.kind == Input::Kind::Iota)
        input.bits += static_cast<std::uint64_t>(std::exchange(input.view.offset, 0));
    }
    piece.inputs = inputs;
    device_.record(stream_, piece);
  }
  return true;
}

void Images::copy(const std::vector<device_sim::CopyNest>& nests, DType element, Buffer& from,
                  Buffer& to) {
  for (const device_sim::CopyNest& nest : nests) {
    const Input input = Input::of({&from, element, nest.source_offset, nest.source_strides.span()});
    const View output{&to, element, nest.target_offset, nest.target_strides.span()};
    device_.record(stream_, Pointwise{.op = copy_op(),
                                      .compute = element,
                                      .result = element,
                                      .sizes = nest.sizes.span(),
                                      .inputs = {&input, 1},
                                      .output = output});
  }
  count_relayout();
}

void Images::count_relayout() {
  Device::State& d = *device_.state_;
  const Lock lock(d.mutex);
  ++d.counted.relayouts;
}

Buffer& Images::sticks_of(Buffer& buffer) {
  if (!buffer.is_tiled()) return buffer;
  TiledContent& content = *BufferAccess::tiled(buffer);
  BufferRef lent;
  {
    const Lock lock(device_.state_->mutex);
    std::swap(lent, content.lent);
  }
  if (lent) copy(content.tiled.from_image(), content.tiled.element(), *lent, *content.sticks);
  return *content.sticks;
}

Buffer& Images::of(Buffer& buffer, bool written) {
  if (!buffer.is_tiled()) return buffer;
  const auto known = std::ranges::find(images_, &buffer, &Image::tiled);
  if (known != images_.end()) {
    known->written = known->written || written;
    return *known->plain;
  }
  images_.push_back({&buffer, device_.create_buffer(buffer.size()), written});
  Buffer& plain = *images_.back().plain;
  copy(buffer.tiled()->to_image(), buffer.tiled()->element(), sticks_of(buffer), plain);
  return plain;
}

View Images::of(View view, bool written) {
  view.buffer = &of(*view.buffer, written);
  return view;
}

std::vector<LibraryOperand> Images::of(std::span<const LibraryOperand> operands, bool written) {
  std::vector<LibraryOperand> plain(operands.begin(), operands.end());
  for (LibraryOperand& operand : plain) operand.buffer = &of(*operand.buffer, written);
  return plain;
}

void Images::store() {
  for (const Image& image : images_) {
    const Tiled& tiled = *image.tiled->tiled();
    if (image.written)
      copy(tiled.from_image(), tiled.element(), *image.plain, sticks_of(*image.tiled));
  }
}

void Images::record(const Pointwise& op) {
  if (record_on_sticks(op)) {
    if (changes_layout(op)) count_relayout();
    return;
  }
  std::vector<Input> inputs(op.inputs.begin(), op.inputs.end());
  for (Input& input : inputs)
    if (input.kind == Input::Kind::View) input.view = of(input.view, false);
  Pointwise plain = op;
  plain.inputs = inputs;
  plain.output = of(op.output, true);
  device_.record(stream_, plain);
  store();
}

void Images::record(const PreparedPointwise& op, std::span<const PreparedOperand> inputs,
                    const PreparedOperand& output, std::uint32_t source) {
  const std::vector<Input> described = op.described(inputs);
  record(op.described(described, output, source));
}

void Images::record(const Reduce& op) {
  Reduce plain = op;
  plain.input = of(op.input, false);
  plain.output = of(op.output, true);
  device_.record(stream_, plain);
  store();
}

void Images::record(const Library& op) {
  const std::vector<LibraryOperand> inputs = of(op.inputs, false), outputs = of(op.outputs, true);
  Library plain = op;
  plain.inputs = inputs;
  plain.outputs = outputs;
  device_.record(stream_, plain);
  store();
}

void Images::upload(Buffer& target, Bytes offset, const std::byte* source, Bytes length,
                    bool blocking, std::shared_ptr<const void> keep_alive) {
  TiledContent& content = *BufferAccess::tiled(target);
  if (length != content.tiled.image_bytes()) {
    device_.upload(stream_, of(target, true), offset, source, length, blocking,
                   std::move(keep_alive));
    return store();
  }
  {
    const Lock lock(device_.state_->mutex);
    content.lent = {};
  }
  const Bytes size = content.sticks->size();
  auto sticks = std::make_shared<std::vector<std::byte>>(size.count);
  const std::byte* bytes = sticks->data();
  content.tiled.tile(source, sticks->data());
  device_.upload(stream_, *content.sticks, {}, bytes, size, blocking, std::move(sticks));
}

void Images::download(Buffer& source, Bytes offset, std::byte* target, Bytes length,
                      FlushReason reason, bool blocking, std::shared_ptr<const void> keep_alive) {
  const Tiled& tiled = *source.tiled();
  if (length != tiled.image_bytes() || !blocking)
    return device_.download(stream_, of(source, false), offset, target, length, reason, blocking,
                            std::move(keep_alive));
  Buffer& from = sticks_of(source);
  std::vector<std::byte> sticks(from.size().count);
  device_.download(stream_, from, {}, sticks.data(), from.size(), reason);
  tiled.untile(sticks.data(), target);
}

std::byte* Images::host_address(Buffer& buffer, FlushReason reason) {
  std::byte* address = device_.host_address(stream_, of(buffer, false), reason);
  const Lock lock(device_.state_->mutex);
  BufferAccess::tiled(buffer)->lent = images_.back().plain;
  return address;
}

}  // namespace spyre::lazy

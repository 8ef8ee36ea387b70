// spyre/lazy/images.h — operations on tiled buffers: on their sticks where all operands are cut alike, else on images.
#pragma once
#include <memory>
#include <vector>

#include "spyre/device_sim/copy_nest.h"
#include "spyre/lazy/device.h"

namespace spyre::lazy {

bool has_tiled(const Reduce& op);
bool has_tiled(const Library& op);

/// One operation in terms of ordinary buffers: of the sticks themselves, or of images, with recorded
/// copies out of the sticks before it and, of what it writes, back into them after it. Images are
/// dead to the planner as soon as the operation has used them, so a copy whose values nobody needs
/// is never made. Holds no lock between records. Confined to one call.
class Images {
 public:
  Images(Device& device, StreamId stream) : device_(device), stream_(stream) {}

  /// Without images if the operands' views follow their tiles: then the operation is recorded once
  /// per joint nest, with the strides of the device's dimensions.
  void record(const Pointwise& op);
  void record(const PreparedPointwise& op, std::span<const PreparedOperand> inputs,
              const PreparedOperand& output, std::uint32_t source);
  void record(const Reduce& op);
  void record(const Library& op);

  // Transfers of a whole image are arranged on the host, as the card's driver does; parts of it go
  // through an image on the card.
  void upload(Buffer& target, Bytes offset, const std::byte* source, Bytes length, bool blocking,
              std::shared_ptr<const void> keep_alive);
  void download(Buffer& source, Bytes offset, std::byte* target, Bytes length, FlushReason reason,
                bool blocking, std::shared_ptr<const void> keep_alive);
  /// An image's, which is brought back before the buffer is next used.
  std::byte* host_address(Buffer& buffer, FlushReason reason);

 private:
  struct Image {
    Buffer* tiled;
    BufferRef plain;
    bool written;
  };
  bool record_on_sticks(const Pointwise& op);
  /// The buffer's image; an ordinary buffer is its own.
  Buffer& of(Buffer& buffer, bool written);
  View of(View view, bool written);
  std::vector<LibraryOperand> of(std::span<const LibraryOperand> operands, bool written);
  /// Brings the written ones back into their sticks.
  void store();
  /// Where the elements are, once what the host was lent is back; an ordinary buffer is its own.
  Buffer& sticks_of(Buffer& buffer);
  void count_relayout();
  void copy(const std::vector<device_sim::CopyNest>& nests, DType element, Buffer& from,
            Buffer& to);

  Device& device_;
  StreamId stream_;
  std::vector<Image> images_;
};

}  // namespace spyre::lazy

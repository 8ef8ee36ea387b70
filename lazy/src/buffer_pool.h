// spyre/lazy/buffer_pool.h — buffer objects that serve again: recording makes none in a steady loop.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <span>

#include "spyre/lazy/buffer.h"
#include "spyre/lazy/trace.h"

namespace spyre::lazy {

/// What becomes of the mark of a buffer that ends for good.
using MarkEnd = std::function<void(std::uintptr_t mark, Bytes size)>;

/// Unused buffers in a list per size class. They come back from any thread, without a lock: into
/// one list, which the taker sorts when it runs out. Everything but the coming back is guarded by
/// the device's lock.
class BufferPool {
 public:
  static constexpr std::size_t kRetained = 16384;  // objects; what is beyond ends

  explicit BufferPool(Device& device) : device_(device) {}
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  /// A buffer of that size without memory, with one outside owner, to be placed by a directive.
  Buffer& take(Bytes size, std::uint16_t directive = 0);
  void set_mark_end(MarkEnd end) { mark_end_ = std::move(end); }
  /// Objects made since the start.
  std::uint64_t made() const { return made_; }

  /// A buffer that nobody refers to. Any thread.
  void give_back(Buffer& buffer) noexcept;
  /// Drops one reference of each; those that nobody refers to now come back together. Any thread.
  void drop_references(std::span<const BufferUse> uses) noexcept;

 private:
  void give_back(Buffer* first, Buffer& last) noexcept;
  /// Without memory and history.
  void clean(Buffer& buffer) noexcept;
  void drop_memory(Buffer& buffer) noexcept;
  void sort_returned();
  void end(Buffer& buffer);

  Device& device_;
  std::array<Buffer*, Buffer::kClasses> free_{};
  std::size_t retained_ = 0;  // in free_
  std::uint64_t made_ = 0;
  MarkEnd mark_end_;
  std::atomic<Buffer*> returned_{nullptr};
};

}  // namespace spyre::lazy

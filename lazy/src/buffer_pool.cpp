// spyre/lazy/buffer_pool.cpp — taken from a list, returned by one exchange.
#include "buffer_pool.h"

#include "spyre/lazy/device.h"
#include "tiled_content.h"

namespace spyre::lazy {

BufferPool::~BufferPool() {
  sort_returned();
  for (Buffer*& list : free_)
    while (list != nullptr) delete std::exchange(list, list->next_);
}

Buffer& BufferPool::take(Bytes size, std::uint16_t directive) {
  Buffer*& list = free_[Buffer::size_class(size)];
  if (list == nullptr) sort_returned();
  Buffer* buffer = list;
  if (buffer != nullptr) {
    list = buffer->next_;
    --retained_;
    buffer->size_ = size;
  } else {
    buffer = new Buffer(device_, size);
    ++made_;
  }
  buffer->directive_ = directive;
  buffer->owners_.store(Buffer::kOutside + 1, std::memory_order_relaxed);
  return *buffer;
}

void BufferPool::sort_returned() {
  Buffer* buffer = returned_.exchange(nullptr, std::memory_order_acquire);
  while (buffer != nullptr) {
    Buffer* const next = buffer->next_;
    if (retained_ == kRetained) {
      end(*buffer);
    } else {
      Buffer*& list = free_[Buffer::size_class(buffer->size_)];
      buffer->next_ = list;
      list = buffer;
      ++retained_;
    }
    buffer = next;
  }
}

void BufferPool::end(Buffer& buffer) {
  if (buffer.mark_ != 0 && mark_end_) mark_end_(buffer.mark_, buffer.size_);
  delete &buffer;
}

// Nobody else can reach the buffer, so no lock is needed; the card has its own.
inline void BufferPool::clean(Buffer& buffer) noexcept {
  if (!buffer.memory_.empty()) [[unlikely]]
    drop_memory(buffer);  // most are promised, and never needed
  buffer.trace_serial_ = 0;
  buffer.spoiled_.store(Spoiled::No, std::memory_order_relaxed);
}

void BufferPool::drop_memory(Buffer& buffer) noexcept {
  device_.card().free(std::exchange(buffer.memory_, device_sim::Allocation{}));
}

void BufferPool::give_back(Buffer& buffer) noexcept {
  buffer.tiled_.reset();  // its sticks come back as buffers of their own
  clean(buffer);
  give_back(&buffer, buffer);
}

void BufferPool::drop_references(std::span<const BufferUse> uses) noexcept {
  Buffer *first = nullptr, *last = nullptr;
  for (const BufferUse& use : uses) {  // no trace has a tiled buffer
    if (!use.buffer->release_reference()) continue;
    clean(*use.buffer);
    if (last == nullptr) last = use.buffer;
    use.buffer->next_ = first;
    first = use.buffer;
  }
  if (first != nullptr) give_back(first, *last);
}

void BufferPool::give_back(Buffer* first, Buffer& last) noexcept {
  last.next_ = returned_.load(std::memory_order_relaxed);
  while (!returned_.compare_exchange_weak(last.next_, first, std::memory_order_release,
                                          std::memory_order_relaxed)) {}
}

}  // namespace spyre::lazy

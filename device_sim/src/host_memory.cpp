// spyre/device_sim/host_memory.cpp — mmap and madvise.
#include "host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <utility>

#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre::device_sim {

HostMapping::HostMapping(Bytes length, Pages pages) : mapped_(length + kHugePage), length_(length) {
  mapping_ = mmap(nullptr, mapped_.count, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping_ == MAP_FAILED)
    throw OutOfDeviceMemory(str("device memory: the host has no address space for ", length,
                                "; try a smaller SPYRE_DEVICE_MEMORY"));
  const auto begin = Bytes{std::bit_cast<std::uintptr_t>(mapping_)};
  data_ = static_cast<std::byte*>(mapping_) + (begin.rounded_up(kHugePage) - begin).count;
  // A hint: either works.
  madvise(data_, length_.count, pages == Pages::Huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

HostMapping::HostMapping(HostMapping&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      mapped_(other.mapped_),
      length_(other.length_),
      data_(other.data_) {}

HostMapping::~HostMapping() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_.count);
}

void HostMapping::discard(Bytes offset, Bytes length) const {
  madvise(data_ + offset.count, length.count, MADV_DONTNEED);
}

Bytes machine_memory() {
  const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  Bytes memory{pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))};
  std::uint64_t limit = 0;
  if (std::ifstream group("/sys/fs/cgroup/memory.max"); group >> limit)
    memory = std::min(memory, Bytes{limit});
  return memory;
}

}  // namespace spyre::device_sim

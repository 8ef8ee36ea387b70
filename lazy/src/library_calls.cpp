// spyre/lazy/library_calls.cpp — builds the key of a call into the same bytes each time.
#include "library_calls.h"

#include <cstring>

#include "spyre/base/error.h"

namespace spyre::lazy {
namespace {

constexpr Bytes kCallBytes{512};  // about what a call object takes

template <class T> void put(std::vector<std::byte>& key, std::span<const T> values) {
  const std::size_t at = key.size();
  key.resize(at + values.size_bytes());
  if (!values.empty()) std::memcpy(key.data() + at, values.data(), values.size_bytes());
}

}  // namespace

void LibraryCalls::build_key(const Library& op) {
  key_.clear();
  const std::uint64_t counts[]{op.name.size(), op.key.size(), op.inputs.size(), op.outputs.size()};
  put(key_, std::span<const std::uint64_t>(counts));
  put(key_, std::span<const char>(op.name));
  put(key_, op.key);
  for (const auto operands : {op.inputs, op.outputs})
    for (const LibraryOperand& operand : operands) {
      const std::uint64_t header = operand.element_size | std::uint64_t{operand.type_code} << 8 |
                                   static_cast<std::uint64_t>(operand.sizes.size()) << 16;
      put(key_, std::span<const std::uint64_t>(&header, 1));
      put(key_, operand.sizes);
      put(key_, operand.strides);
    }
}

std::shared_ptr<const kernels::LibraryCall> LibraryCalls::find_or_make(const Library& op,
                                                                       Retired& retired) {
  build_key(op);
  if (auto known = calls_.find(key_)) return known;
  auto call = op.make(op.context);
  ensure(call != nullptr, "a library operation makes its call");
  calls_.insert(key_, call, kCallBytes, retired);
  return call;
}

}  // namespace spyre::lazy

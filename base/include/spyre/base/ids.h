// spyre/base/ids.h — integers that cannot be mistaken for one another.
#pragma once
#include <compare>
#include <cstdint>
#include <functional>
#include <ostream>

namespace spyre {

/// An identifier of one kind of thing. Ids of different tags do not convert.
template <class Tag, class Rep = std::uint32_t> struct Id {
  Rep value{};
  auto operator<=>(const Id&) const = default;
  friend std::ostream& operator<<(std::ostream& out, Id id) { return out << +id.value; }
};

using DeviceId = Id<struct DeviceTag, std::uint8_t>;
using StreamId = Id<struct StreamTag>;
using CoreId = Id<struct CoreTag, std::uint16_t>;
using RegionId = Id<struct RegionTag, std::uint16_t>;
using OpId = Id<struct OpTag, std::uint16_t>;

}  // namespace spyre

template <class Tag, class Rep> struct std::hash<spyre::Id<Tag, Rep>> {
  std::size_t operator()(spyre::Id<Tag, Rep> id) const noexcept {
    return std::hash<Rep>{}(id.value);
  }
};

// spyre/base/bytes.cpp — prints amounts of memory.
#include "spyre/base/bytes.h"

#include <array>
#include <iomanip>
#include <string_view>

#include "spyre/base/text.h"

namespace spyre {

std::ostream& operator<<(std::ostream& out, Bytes bytes) {
  constexpr std::array<std::string_view, 5> kUnits{"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes.count < 1024) return out << bytes.count << " B";
  double amount = static_cast<double>(bytes.count) / 1024;
  std::size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < kUnits.size(); ++unit) amount /= 1024;
  std::ostringstream text;  // the caller's number format stays as it was
  text << std::fixed << std::setprecision(2) << amount << ' ' << kUnits[unit];
  return out << text.str();
}

}  // namespace spyre

// spyre/base/text.h — builds a message from parts: str("add: got ", shape).
#pragma once
#include <sstream>
#include <string>

namespace spyre {

/// Streams every part into one string. For messages, never for hot paths.
template <class... Parts> std::string str(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

}  // namespace spyre

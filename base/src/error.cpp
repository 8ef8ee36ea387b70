// spyre/base/error.cpp — reports a broken invariant with its place.
#include "spyre/base/error.h"

#include "spyre/base/text.h"

namespace spyre {
namespace {

/// The path from the layer's folder on: messages do not depend on where the tree was built.
std::string_view place_in_tree(std::string_view path) {
  const std::size_t source = path.rfind("/src/");
  const std::size_t include = path.rfind("/include/");
  const std::size_t anchor = source != path.npos ? source : include;
  if (anchor == path.npos || anchor == 0) return path;
  const std::size_t layer = path.rfind('/', anchor - 1);
  return layer == path.npos ? path : path.substr(layer + 1);
}

}  // namespace

void fail_ensure(const char* what_always_holds, std::source_location where) {
  throw InternalError(str("internal error: broken invariant: ", what_always_holds, " (",
                          place_in_tree(where.file_name()), ":", where.line(), ")"));
}

}  // namespace spyre

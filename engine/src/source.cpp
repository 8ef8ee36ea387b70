// spyre/engine/source.cpp — one provider per process, set once when the module loads.
#include "spyre/engine/source.h"

#include "spyre/engine/tensor.h"

namespace spyre::engine {
namespace {

SourceProvider& provider() {
  static SourceProvider instance;
  return instance;
}

}  // namespace

void set_source_provider(SourceProvider replacement) { provider() = replacement; }

std::uint32_t current_source() { return provider().current != nullptr ? provider().current() : 0; }

std::string describe_source(std::uint32_t source) {
  return source != 0 && provider().describe != nullptr ? provider().describe(source)
                                                       : std::string();
}

}  // namespace spyre::engine

// spyre/engine/schema_shapes.h — the geometry of an operator's results, from PyTorch's own rules, remembered.
#pragma once
#include <c10/core/ScalarType.h>
#include <c10/util/DimVector.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "schema_arguments.h"
#include "spyre/base/mutex.h"
#include "spyre/engine/schema_library.h"

namespace spyre::engine {

/// Geometry of one result. An operator may give no tensor at all (masked-out gradients).
struct ResultGeometry {
  bool defined = true;
  c10::DimVector sizes, strides;
  c10::ScalarType type{};

  /// Of a dense tensor: as long as `count` along dimension 0, which stays the outermost or the innermost in memory.
  void lengthen(std::int64_t count);
};
using ResultGeometries = std::vector<ResultGeometry>;

/// Bounded; internally synchronized.
class SchemaShapes {
 public:
  /// Raises what CPU would raise for these arguments: the first call of its kind is tried on zeros on the CPU, so that
  /// types that the CPU kernel lacks are refused here and not when the operation runs. The same for each call that
  /// writes memory which it shares with another argument or itself.
  /// `rule`: the operator's own, if it has one. `counted`: the results' lengths are yet to be read from data.
  std::shared_ptr<const ResultGeometries> results(const c10::OperatorHandle& op,
                                                  const SchemaArguments& call, ShapeRule rule,
                                                  bool counted) SPYRE_EXCLUDES(mutex_);

 private:
  static constexpr std::size_t kCapacity = 4096;
  Mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const ResultGeometries>> known_
      SPYRE_GUARDED_BY(mutex_);
  std::unordered_map<std::string, bool> tried_ SPYRE_GUARDED_BY(mutex_);
};

/// A rule for operators that go element by element: operands broadcast, and one element on the CPU tells the type.
void shapes_of_elements(const c10::OperatorHandle& op, torch::jit::Stack& stack);

}  // namespace spyre::engine

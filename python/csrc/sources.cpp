// python/csrc/sources.cpp — the user's Python line, interned: asked for only when an op is recorded that can fault.
#include <pybind11/pybind11.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bindings.h"
#include "spyre/base/mutex.h"
#include "spyre/base/text.h"
#include "spyre/engine/source.h"

namespace spyre::python {
namespace {

namespace py = pybind11;

/// Numbers from 1, in the order lines were seen; full tables forget new lines. Internally synchronized.
class Lines {
 public:
  std::uint32_t number_of(std::string line) SPYRE_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    const auto known = numbers_.find(line);
    if (known != numbers_.end()) return known->second;
    if (lines_.size() == kMost) return 0;
    lines_.push_back(line);
    const auto number = static_cast<std::uint32_t>(lines_.size());
    numbers_.emplace(std::move(line), number);
    return number;
  }
  std::string text_of(std::uint32_t number) const SPYRE_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    return number == 0 || number > lines_.size() ? std::string() : lines_[number - 1];
  }

 private:
  static constexpr std::size_t kMost = 65536;
  mutable Mutex mutex_;
  std::unordered_map<std::string, std::uint32_t> numbers_ SPYRE_GUARDED_BY(mutex_);
  std::vector<std::string> lines_ SPYRE_GUARDED_BY(mutex_);
};

Lines& lines() {
  static auto* instance = new Lines;  // faults are described until the process ends
  return *instance;
}

using Frame = py::object;

Frame outer(const Frame& frame) {
  return py::reinterpret_steal<py::object>(
      reinterpret_cast<PyObject*>(PyFrame_GetBack(reinterpret_cast<PyFrameObject*>(frame.ptr()))));
}

std::string text(const py::object& object) {
  Py_ssize_t length = 0;
  const char* characters = PyUnicode_AsUTF8AndSize(object.ptr(), &length);
  return characters != nullptr ? std::string(characters, static_cast<std::size_t>(length))
                               : std::string();
}

/// "file.py:12 in function", or nothing for a frame inside PyTorch itself.
std::string described(const Frame& frame) {
  auto* raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
  const auto code =
      py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(raw)));
  const std::string file = text(code.attr("co_filename"));
  static const std::string torch_folder = text(py::module_::import("os").attr("path").attr(
      "dirname")(py::module_::import("torch").attr("__file__")));
  if (std::string_view(file).starts_with(torch_folder)) return {};
  return str(file, ':', PyFrame_GetLineNumber(raw), " in ", text(code.attr("co_name")));
}

/// What was found out about an instruction of a code object, which stays alive for it. Guarded by the interpreter's lock.
class Sites {
 public:
  /// The number of the frame's line; 0 for a frame inside PyTorch itself.
  std::uint32_t number_of(const Frame& frame) {
    auto* raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
    auto code =
        py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(raw)));
    const Site site{code.ptr(), PyFrame_GetLasti(raw)};
    if (const auto known = numbers_.find(site); known != numbers_.end()) return known->second;
    std::string line = described(frame);
    const std::uint32_t number = line.empty() ? 0 : lines().number_of(std::move(line));
    if (numbers_.size() < kMost) {
      numbers_.emplace(site, number);
      code.release();
    }
    return number;
  }

 private:
  using Site = std::pair<const PyObject*, int>;
  struct Hash {
    std::size_t operator()(const Site& site) const {
      return std::hash<const PyObject*>()(site.first) * 31 + static_cast<std::size_t>(site.second);
    }
  };
  static constexpr std::size_t kMost = 65536;
  std::unordered_map<Site, std::uint32_t, Hash> numbers_;
};

Sites& sites() {
  static auto* instance = new Sites;  // code outlives the interpreter's end with it
  return *instance;
}

std::uint32_t current_line() {
  if (Py_IsInitialized() == 0 || PyGILState_GetThisThreadState() == nullptr) return 0;
  const py::gil_scoped_acquire gil;
  auto frame = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  for (; frame; frame = outer(frame))
    if (const std::uint32_t number = sites().number_of(frame); number != 0) return number;
  return 0;
}

std::string describe(std::uint32_t number) { return lines().text_of(number); }

}  // namespace

void provide_sources() {
  engine::set_source_provider({.current = &current_line, .describe = &describe});
}

}  // namespace spyre::python

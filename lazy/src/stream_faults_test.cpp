// spyre/lazy/stream_faults_test.cpp — the first fault, once, with its type and place.
#include "stream_faults.h"

#include <gtest/gtest.h>

#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre::lazy {
namespace {

template <class E> Fault fault_of(const char* message, std::uint32_t source = 0) {
  return {std::make_exception_ptr(E(message)), "index", source};
}

template <class E> std::string raised(const Fault& fault) {
  try {
    raise(fault, [](std::uint32_t source) { return str("model.py:", source); });
  } catch (const E& e) { return e.what(); }
}

TEST(StreamFaults, FirstWinsAndIsTakenOnce) {
  StreamFaults faults;
  EXPECT_FALSE(faults.any());
  EXPECT_FALSE(faults.take());
  faults.note(fault_of<IndexOutOfRange>("first"));
  EXPECT_TRUE(faults.any());
  faults.note(fault_of<DeviceFault>("second"));
  EXPECT_EQ(raised<IndexOutOfRange>(*faults.take()), "index: first");
  EXPECT_FALSE(faults.any());
  EXPECT_FALSE(faults.take());
}

TEST(StreamFaults, KeepsTheTypeAndNamesTheLine) {
  EXPECT_EQ(raised<IndexOutOfRange>(fault_of<IndexOutOfRange>("5 of 3", 12)),
            "index: 5 of 3; recorded at model.py:12");
  EXPECT_EQ(raised<DeviceFault>(fault_of<DeviceFault>("zero")), "index: zero");
  EXPECT_EQ(raised<OutOfDeviceMemory>(fault_of<OutOfDeviceMemory>("full")), "index: full");
  EXPECT_EQ(raised<Error>(fault_of<Error>("5 of 3")), "index: 5 of 3");
  EXPECT_EQ(raised<std::logic_error>(fault_of<std::logic_error>("foreign")), "foreign");
}

}  // namespace
}  // namespace spyre::lazy

# The warnings of our own code. The presets make them errors (CMAKE_COMPILE_WARNING_AS_ERROR); the wheel does not, so
# that a compiler that nobody here has seen yet, with warnings of its own, stops no installation.
add_library(spyre_warnings INTERFACE)
target_compile_options(
  spyre_warnings INTERFACE -Wall -Wextra -Wconversion -Wno-sign-conversion -Wshadow -Wnon-virtual-dtor
                           -ffp-contract=off
)
# g++ 13 and newer see std::sort's longer branch, which short arrays never take, reach past their end.
target_compile_options(
  spyre_warnings
  INTERFACE $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>>:-Wno-array-bounds>
)

# Warnings are errors for our own code, but not in the wheel: a compiler that nobody here has seen yet, with warnings of
# its own, stops no installation.
option(SPYRE_WERROR "Warnings are errors" ON)
if(SPYRE_WERROR)
  set(spyre_werror -Werror)
endif()
add_library(spyre_warnings INTERFACE)
target_compile_options(
  spyre_warnings INTERFACE -Wall -Wextra ${spyre_werror} -Wconversion -Wno-sign-conversion -Wshadow -Wnon-virtual-dtor
                           -ffp-contract=off
)
# g++ 13 and newer see std::sort's longer branch, which short arrays never take, and the copies of vectors that have just
# been made large enough, reach past their ends.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  target_compile_options(spyre_warnings INTERFACE -Wno-array-bounds -Wno-stringop-overflow)
endif()

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
# g++ 13 and newer see std::sort's longer branch, which short arrays never take, reach past their end.
target_compile_options(
  spyre_warnings
  INTERFACE $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>>:-Wno-array-bounds>
)

# Warnings are errors for our own code.
add_library(spyre_warnings INTERFACE)
target_compile_options(
  spyre_warnings INTERFACE -Wall -Wextra -Werror -Wconversion -Wno-sign-conversion -Wshadow -Wnon-virtual-dtor
                           -ffp-contract=off
)

# spyre_layer(NAME [USES layer...] [LINK target...]) — one layer of the architecture: its static library, its own
# include root (so that an unlinked layer cannot be included), its warnings, and one test binary from *_test.cpp.
function(spyre_layer name)
  cmake_parse_arguments(arg "" "" "USES;LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${name}/src/*.cpp)
  set(tests ${sources})
  set(benchmarks ${sources})
  list(FILTER sources EXCLUDE REGEX "_(test|bench)\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER benchmarks INCLUDE REGEX "_bench\\.cpp$")
  if(NOT sources)  # a layer that is not begun
    return()
  endif()

  add_library(spyre_${name} STATIC ${sources})
  add_library(spyre::${name} ALIAS spyre_${name})
  target_include_directories(spyre_${name} PUBLIC ${name}/include PRIVATE ${name}/src)
  target_link_libraries(spyre_${name} PRIVATE spyre_warnings ${arg_LINK})
  foreach(used IN LISTS arg_USES)
    target_link_libraries(spyre_${name} PUBLIC spyre::${used})
  endforeach()

  if(tests AND SPYRE_BUILD_TESTS)
    add_executable(${name}_test ${tests})
    target_include_directories(${name}_test PRIVATE ${name}/src)
    target_link_libraries(${name}_test PRIVATE spyre::${name} spyre_warnings GTest::gtest_main ${arg_LINK})
    gtest_discover_tests(${name}_test PROPERTIES LABELS ${name} DISCOVERY_TIMEOUT 60)
  endif()
  if(benchmarks)  # built only when asked for
    add_executable(${name}_bench EXCLUDE_FROM_ALL ${benchmarks})
    target_include_directories(${name}_bench PRIVATE ${name}/src)
    target_link_libraries(${name}_bench PRIVATE spyre::${name} spyre_warnings ${arg_LINK})
  endif()
endfunction()

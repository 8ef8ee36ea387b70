# Third-party libraries, found on the system; no copies in the tree.
find_package(TBB REQUIRED)

find_path(xxhash_include xxhash.h REQUIRED)
find_library(xxhash_library xxhash REQUIRED)
add_library(spyre::xxhash INTERFACE IMPORTED)
target_include_directories(spyre::xxhash INTERFACE ${xxhash_include})
target_link_libraries(spyre::xxhash INTERFACE ${xxhash_library})

find_path(json_include nlohmann/json.hpp REQUIRED)
add_library(spyre::json INTERFACE IMPORTED)
target_include_directories(spyre::json SYSTEM INTERFACE ${json_include})

find_path(sleef_include sleef.h REQUIRED)
find_library(sleef_library sleef REQUIRED)
add_library(spyre::sleef INTERFACE IMPORTED)
target_include_directories(spyre::sleef SYSTEM INTERFACE ${sleef_include})
target_link_libraries(spyre::sleef INTERFACE ${sleef_library})

# Debian's static asmjit is not position independent: `stderr` alone must be wrapped (docs/adr/0002).
find_path(asmjit_include asmjit/asmjit.h REQUIRED)
find_library(asmjit_library NAMES libasmjit.a asmjit REQUIRED)
add_library(spyre::asmjit INTERFACE IMPORTED)
target_include_directories(spyre::asmjit SYSTEM INTERFACE ${asmjit_include})
target_compile_definitions(spyre::asmjit INTERFACE ASMJIT_STATIC)
target_link_libraries(spyre::asmjit INTERFACE ${asmjit_library} rt)
target_link_options(spyre::asmjit INTERFACE -Wl,--wrap=stderr -Wl,--exclude-libs,libasmjit.a)

if(SPYRE_BUILD_TORCH)
  # Python first: libtorch is the one inside the interpreter's torch wheel.
  find_package(Python COMPONENTS Interpreter Development.Module REQUIRED)
  if(NOT Torch_DIR)
    execute_process(
      COMMAND ${CMAKE_COMMAND} -E env TORCH_DEVICE_BACKEND_AUTOLOAD=0 ${Python_EXECUTABLE} -c "import torch; print(torch.utils.cmake_prefix_path, end='')"
      OUTPUT_VARIABLE torch_prefix COMMAND_ERROR_IS_FATAL ANY
    )
    list(APPEND CMAKE_PREFIX_PATH ${torch_prefix})
  endif()
  find_package(Torch REQUIRED)
  find_library(torch_python_library torch_python PATHS ${TORCH_INSTALL_PREFIX}/lib REQUIRED NO_DEFAULT_PATH)
  add_library(spyre::torch INTERFACE IMPORTED)
  target_include_directories(spyre::torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
  target_link_libraries(spyre::torch INTERFACE ${TORCH_LIBRARIES})
endif()

# sees_kineto(SOURCES) — they include the profiler's headers, which are not on torch's path, and whose libfmt is only
# there as headers. A property of few files: the others keep their precompiled header.
function(sees_kineto)
  set_source_files_properties(
    ${ARGN}
    PROPERTIES COMPILE_OPTIONS "-isystem;${TORCH_INSTALL_PREFIX}/include/kineto"
               COMPILE_DEFINITIONS "USE_KINETO;FMT_HEADER_ONLY" SKIP_PRECOMPILE_HEADERS ON
  )
endfunction()

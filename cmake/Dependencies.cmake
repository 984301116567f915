# Libraries the engine stands on. `scripts/setup` installs them on Debian.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson)
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.h REQUIRED)
find_library(DNNL_LIBRARY dnnl REQUIRED)

add_library(fr_dependencies INTERFACE)
target_include_directories(fr_dependencies SYSTEM INTERFACE ${DNNL_INCLUDE_DIR})
target_link_libraries(fr_dependencies INTERFACE
  ${DNNL_LIBRARY} PkgConfig::CJSON PkgConfig::ZLIB PkgConfig::XXHASH Threads::Threads m)
if(FR_OPENMP)
  find_package(OpenMP REQUIRED COMPONENTS C)
  target_link_libraries(fr_dependencies INTERFACE OpenMP::OpenMP_C)
endif()

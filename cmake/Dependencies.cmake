# SPDX-License-Identifier: Apache-2.0
#
# Libraries of others, by the names that the folders link:
#   PkgConfig::XXHASH  PkgConfig::ZSTD  PkgConfig::ZBD  PkgConfig::URING  PkgConfig::URCU
#   PkgConfig::UUID    PkgConfig::BLKID Threads::Threads Boost::headers
#   furrow::rocksdb    (plugin/fs, tests and examples only)
#   PkgConfig::GFLAGS  fmt::fmt  nlohmann_json::nlohmann_json   (tools only)
#   GTest::gtest GTest::gtest_main GTest::gmock benchmark::benchmark   (tests only)
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

# pkg_check_modules, with a message that names the package to install.
function(furrow_pkg prefix module debian_package)
  pkg_check_modules(${prefix} QUIET IMPORTED_TARGET GLOBAL ${module})
  if(NOT ${prefix}_FOUND)
    message(FATAL_ERROR "furrow: ${module} not found; install ${debian_package} or run tests/scripts/install-deps.sh")
  endif()
endfunction()
furrow_pkg(XXHASH libxxhash libxxhash-dev)
furrow_pkg(ZSTD libzstd libzstd-dev)
furrow_pkg(ZBD libzbd libzbd-dev)
furrow_pkg(URING liburing liburing-dev)
furrow_pkg(URCU liburcu-bp liburcu-dev)
furrow_pkg(UUID uuid uuid-dev)
furrow_pkg(BLKID blkid libblkid-dev)
find_package(Boost 1.74 REQUIRED)

# RocksDB, always the shared library: a second, static copy in the process would have an object registry of its own,
# and the plugin would be invisible. pkg-config first: RocksDB's CMake package drags in all its compression libraries.
if(FURROW_BUILD_PLUGIN)
  add_library(furrow_rocksdb INTERFACE)
  add_library(furrow::rocksdb ALIAS furrow_rocksdb)
  # Another RocksDB than the system's: -DFURROW_ROCKSDB_ROOT=DIR (below which lib or usr/lib/..., include or usr/include lie), or
  # library and headers by name. Its own libraries may be newer than this machine's, so what they need is not looked into.
  set(FURROW_ROCKSDB_ROOT "" CACHE PATH "Where another RocksDB is installed or unpacked")
  if(FURROW_ROCKSDB_ROOT)
    set(roots ${FURROW_ROCKSDB_ROOT} ${FURROW_ROCKSDB_ROOT}/usr)
    find_library(FURROW_ROCKSDB_LIBRARY NAMES librocksdb.so PATHS ${roots}
                 PATH_SUFFIXES lib lib64 lib/${CMAKE_LIBRARY_ARCHITECTURE} NO_DEFAULT_PATH)
    find_path(FURROW_ROCKSDB_INCLUDE rocksdb/file_system.h PATHS ${roots} PATH_SUFFIXES include NO_DEFAULT_PATH)
    if(NOT FURROW_ROCKSDB_LIBRARY OR NOT FURROW_ROCKSDB_INCLUDE)
      message(FATAL_ERROR "furrow: no librocksdb.so with its headers below ${FURROW_ROCKSDB_ROOT} (FURROW_ROCKSDB_ROOT)")
    endif()
    target_link_options(furrow_rocksdb INTERFACE LINKER:--allow-shlib-undefined)
  endif()
  if(NOT FURROW_ROCKSDB_LIBRARY AND NOT FURROW_ROCKSDB_INCLUDE)
    pkg_check_modules(ROCKSDB QUIET IMPORTED_TARGET GLOBAL rocksdb)
  endif()
  if(ROCKSDB_FOUND)
    set(FURROW_ROCKSDB_VERSION ${ROCKSDB_VERSION})
    target_link_libraries(furrow_rocksdb INTERFACE PkgConfig::ROCKSDB)
  elseif(FURROW_ROCKSDB_INCLUDE AND NOT FURROW_ROCKSDB_LIBRARY)
    # Headers alone: furrow_face can be compiled, and so be tried with a RocksDB that nobody has built here.
    set(FURROW_ROCKSDB_HEADERS_ONLY ON)
    set(FURROW_ROCKSDB_VERSION "(headers in ${FURROW_ROCKSDB_INCLUDE})")
    target_include_directories(furrow_rocksdb SYSTEM INTERFACE ${FURROW_ROCKSDB_INCLUDE})
  else()
    find_library(FURROW_ROCKSDB_LIBRARY NAMES librocksdb.so)
    find_path(FURROW_ROCKSDB_INCLUDE rocksdb/file_system.h)
    if(NOT FURROW_ROCKSDB_LIBRARY OR NOT FURROW_ROCKSDB_INCLUDE)
      message(FATAL_ERROR "furrow: RocksDB not found; install librocksdb-dev, set -DFURROW_ROCKSDB_ROOT=DIR (or "
                          "-DFURROW_ROCKSDB_LIBRARY=.../librocksdb.so and -DFURROW_ROCKSDB_INCLUDE=.../include), or configure "
                          "with -DFURROW_BUILD_PLUGIN=OFF")
    endif()
    set(FURROW_ROCKSDB_VERSION "(${FURROW_ROCKSDB_LIBRARY})")
    target_link_libraries(furrow_rocksdb INTERFACE ${FURROW_ROCKSDB_LIBRARY})
    target_include_directories(furrow_rocksdb SYSTEM INTERFACE ${FURROW_ROCKSDB_INCLUDE})
  endif()
  message(STATUS "furrow: RocksDB ${FURROW_ROCKSDB_VERSION}")

  # "7.8": what the ABI depends on, and so the name of our library.
  find_file(FURROW_ROCKSDB_VERSION_HEADER rocksdb/version.h HINTS ${FURROW_ROCKSDB_INCLUDE} ${ROCKSDB_INCLUDE_DIRS})
  if(NOT FURROW_ROCKSDB_VERSION_HEADER)
    message(FATAL_ERROR "furrow: rocksdb/version.h not found beside RocksDB's other headers")
  endif()
  file(STRINGS ${FURROW_ROCKSDB_VERSION_HEADER} rocksdb_version REGEX "define ROCKSDB_(MAJOR|MINOR) ")
  if(NOT "${rocksdb_version}" MATCHES "MAJOR ([0-9]+).*MINOR ([0-9]+)")
    message(FATAL_ERROR "furrow: ${FURROW_ROCKSDB_VERSION_HEADER} does not define ROCKSDB_MAJOR and ROCKSDB_MINOR")
  endif()
  set(FURROW_ROCKSDB_ABI ${CMAKE_MATCH_1}.${CMAKE_MATCH_2})
endif()

if(FURROW_BUILD_TOOLS OR FURROW_BUILD_TESTS)
  furrow_pkg(GFLAGS gflags libgflags-dev)
endif()
if(FURROW_BUILD_TOOLS)
  find_package(fmt REQUIRED)
  find_package(nlohmann_json REQUIRED)
endif()
if(FURROW_BUILD_TESTS)
  find_package(GTest CONFIG REQUIRED)
  find_package(nlohmann_json REQUIRED)
endif()
if(FURROW_BUILD_TESTS AND FURROW_BUILD_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()

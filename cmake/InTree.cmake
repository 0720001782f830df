# SPDX-License-Identifier: Apache-2.0
#
# RocksDB's in-tree mode: RocksDB includes our CMakeLists.txt when it is configured with -DROCKSDB_PLUGINS=furrow and
# this tree lies (or is linked) at plugin/furrow. RocksDB wants the variables below in its own scope. The list of
# sources is the one in furrow.mk, which RocksDB's make reads; RocksDB's CMake takes furrow_FUNC from there by itself.
file(READ ${CMAKE_CURRENT_LIST_DIR}/../furrow.mk furrow_mk)
string(REGEX MATCHALL "\n  [A-Za-z0-9_/]+\\.cc" furrow_in_tree_sources "${furrow_mk}")
list(TRANSFORM furrow_in_tree_sources STRIP)
if(NOT furrow_in_tree_sources)
  message(FATAL_ERROR "furrow: no sources found in furrow.mk")
endif()

set(furrow_SOURCES ${furrow_in_tree_sources} PARENT_SCOPE)
set(furrow_LIBS zbd xxhash zstd uring urcu-bp urcu-common uuid PARENT_SCOPE)
set(furrow_INCLUDE_PATHS "" PARENT_SCOPE)
# -iquote goes before every -I: RocksDB has a util/coding.h of its own, and ours must not be seen by RocksDB's files.
set(furrow_COMPILE_FLAGS "-std=c++20 -iquote ${CMAKE_CURRENT_SOURCE_DIR} -iquote ${CMAKE_CURRENT_SOURCE_DIR}/include"
    PARENT_SCOPE)

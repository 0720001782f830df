# SPDX-License-Identifier: Apache-2.0
#
# Programs that run.sh starts, in tests/run: each links RocksDB in a way of its own, or looks as if.
set(run_output ${PROJECT_BINARY_DIR}/tests/run)

# RocksDB through another library.
add_library(run_through SHARED run_through.cc)
target_link_libraries(run_through PRIVATE furrow::rocksdb)
add_executable(run_user run_user.cc)
target_link_libraries(run_user PRIVATE run_through)

# A RocksDB that there is no Furrow for.
add_library(run_future SHARED run_future.cc)
set_target_properties(run_future PROPERTIES OUTPUT_NAME rocksdb SOVERSION 99.1)
add_executable(run_future_user run_future_user.cc)
target_link_libraries(run_future_user PRIVATE run_future)

# RocksDB inside the program: with its symbols, and without.
add_executable(run_static run_static.cc)
add_executable(run_stripped run_static.cc)
target_compile_definitions(run_stripped PRIVATE RUN_STRIPPED)
target_link_options(run_stripped PRIVATE LINKER:-s)

foreach(target run_through run_user run_future run_future_user run_static run_stripped)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${run_output} LIBRARY_OUTPUT_DIRECTORY ${run_output})
  add_dependencies(furrow_tests ${target})
endforeach()

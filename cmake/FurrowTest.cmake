# SPDX-License-Identifier: Apache-2.0
#
# Helpers for tests/:
#   furrow_test(NAME zone_table_test SOURCES zone_table_test.cc LIBS furrow_zone [LABELS concurrency] [TIMEOUT seconds])
#     A GoogleTest program, one ctest entry for all of it.
#   furrow_script_test(NAME kill_test COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/kill.sh [LABELS ...] [TIMEOUT seconds])
#     A script, run with FURROW_BUILD_DIR in its environment. Scripts preload libfurrow.so into programs that no
#     sanitizer has instrumented, so sanitizer builds do not have them.
#   furrow_benchmark(NAME x_bench SOURCES x_bench.cc LIBS furrow_zone)
#     A Google Benchmark program in bin/; no test.
#   furrow_fuzzer(NAME x_fuzz SOURCES x_fuzz.cc LIBS furrow_meta)
#     A libFuzzer program in fuzz/.
# Targets that gather: furrow_tests, furrow_tests_<label>, furrow_benchmarks, furrow_fuzzers.

foreach(target furrow_tests furrow_tests_concurrency furrow_benchmarks furrow_fuzzers)
  add_custom_target(${target})
endforeach()

function(furrow_check_arguments helper)
  if(NOT ARG_NAME OR ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${helper}: NAME is missing, or these words are not understood: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
endfunction()

function(furrow_test)
  cmake_parse_arguments(ARG "" "NAME;TIMEOUT" "SOURCES;LIBS;LABELS" ${ARGN})
  furrow_check_arguments(furrow_test)
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_LIBS} GTest::gmock GTest::gtest GTest::gtest_main)
  set_target_properties(${ARG_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME})
  set_tests_properties(${ARG_NAME} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
  add_dependencies(furrow_tests ${ARG_NAME})
  foreach(label ${ARG_LABELS})
    if(NOT TARGET furrow_tests_${label})
      add_custom_target(furrow_tests_${label})
    endif()
    add_dependencies(furrow_tests_${label} ${ARG_NAME})
  endforeach()
endfunction()

function(furrow_script_test)
  cmake_parse_arguments(ARG "" "NAME;TIMEOUT" "COMMAND;LABELS" ${ARGN})
  furrow_check_arguments(furrow_script_test)
  if(FURROW_SANITIZE)
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_COMMAND})
  set_tests_properties(${ARG_NAME} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
                       ENVIRONMENT FURROW_BUILD_DIR=${PROJECT_BINARY_DIR})
endfunction()

function(furrow_benchmark)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;LIBS" ${ARGN})
  furrow_check_arguments(furrow_benchmark)
  if(NOT FURROW_BUILD_BENCHMARKS)
    return()
  endif()
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_LIBS} benchmark::benchmark)
  add_dependencies(furrow_benchmarks ${ARG_NAME})
endfunction()

function(furrow_fuzzer)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;LIBS" ${ARGN})
  furrow_check_arguments(furrow_fuzzer)
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_LIBS})
  target_link_options(${ARG_NAME} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${ARG_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
  add_dependencies(furrow_fuzzers ${ARG_NAME})
endfunction()

# SPDX-License-Identifier: Apache-2.0
#
# POSIX and Furrow side by side: named cases, and random sequences of calls.
add_executable(differential_test differential_test.cc differential_plan.cc differential_run.cc differential_shrink.cc
               differential_side.cc differential_wrappers.cc fs_target.cc)
target_link_libraries(differential_test PRIVATE furrow_face Threads::Threads)
set_target_properties(differential_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
add_dependencies(furrow_tests differential_test)
add_test(NAME differential_test COMMAND differential_test --operations=20000 --seed=1)
add_test(NAME differential_self_test COMMAND differential_test --self-test --seed=1)
set_tests_properties(differential_test differential_self_test PROPERTIES TIMEOUT 300)

furrow_test(NAME conformance_test SOURCES conformance_test.cc conformance_files_test.cc fs_target.cc LIBS furrow_face)

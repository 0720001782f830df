# SPDX-License-Identifier: Apache-2.0
#
# RocksDB's features on Furrow, and cases that file systems like it have got wrong.
add_executable(features_child features_child.cc)
target_link_libraries(features_child PRIVATE furrow_face)
set_target_properties(features_child PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
add_dependencies(furrow_tests features_child furrow_default)

furrow_test(NAME features_copies_test SOURCES features_copies_test.cc LIBS furrow_face)
furrow_test(NAME features_logs_test SOURCES features_logs_test.cc LIBS furrow_face)
furrow_test(NAME features_tables_test SOURCES features_tables_test.cc LIBS furrow_face)
furrow_test(NAME features_readers_test SOURCES features_readers_test.cc features_child_process.cc LIBS furrow_face)
furrow_script_test(NAME features_ldb_sh COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/features_ldb.sh TIMEOUT 180)
furrow_test(NAME small_cases_files_test SOURCES small_cases_files_test.cc features_child_process.cc LIBS furrow_face)
furrow_test(NAME small_cases_devices_test SOURCES small_cases_devices_test.cc features_child_process.cc LIBS furrow_face)
furrow_test(NAME small_cases_logs_test SOURCES small_cases_logs_test.cc LIBS furrow_face)
furrow_test(NAME features_options_test SOURCES features_options_test.cc LIBS furrow_face)

if(FURROW_BUILD_TOOLS)  # it is the command that repairs
  furrow_test(NAME repair_db_test SOURCES repair_test.cc LIBS furrow_face)
  target_compile_definitions(repair_db_test PRIVATE FURROW_COMMAND="$<TARGET_FILE:furrow_cmd>")
  add_dependencies(repair_db_test furrow_cmd)
endif()

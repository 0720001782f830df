# SPDX-License-Identifier: Apache-2.0
#
# What `cmake --install` and `cpack -G DEB` put where (docs/install.md has the table). The folders call
# furrow_install_plugin and furrow_install_command; the rest is here.
#
# Several libraries, one per RocksDB, may lie side by side: RocksDB's ABI changes with every minor version. So the
# library's name and soname say which RocksDB it is for, and our own version behind ".so" says which of ours:
#   libfurrow-rocksdb7.8.so.0.1.0   soname libfurrow-rocksdb7.8.so.0.1; applications that link it ask for that
#   libfurrow-rocksdb7.8.so         for LD_PRELOAD, whatever our version
#   libfurrow.so                    link to the one of the default RocksDB (FURROW_DEFAULT_ROCKSDB)
# The CMake package picks the library that fits the RocksDB it finds.
include(CMakePackageConfigHelpers)
option(FURROW_DEFAULT_ROCKSDB "Install libfurrow.so and furrow.pc as links to the files for this RocksDB" ON)
option(FURROW_INSTALL_SYSTEMD "Install the systemd units that settle devices whose process is gone" ON)

set(FURROW_PACKAGING_DIR ${CMAKE_CURRENT_LIST_DIR}/packaging)
set(FURROW_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/furrow)
add_custom_target(furrow_installable)  # builds what is installed, and nothing else

# A link in `directory` below the prefix.
function(furrow_install_link target directory name)
  set(link ${PROJECT_BINARY_DIR}/links/${name})
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/links)
  file(CREATE_LINK ${target} ${link} SYMBOLIC)
  install(FILES ${link} DESTINATION ${directory})
endfunction()

function(furrow_install_pkg_config)
  if(ROCKSDB_FOUND)  # by pkg-config: then whoever reads our file finds it too, and must find the same
    string(REPLACE . ";" parts ${FURROW_ROCKSDB_ABI})
    list(GET parts 0 major)
    list(GET parts 1 minor)
    math(EXPR minor "${minor} + 1")
    set(FURROW_PC_REQUIRES "rocksdb >= ${FURROW_ROCKSDB_ABI}, rocksdb < ${major}.${minor}")
  else()
    set(FURROW_PC_LIBS " -lrocksdb")
  endif()
  string(REGEX REPLACE "[^/]+" ".." FURROW_PC_UP ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  set(file furrow-rocksdb${FURROW_ROCKSDB_ABI}.pc)
  configure_file(${FURROW_PACKAGING_DIR}/furrow.pc.in ${PROJECT_BINARY_DIR}/${file} @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${file} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  if(FURROW_DEFAULT_ROCKSDB)
    furrow_install_link(${file} ${CMAKE_INSTALL_LIBDIR}/pkgconfig furrow.pc)
  endif()
endfunction()

function(furrow_install_cmake_package)
  install(EXPORT furrow FILE furrow-rocksdb${FURROW_ROCKSDB_ABI}.cmake NAMESPACE furrow:: DESTINATION ${FURROW_CMAKE_DIR})
  configure_file(${FURROW_PACKAGING_DIR}/furrow-config.cmake.in ${PROJECT_BINARY_DIR}/furrow-config.cmake @ONLY)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/furrow-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/furrow-config.cmake ${PROJECT_BINARY_DIR}/furrow-config-version.cmake
          DESTINATION ${FURROW_CMAKE_DIR})
endfunction()

# Names the plugin's library for its RocksDB and installs it with its CMake package and pkg-config file. In the build
# tree lib/libfurrow.so is a link to it.
function(furrow_install_plugin target)
  set(name furrow-rocksdb${FURROW_ROCKSDB_ABI})
  # While the major version is 0, a minor version may change the interface.
  string(REGEX REPLACE "^(0\\.[0-9]+|[1-9][0-9]*).*" "\\1" soversion ${PROJECT_VERSION})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} VERSION ${PROJECT_VERSION} SOVERSION ${soversion}
                        EXPORT_NAME furrow)
  target_compile_features(${target} INTERFACE cxx_std_17)
  target_link_libraries(${target} INTERFACE $<INSTALL_INTERFACE:furrow::librocksdb>)  # not our own furrow::rocksdb: it is of this build
  add_custom_command(TARGET ${target} POST_BUILD VERBATIM COMMAND
    ${CMAKE_COMMAND} -E create_symlink lib${name}.so ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libfurrow.so)
  install(TARGETS ${target} EXPORT furrow LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  if(FURROW_DEFAULT_ROCKSDB)
    furrow_install_link(lib${name}.so ${CMAKE_INSTALL_LIBDIR} libfurrow.so)
  endif()
  furrow_install_cmake_package()
  furrow_install_pkg_config()
  add_dependencies(furrow_installable ${target})
endfunction()

# The library that `furrow run --default` preloads: beside the plugin, which it needs, and only ever loaded by path.
function(furrow_install_default target)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME furrow-default-rocksdb${FURROW_ROCKSDB_ABI}
                        INSTALL_RPATH $ORIGIN BUILD_WITH_INSTALL_RPATH ON)
  install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  add_dependencies(furrow_installable ${target})
endfunction()

# The command, its man page (from its own help) and the units that call it. A program with sanitizers is nothing to
# install, and may not even start where the build runs; one for another machine cannot.
function(furrow_install_command target)
  install(TARGETS ${target} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  add_dependencies(furrow_installable ${target})
  if(FURROW_INSTALL_SYSTEMD)
    install(DIRECTORY ${FURROW_PACKAGING_DIR}/systemd/ DESTINATION lib/systemd/system
            FILES_MATCHING PATTERN "*.service" PATTERN "*.timer")
  endif()
  if(FURROW_SANITIZE OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  set(page ${PROJECT_BINARY_DIR}/furrow.1.gz)
  add_custom_command(OUTPUT ${page} DEPENDS ${target} ${FURROW_PACKAGING_DIR}/ManPage.cmake VERBATIM COMMAND
    ${CMAKE_COMMAND} -D FURROW=$<TARGET_FILE:${target}> -D OUTPUT=${page} -P ${FURROW_PACKAGING_DIR}/ManPage.cmake)
  add_custom_target(furrow_man ALL DEPENDS ${page})
  add_dependencies(furrow_installable furrow_man)
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endfunction()

install(DIRECTORY include/furrow DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES README.md CHANGELOG.md LICENSE ${FURROW_PACKAGING_DIR}/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "the Furrow authors")
set(CPACK_PACKAGE_CONTACT "the Furrow authors <furrow@localhost>")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION database)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # names librocksdb's minor version, as its soname does
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "rocksdb-tools, librocksdb-dev, pkg-config | cmake")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Furrow keeps RocksDB's files straight on zoned storage: ZNS SSDs, host-managed
SMR disks, or an emulated zoned device in an ordinary directory. The library is
loaded into unmodified RocksDB tools (LD_PRELOAD) or linked by an application;
the furrow command formats, inspects and pictures a device.
.
The systemd units bring what a killed process left in shared memory to its
device, every minute and at shutdown. Headers, a CMake package and a pkg-config
file are included; they need librocksdb-dev.")
foreach(script postinst prerm postrm triggers)
  list(APPEND CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${FURROW_PACKAGING_DIR}/debian/${script})
endforeach()
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)

# SPDX-License-Identifier: Apache-2.0
#
# Warnings for everything below the root.
add_compile_options(-Wall -Wextra -Wshadow -Woverloaded-virtual -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  add_compile_options(-Wthread-safety)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options(-Wno-restrict)  # false positives on "literal" + std::string, GCC bug 105651
endif()
if(FURROW_WERROR)
  add_compile_options(-Werror)
endif()

# SPDX-License-Identifier: Apache-2.0
#
# FURROW_SANITIZE=address,undefined | thread, for all targets. Any finding ends the program.
if(FURROW_SANITIZE)
  if(FURROW_SANITIZE MATCHES thread AND FURROW_SANITIZE MATCHES address)
    message(FATAL_ERROR "FURROW_SANITIZE=${FURROW_SANITIZE}: thread and address exclude each other; use two builds")
  endif()
  add_compile_options(-fsanitize=${FURROW_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${FURROW_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # The instrumentation hides initialisations from GCC's flow analysis; release builds keep this warning.
    add_compile_options(-Wno-maybe-uninitialized)
    if(FURROW_SANITIZE MATCHES thread)
      add_compile_options(-Wno-tsan)  # atomic_thread_fence in headers of others
    endif()
  endif()
endif()
if(FURROW_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "FURROW_BUILD_FUZZERS needs clang++ (-DCMAKE_CXX_COMPILER=clang++), found ${CMAKE_CXX_COMPILER}")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

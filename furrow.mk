# SPDX-License-Identifier: Apache-2.0
#
# Furrow inside RocksDB's tree: link this directory to plugin/furrow there, then
#   make ROCKSDB_PLUGINS=furrow static_lib db_bench        or        cmake -DROCKSDB_PLUGINS=furrow ...
# RocksDB's make reads all of this file. RocksDB's CMake reads the line of furrow_FUNC alone, as it looks for
# " = "; the assignments with := are for make, and cmake/InTree.cmake takes the sources from here.
furrow_FUNC = furrow_register

# Kept equal to the CMake lists by tests/scripts/check-intree.sh [--fix].
furrow_SOURCES := \
  util/background.cc \
  util/checksum.cc \
  util/clock.cc \
  util/coding.cc \
  util/logger.cc \
  util/rng.cc \
  util/status.cc

furrow_HEADERS := include/furrow/version.h
furrow_LDFLAGS := -lzbd -lxxhash -lzstd -luring -lurcu-bp -lurcu-common -luuid

# For our objects only: RocksDB has a util/coding.h of its own and may be built as C++17. -iquote precedes every -I.
furrow_FLAGS := -std=c++20 -iquote plugin/furrow -iquote plugin/furrow/include
plugin/furrow/%.o ./plugin/furrow/%.o shared-objects/plugin/furrow/%.o jl/plugin/furrow/%.o jls/plugin/furrow/%.o: \
  CXXFLAGS += $(furrow_FLAGS)
plugin/furrow/%.cc.d ./plugin/furrow/%.cc.d: CXXFLAGS += $(furrow_FLAGS)

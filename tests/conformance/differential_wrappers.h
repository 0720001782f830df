// SPDX-License-Identifier: Apache-2.0
//
// What stands before the two file systems of a comparison: before the oracle, what Furrow does differently on purpose;
// before Furrow, a planted wrong answer, by which the comparison proves that it finds one. One thread.
#pragma once

#include <memory>
#include <string>

#include "plugin/fs/rocksdb_compat.h"

namespace furrow {

// POSIX with new files where an existing name is created or reused, and with missing parents made.
std::shared_ptr<rdb::FileSystem> NewOracle(std::shared_ptr<rdb::FileSystem> posix);

// A wrong answer, given once.
struct PlantedFault {
  enum class Kind {
    kNone,
    kByte,  // the last byte of a read of more than 100 bytes
    kSize,  // GetFileSize of a file of more than 100 bytes: one too many
    kLost,  // a rename over an existing file: it reports success and does nothing
  };
  Kind kind = Kind::kNone;
  bool given = false;
};
// "byte", "size", "lost"; "" for none. False: another word.
bool ParseFault(const std::string& word, PlantedFault::Kind* kind);
const char* NameOf(PlantedFault::Kind kind);
// `fault` lives as long as the comparison, over remounts.
std::shared_ptr<rdb::FileSystem> NewFaulty(std::shared_ptr<rdb::FileSystem> fs, std::shared_ptr<PlantedFault> fault);

}  // namespace furrow

// SPDX-License-Identifier: Apache-2.0
//
// Data of which every byte can be checked: a value tells its key and version, and a model says which version each key
// has. Also used by the programs that the tests start. One thread.
#pragma once

#include <cinttypes>
#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "rocksdb/db.h"
#include "util/rng.h"

namespace furrow {

namespace rdb = ROCKSDB_NAMESPACE;

using Model = std::map<std::string, std::string>;

inline std::string KeyOf(uint64_t key) {
  char text[24];
  std::snprintf(text, sizeof(text), "key%012" PRIu64, key);
  return text;
}

// 100 to 1100 bytes that only this key and version have.
inline std::string ValueOf(uint64_t key, uint64_t version) {
  Rng rng(key * 1000003 + version);
  std::string value(100 + rng.Uniform(1000), '\0');
  for (size_t i = 0; i < value.size(); ++i) {
    // Half of it is random: neither empty for a compressor nor free for it.
    value[i] = static_cast<char>(i % 16 < 8 ? rng.Next() : 'a' + version % 26);
  }
  return std::to_string(key) + "@" + std::to_string(version) + ":" + value;
}

// Keys [from, to) at `version`, in the database and, if there is one, in the model.
inline rdb::Status Put(rdb::DB* db, rdb::ColumnFamilyHandle* family, uint64_t from, uint64_t to, uint64_t version,
                       Model* model, const rdb::WriteOptions& options = {}) {
  for (uint64_t key = from; key < to; ++key) {
    const std::string value = ValueOf(key, version);
    const rdb::Status status = db->Put(options, family, KeyOf(key), value);
    if (!status.ok()) return status;
    if (model != nullptr) (*model)[KeyOf(key)] = value;
  }
  return rdb::Status::OK();
}
inline rdb::Status Put(rdb::DB* db, uint64_t from, uint64_t to, uint64_t version, Model* model,
                       const rdb::WriteOptions& options = {}) {
  return Put(db, db->DefaultColumnFamily(), from, to, version, model, options);
}

// "" if the database holds exactly the model; else the first difference.
inline std::string Difference(rdb::DB* db, rdb::ColumnFamilyHandle* family, const Model& model) {
  const std::unique_ptr<rdb::Iterator> it(db->NewIterator({}, family));
  auto expected = model.begin();
  for (it->SeekToFirst(); it->Valid(); it->Next(), ++expected) {
    const std::string key = it->key().ToString();
    if (expected == model.end() || key < expected->first) return key + " should not be there";
    if (key != expected->first) return expected->first + " is missing";
    if (it->value() != rdb::Slice(expected->second)) {
      return key + " has the value " + it->value().ToString().substr(0, 20) + "... of " +
             std::to_string(it->value().size()) + " bytes, not " + expected->second.substr(0, 20) + "... of " +
             std::to_string(expected->second.size());
    }
  }
  if (!it->status().ok()) return it->status().ToString();
  return expected == model.end() ? "" : expected->first + " and what follows is missing";
}
inline std::string Difference(rdb::DB* db, const Model& model) {
  return Difference(db, db->DefaultColumnFamily(), model);
}

}  // namespace furrow

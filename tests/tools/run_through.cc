// SPDX-License-Identifier: Apache-2.0
//
// A library that keeps a counter in a database at `path` and knows nothing of file systems; run_user.cc is its user.
#include <cstdio>
#include <memory>

#include "rocksdb/db.h"

int CountInDatabase(const char* path) {
  namespace rdb = ROCKSDB_NAMESPACE;
  rdb::Options options;
  options.create_if_missing = true;
  rdb::DB* raw = nullptr;
  rdb::Status status = rdb::DB::Open(options, path, &raw);
  const std::unique_ptr<rdb::DB> db(raw);
  std::string value;
  if (status.ok()) status = db->Get(rdb::ReadOptions(), "count", &value);
  const int count = status.ok() ? std::stoi(value) + 1 : 1;
  if (status.ok() || status.IsNotFound()) status = db->Put(rdb::WriteOptions(), "count", std::to_string(count));
  if (status.ok()) return count;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return -1;
}

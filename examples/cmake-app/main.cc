// SPDX-License-Identifier: Apache-2.0
//
// An application that knows Furrow by a URI alone, as it would come from its configuration; all else is RocksDB.
// Each run adds a line to a log in the database and prints the log.
//   app furrow://dir:/var/tmp/zones      (made by: furrow mkfs furrow://dir:/var/tmp/zones)
#include <cstdio>
#include <memory>
#include <string>

#include "furrow/furrow.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/options.h"

namespace {

rocksdb::Status AddAndPrint(rocksdb::DB* db) {
  const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(rocksdb::ReadOptions()));
  int lines = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) ++lines;
  if (!it->status().ok()) return it->status();

  rocksdb::WriteOptions durable;
  durable.sync = true;
  const std::string line = "run " + std::to_string(lines + 1);
  rocksdb::Status status = db->Put(durable, line, "with Furrow " + std::string(furrow::VersionString()));
  if (!status.ok()) return status;

  const std::unique_ptr<rocksdb::Iterator> all(db->NewIterator(rocksdb::ReadOptions()));
  for (all->SeekToFirst(); all->Valid(); all->Next()) {
    std::printf("%s %s\n", all->key().ToString().c_str(), all->value().ToString().c_str());
  }
  return all->status();
}

rocksdb::Status Run(const std::string& uri) {
  // The library registers itself when it is loaded. Calling it also keeps a linker with --as-needed from dropping it.
  rocksdb::Status status = furrow::Register();
  if (!status.ok()) return status;
  rocksdb::Options options;
  options.create_if_missing = true;
  std::shared_ptr<rocksdb::Env> guard;  // declared before the database: it must outlive it
  status = rocksdb::Env::CreateFromUri(rocksdb::ConfigOptions(), "", uri, &options.env, &guard);
  if (!status.ok()) return status;
  rocksdb::DB* opened = nullptr;
  status = rocksdb::DB::Open(options, "/app", &opened);
  if (!status.ok()) return status;
  const std::unique_ptr<rocksdb::DB> db(opened);
  status = AddAndPrint(db.get());
  const rocksdb::Status closed = db->Close();
  return status.ok() ? closed : status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s furrow://dir:/var/tmp/zones\n", argv[0]);
    return 2;
  }
  const rocksdb::Status status = Run(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "app: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}

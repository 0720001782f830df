// SPDX-License-Identifier: Apache-2.0
//
// face_leak URI write: puts a key without a sync and ends the process with database, Env and mount still open, as
// careless applications do. face_leak URI read: exit 0 if the key is there. For stock_tools.sh.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "furrow/furrow.h"
#include "rocksdb/db.h"

namespace {

int Fail(const rocksdb::Status& status) {
  std::fprintf(stderr, "face_leak: %s\n", status.ToString().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::unique_ptr<rocksdb::Env> env;
  rocksdb::Status status = furrow::NewFurrowEnv(argv[1], furrow::MountOptions(), &env);
  if (!status.ok()) return Fail(status);
  rocksdb::Options options;
  options.env = env.release();  // never destroyed
  options.create_if_missing = true;
  rocksdb::DB* db = nullptr;  // never closed
  status = rocksdb::DB::Open(options, "/leaked", &db);
  if (!status.ok()) return Fail(status);
  if (std::string(argv[2]) == "write") {
    status = db->Put({}, "key", "unsynced");
    return status.ok() ? 0 : Fail(status);
  }
  std::string value;
  status = db->Get({}, "key", &value);
  if (!status.ok()) return Fail(status);
  return value == "unsynced" ? 0 : 1;
}

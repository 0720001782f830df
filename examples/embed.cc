// SPDX-License-Identifier: Apache-2.0
//
// An application with a RocksDB database on Furrow: formats the device on the first run, counts its runs in the
// database.
//   embed [furrow://dir:/var/tmp/zones]
#include <cstdio>
#include <memory>
#include <string>

#include "furrow/furrow.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"

namespace {

rocksdb::Status OpenEnv(const std::string& uri, std::unique_ptr<rocksdb::Env>* env) {
  rocksdb::Status status = furrow::NewFurrowEnv(uri, furrow::MountOptions(), env);
  if (!status.IsPathNotFound()) return status;
  std::printf("formatting %s\n", uri.c_str());
  furrow::MkfsOptions shape;  // an emulated device: 64 zones of 16 MiB
  shape.zones = 64;
  shape.zone_size = 16 << 20;
  status = furrow::Mkfs(uri, shape);
  return status.ok() ? furrow::NewFurrowEnv(uri, furrow::MountOptions(), env) : status;
}

rocksdb::Status CountRuns(rocksdb::DB* db) {
  std::string runs;
  rocksdb::Status status = db->Get(rocksdb::ReadOptions(), "runs", &runs);
  if (!status.ok() && !status.IsNotFound()) return status;
  runs = std::to_string((runs.empty() ? 0 : std::stoul(runs)) + 1);
  rocksdb::WriteOptions durable;
  durable.sync = true;
  status = db->Put(durable, "runs", runs);
  for (int i = 0; status.ok() && i < 10000; ++i) {
    status = db->Put(rocksdb::WriteOptions(), "key" + std::to_string(i), std::string(100, 'v') + runs);
  }
  if (status.ok()) status = db->Flush(rocksdb::FlushOptions());
  std::string value;
  if (status.ok()) status = db->Get(rocksdb::ReadOptions(), "key9999", &value);
  if (status.ok() && value != std::string(100, 'v') + runs)
    return rocksdb::Status::Corruption("key9999 is not what was put");
  if (status.ok()) std::printf("run %s: 10000 keys written and flushed\n", runs.c_str());
  return status;
}

rocksdb::Status Run(const std::string& uri) {
  std::unique_ptr<rocksdb::Env> env;  // declared first: it must outlive the database and its options
  rocksdb::Status status = OpenEnv(uri, &env);
  if (!status.ok()) return status;

  rocksdb::Options options;
  options.env = env.get();
  options.create_if_missing = true;
  rocksdb::DB* opened = nullptr;
  status = rocksdb::DB::Open(options, "/example", &opened);
  if (!status.ok()) return status;
  const std::unique_ptr<rocksdb::DB> db(opened);

  status = CountRuns(db.get());
  furrow::UsageSnapshot usage;
  if (status.ok()) status = furrow::Usage(env->GetFileSystem().get(), &usage);
  if (status.ok()) {
    std::printf("%s: %llu of %llu bytes live, write factor %.3f\n", usage.device.c_str(),
                static_cast<unsigned long long>(usage.live_bytes),
                static_cast<unsigned long long>(usage.capacity_bytes), usage.write_factor());
  }
  const rocksdb::Status closed = db->Close();
  return status.ok() ? closed : status;
}

}  // namespace

int main(int argc, char** argv) {
  const rocksdb::Status status = Run(argc > 1 ? argv[1] : "furrow://dir:/var/tmp/furrow-example");
  if (!status.ok()) std::fprintf(stderr, "embed: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}

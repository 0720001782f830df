// SPDX-License-Identifier: Apache-2.0
//
// features_child ROLE URI: the second process of the tests (features_child.h). Reads commands from standard input,
// answers each with one line, "done" or an error, and ends with the input. Exit code: 0, or 1 after an error.
//   primary   the writer of the database /db: put FROM TO VERSION | flush | compact
//   mkfs      mkfs ZONES ZONE_BYTES BLOCK_BYTES
//   holder    the mount alone: write PATH BYTES | drop PATH BYTES (written, and the writer destroyed without a close)
#include <iostream>
#include <sstream>
#include <string>

#include "furrow/furrow.h"
#include "rocksdb/options.h"
#include "tests/conformance/features_data.h"

namespace furrow {
namespace {

class Child {
 public:
  Child(std::string role, std::string uri) : role_(std::move(role)), uri_(std::move(uri)) {}

  int Run() {
    rdb::Status first;
    std::string line;
    while (std::getline(std::cin, line)) {
      std::istringstream words(line);
      std::string command;
      words >> command;
      rdb::Status status = role_ == "mkfs" ? Format(&words) : Mounted();
      if (status.ok() && role_ == "primary") status = Primary(command, &words);
      if (status.ok() && role_ == "holder") status = Holder(command, &words);
      std::cout << (status.ok() ? "done" : status.ToString()) << std::endl;
      if (first.ok()) first = status;
    }
    if (db_ && first.ok()) first = db_->Close();
    return first.ok() ? 0 : 1;
  }

 private:
  rdb::Status Format(std::istringstream* words) {
    MkfsOptions options;
    *words >> options.zones >> options.zone_size >> options.block_size;
    return Mkfs(uri_, options);
  }

  rdb::Status Mounted() {
    if (fs_) return rdb::Status::OK();
    const rdb::Status status = NewFurrowFileSystem(uri_, MountOptions(), &fs_);
    if (status.ok()) env_ = rdb::NewCompositeEnv(fs_);
    return status;
  }

  rdb::Status Primary(const std::string& command, std::istringstream* words) {
    if (!db_) {
      rdb::Options options;
      options.env = env_.get();
      options.create_if_missing = true;
      options.write_buffer_size = options.target_file_size_base = 256 << 10;
      rdb::DB* db = nullptr;
      const rdb::Status status = rdb::DB::Open(options, "/db", &db);
      db_.reset(db);
      if (!status.ok()) return status;
    }
    if (command == "flush") return db_->Flush({});
    if (command == "compact") return db_->CompactRange({}, nullptr, nullptr);
    uint64_t from = 0, to = 0, version = 0;
    *words >> from >> to >> version;
    return command == "put" ? Put(db_.get(), from, to, version, nullptr) : rdb::Status::InvalidArgument(command);
  }

  rdb::Status Holder(const std::string& command, std::istringstream* words) {
    std::string path;
    size_t bytes = 0;
    *words >> path >> bytes;
    std::unique_ptr<rdb::FSWritableFile> file;
    rdb::IOStatus status = fs_->NewWritableFile(path, {}, &file, nullptr);
    if (status.ok()) status = file->Append(std::string(bytes, 'h'), {}, nullptr);
    return status.ok() && command == "write" ? file->Close({}, nullptr) : status;
  }

  const std::string role_, uri_;
  std::shared_ptr<rdb::FileSystem> fs_;
  std::unique_ptr<rdb::Env> env_;
  std::unique_ptr<rdb::DB> db_;
};

}  // namespace
}  // namespace furrow

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: features_child primary|mkfs|holder URI\n";
    return 2;
  }
  return furrow::Child(argv[1], argv[2]).Run();
}

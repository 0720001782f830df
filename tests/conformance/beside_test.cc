// SPDX-License-Identifier: Apache-2.0
//
// The program of readers.sh: a writer, and processes that look on while it works.
//   beside_test write URI FILLS [--plant]      a database /db and plain files /raw/N.sst, overwritten until FILLS times
//                                              the device's capacity was written. --plant: some of it is wrong on
//                                              purpose, and a reader must notice
//   beside_test secondary URI DB STOP [--any]  a secondary instance of DB, its own directory on the device, too. It
//   catches
//                                              up and reads until the file STOP exists. --any: values are not the
//                                              writer's of above
//   beside_test read URI STOP                  reads /raw/N.sst, also after they were deleted
// Each value and each plain file tells what it must be. Exit codes: 0 ok, 1 other bytes, or an error that is neither
// "stale" nor "not found", 2 usage, 3 nothing was read. The last line says how much was seen.
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "furrow/furrow.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "rocksdb/options.h"

namespace furrow {
namespace {

namespace rdb = ROCKSDB_NAMESPACE;

constexpr size_t kValueBytes = 1000;
constexpr size_t kRawBytesPart = 7;  // eighths of a zone that a plain file takes

uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

// n bytes that only this seed gives.
std::string Pattern(uint64_t seed, size_t from, size_t n) {
  std::string out(n, '\0');
  for (size_t i = 0; i < n; i++)
    out[i] = static_cast<char>(Mix(seed * 0x9e3779b97f4a7c15ull + (from + i) / 8) >> ((from + i) % 8 * 8));
  return out;
}

std::string KeyOf(uint64_t key) {
  char text[24];
  std::snprintf(text, sizeof(text), "%016" PRIu64, key);
  return text;
}

// {version, bytes that follow from key and version}.
std::string ValueOf(uint64_t key, uint64_t version) {
  std::string value(reinterpret_cast<const char*>(&version), sizeof(version));
  return value + Pattern(key ^ Mix(version), 0, kValueBytes);
}

bool IsValueOf(const rdb::Slice& key, const rdb::Slice& value, uint64_t* version) {
  if (value.size() != sizeof(*version) + kValueBytes) return false;
  std::memcpy(version, value.data(), sizeof(*version));
  return value == ValueOf(std::strtoull(key.ToString().c_str(), nullptr, 10), *version);
}

std::string RawPath(uint64_t id) { return "/raw/" + std::to_string(id) + ".sst"; }

int Fail(const std::string& what) {
  std::fprintf(stderr, "beside_test: %s\n", what.c_str());
  return 1;
}

// What a reader beside a writer may be told.
bool MayBe(const rdb::Status& status) {
  return status.ok() || status.IsNotFound() || status.IsPathNotFound() ||
         status.ToString().find("stale: deleted by the writer") != std::string::npos ||
         // A file of the primary that was gone before it was opened.
         status.ToString().find("does not exist") != std::string::npos;
}

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

std::string ReadOnly(const std::string& uri) {
  return uri + (uri.find('?') == std::string::npos ? "?" : "&") + "mount=ro";
}

// --- the writer -----------------------------------------------------------------------------

class Writer {
 public:
  Writer(std::shared_ptr<rdb::FileSystem> fs, bool plant)
      : fs_(std::move(fs)), env_(rdb::NewCompositeEnv(fs_)), plant_(plant) {}

  int Run(uint64_t fills) {
    UsageSnapshot usage;
    rdb::Status status = Usage(fs_.get(), &usage);
    if (!status.ok()) return Fail(status.ToString());
    zone_ = usage.zone_capacity;
    // What is dead is given back zone by zone, so tables are about as big as one; see overwrite.sh.
    const uint64_t keys = (usage.capacity_bytes - usage.reserve_bytes) / 4 / 4 / (kValueBytes + 32);
    status = Open();
    for (uint64_t i = 0; status.ok() && usage.host_bytes_written < fills * usage.capacity_bytes; i++) {
      status = Put(Mix(i) % keys, i);
      if (status.ok() && i % (keys / 4) == 0) status = WriteRaw();
      if (status.ok() && i % 1000 == 0) status = Usage(fs_.get(), &usage);
    }
    if (status.ok()) status = db_->Close();
    if (!status.ok()) return Fail(status.ToString());
    std::printf("wrote %" PRIu64 " MiB, %" PRIu64 " plain files\n", usage.host_bytes_written >> 20, raw_);
    return 0;
  }

 private:
  rdb::Status Open() {
    rdb::Options options;
    options.env = env_.get();
    options.create_if_missing = true;
    options.write_buffer_size = options.target_file_size_base = zone_ * 60 / 64;
    options.max_bytes_for_level_base = 4 * options.write_buffer_size;
    options.compression = rdb::kNoCompression;
    options.max_background_jobs = 2;
    rdb::DB* db = nullptr;
    rdb::Status status = rdb::DB::Open(options, "/db", &db);
    db_.reset(db);
    if (status.ok()) status = fs_->CreateDirIfMissing("/raw", {}, nullptr);
    return status;
  }

  rdb::Status Put(uint64_t key, uint64_t version) {
    rdb::WriteOptions options;
    options.sync = version % 500 == 0;
    std::string value = ValueOf(key, version);
    if (plant_ && version % 50 == 1) value[500] = static_cast<char>(value[500] ^ 1);
    return db_->Put(options, KeyOf(key), value);
  }

  // The next plain file, and away with the one before the last.
  rdb::Status WriteRaw() {
    const uint64_t id = ++raw_;
    std::unique_ptr<rdb::FSWritableFile> file;
    rdb::IOStatus status = fs_->NewWritableFile(RawPath(id), {}, &file, nullptr);
    const size_t bytes = zone_ * kRawBytesPart / 8;
    for (size_t at = 0; status.ok() && at < bytes; at += 1 << 20) {
      status =
          file->Append(Pattern(plant_ && id > 2 ? id + 1 : id, at, std::min<size_t>(1 << 20, bytes - at)), {}, nullptr);
    }
    if (status.ok() && id % 2 == 0) status = file->Sync({}, nullptr);
    if (status.ok()) status = file->Close({}, nullptr);
    if (status.ok() && id > 2) status = fs_->DeleteFile(RawPath(id - 2), {}, nullptr);
    return status;
  }

  const std::shared_ptr<rdb::FileSystem> fs_;
  const std::unique_ptr<rdb::Env> env_;
  const bool plant_;
  std::unique_ptr<rdb::DB> db_;
  uint64_t zone_ = 0, raw_ = 0;
};

// --- a secondary ----------------------------------------------------------------------------

class Secondary {
 public:
  Secondary(rdb::Env* env, std::string path, bool any) : env_(env), path_(std::move(path)), any_(any) {}

  int Run(const std::string& stop) {
    while (!Exists(stop)) {
      const rdb::Status status = db_ ? db_->TryCatchUpWithPrimary() : Open();
      if (!MayBe(status)) return Fail("catching up: " + status.ToString());
      if (!status.ok()) {
        refused_++;
        env_->SleepForMicroseconds(10000);
        continue;
      }
      caught_up_++;
      const uint64_t sequence = db_->GetLatestSequenceNumber();
      if (sequence > newest_) progress_++;
      newest_ = std::max(newest_, sequence);
      if (const int failed = ReadSome()) return failed;
    }
    std::printf("caught up %" PRIu64 " times, %" PRIu64 " of them with news, to sequence %" PRIu64 "; %" PRIu64
                " values, %" PRIu64 " times refused or stale\n",
                caught_up_, progress_, newest_, values_, refused_);
    return progress_ >= 3 && values_ > 0 ? 0 : 3;
  }

 private:
  rdb::Status Open() {
    rdb::Options options;
    options.env = env_;
    options.max_open_files = -1;
    rdb::DB* db = nullptr;
    const rdb::Status status = rdb::DB::OpenAsSecondary(options, path_, "/secondary-of" + path_, &db);
    db_.reset(db);
    return status;
  }

  int ReadSome() {
    const std::unique_ptr<rdb::Iterator> it(db_->NewIterator(rdb::ReadOptions()));
    if (any_) {
      it->SeekToFirst();
    } else {
      it->Seek(KeyOf(Mix(caught_up_) % 10000));
    }
    for (int i = 0; i < 300 && it->Valid(); i++, it->Next()) {
      values_++;
      uint64_t version = 0;
      if (any_ || IsValueOf(it->key(), it->value(), &version)) continue;
      return Fail("key " + it->key().ToString() + " has a value that nobody wrote");
    }
    if (!MayBe(it->status())) return Fail("reading: " + it->status().ToString());
    if (!it->status().ok()) refused_++;
    return 0;
  }

  rdb::Env* const env_;
  const std::string path_;
  const bool any_;
  std::unique_ptr<rdb::DB> db_;
  uint64_t caught_up_ = 0, progress_ = 0, newest_ = 0, values_ = 0, refused_ = 0;
};

// --- a reader of plain files ------------------------------------------------------------------

class Reader {
 public:
  explicit Reader(std::shared_ptr<rdb::FileSystem> fs) : fs_(std::move(fs)) {}

  int Run(const std::string& stop) {
    for (uint64_t round = 0; !Exists(stop); round++) {
      if (round % 8 == 0) {
        if (const int failed = OpenNew()) return failed;
      }
      if (open_.empty()) continue;
      if (const int failed = ReadOne(open_[Mix(round) % open_.size()], Mix(round + 1))) return failed;
    }
    std::printf("%" PRIu64 " files, %" PRIu64 " reads right, %" PRIu64 " stale\n", files_, right_, stale_);
    return right_ > 0 ? 0 : 3;
  }

 private:
  struct File {
    uint64_t id = 0, size = 0;
    std::unique_ptr<rdb::FSRandomAccessFile> file;
  };

  // The files that are there now; the last dozen stay open, whatever becomes of them.
  int OpenNew() {
    std::vector<std::string> names;
    const rdb::IOStatus listed = fs_->GetChildren("/raw", {}, &names, nullptr);
    if (!MayBe(listed)) return Fail("/raw: " + listed.ToString());
    for (const std::string& name : names) {
      File file;
      file.id = std::strtoull(name.c_str(), nullptr, 10);
      if (file.id <= newest_) continue;
      rdb::IOStatus status = fs_->NewRandomAccessFile(RawPath(file.id), {}, &file.file, nullptr);
      if (status.ok()) status = fs_->GetFileSize(RawPath(file.id), {}, &file.size, nullptr);
      if (!MayBe(status)) return Fail(RawPath(file.id) + ": " + status.ToString());
      if (!status.ok() || file.size < (256 << 10)) continue;  // gone, or just begun
      files_++;
      newest_ = file.id;
      open_.push_back(std::move(file));
      if (open_.size() > 12) open_.erase(open_.begin());
    }
    return 0;
  }

  int ReadOne(const File& file, uint64_t random) {
    std::string buffer(64 << 10, '?');
    const uint64_t at = random % (file.size - buffer.size());
    rdb::Slice result;
    const rdb::IOStatus status = file.file->Read(at, buffer.size(), {}, &result, buffer.data(), nullptr);
    if (!status.ok()) {
      if (!MayBe(status)) return Fail(RawPath(file.id) + ": " + status.ToString());
      stale_++;
      return 0;
    }
    if (result != Pattern(file.id, at, result.size())) {
      return Fail(RawPath(file.id) + " at " + std::to_string(at) + ": bytes that nobody wrote there");
    }
    right_++;
    return 0;
  }

  const std::shared_ptr<rdb::FileSystem> fs_;
  std::vector<File> open_;
  uint64_t newest_ = 0, files_ = 0, right_ = 0, stale_ = 0;
};

// --- main -------------------------------------------------------------------------------------

int Usage() {
  std::fprintf(stderr,
               "usage: beside_test write URI FILLS [--plant] | secondary URI DB STOP [--any] | read URI STOP\n");
  return 2;
}

int Main(const std::vector<std::string>& words) {
  if (words.size() < 3) return Usage();
  const bool writes = words[0] == "write";
  std::shared_ptr<rdb::FileSystem> fs;
  const rdb::Status status = NewFurrowFileSystem(writes ? words[1] : ReadOnly(words[1]), MountOptions(), &fs);
  if (!status.ok()) return Fail(status.ToString());
  if (writes) return Writer(fs, words.size() > 3).Run(std::strtoull(words[2].c_str(), nullptr, 10));
  if (words[0] == "read") return Reader(fs).Run(words[2]);
  if (words[0] != "secondary" || words.size() < 4) return Usage();
  const std::unique_ptr<rdb::Env> env = rdb::NewCompositeEnv(fs);
  return Secondary(env.get(), words[2], words.size() > 4).Run(words[3]);
}

}  // namespace
}  // namespace furrow

int main(int argc, char** argv) { return furrow::Main(std::vector<std::string>(argv + 1, argv + argc)); }

// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/differential_wrappers.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace furrow {
namespace {

class Oracle final : public rdb::FileSystemWrapper {
 public:
  explicit Oracle(const std::shared_ptr<rdb::FileSystem>& posix) : rdb::FileSystemWrapper(posix) {}
  const char* Name() const override { return "Oracle"; }

  // new_file_on_create: open readers and other links keep the old file.
  rdb::IOStatus NewWritableFile(const std::string& path, const rdb::FileOptions& options,
                                std::unique_ptr<rdb::FSWritableFile>* result, rdb::IODebugContext* dbg) override {
    if (FileExists(path, options.io_options, dbg).ok()) {
      rdb::IOStatus removed = DeleteFile(path, options.io_options, dbg);
      if (!removed.ok()) return removed;
    }
    return rdb::FileSystemWrapper::NewWritableFile(path, options, result, dbg);
  }

  // empty_on_reuse.
  rdb::IOStatus ReuseWritableFile(const std::string& path, const std::string& old_path, const rdb::FileOptions& options,
                                  std::unique_ptr<rdb::FSWritableFile>* result, rdb::IODebugContext* dbg) override {
    bool is_directory = false;
    rdb::IOStatus status = IsDirectory(old_path, options.io_options, &is_directory, dbg);
    if (!status.ok()) return status;
    if (is_directory) return rdb::IOStatus::IOError("a directory cannot be reused", old_path);
    status = RenameFile(old_path, path, options.io_options, dbg);
    if (!status.ok()) return status;
    return NewWritableFile(path, options, result, dbg);
  }

  // makes_parents.
  rdb::IOStatus CreateDirIfMissing(const std::string& path, const rdb::IOOptions& io,
                                   rdb::IODebugContext* dbg) override {
    for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      rdb::IOStatus made = rdb::FileSystemWrapper::CreateDirIfMissing(path.substr(0, slash), io, dbg);
      if (!made.ok()) return made;
    }
    return rdb::FileSystemWrapper::CreateDirIfMissing(path, io, dbg);
  }

  // RocksDB's POSIX file system refuses it, so the host itself is the oracle.
  rdb::IOStatus Truncate(const std::string& path, size_t size, const rdb::IOOptions&, rdb::IODebugContext*) override {
    if (truncate(path.c_str(), static_cast<off_t>(size)) == 0) return rdb::IOStatus::OK();
    if (errno == ENOENT) return rdb::IOStatus::PathNotFound(path, std::strerror(errno));
    return rdb::IOStatus::IOError(path, std::strerror(errno));
  }
};

class FaultyReader final : public rdb::FSRandomAccessFileOwnerWrapper {
 public:
  FaultyReader(std::unique_ptr<rdb::FSRandomAccessFile>&& file, std::shared_ptr<PlantedFault> fault)
      : rdb::FSRandomAccessFileOwnerWrapper(std::move(file)), fault_(std::move(fault)) {}
  rdb::IOStatus Read(uint64_t offset, size_t n, const rdb::IOOptions& io, rdb::Slice* result, char* scratch,
                     rdb::IODebugContext* dbg) const override {
    rdb::IOStatus status = rdb::FSRandomAccessFileOwnerWrapper::Read(offset, n, io, result, scratch, dbg);
    if (status.ok() && result->size() > 100 && !fault_->given) {
      fault_->given = true;
      scratch[result->size() - 1] = static_cast<char>(scratch[result->size() - 1] ^ 1);
    }
    return status;
  }

 private:
  const std::shared_ptr<PlantedFault> fault_;
};

class Faulty final : public rdb::FileSystemWrapper {
 public:
  Faulty(const std::shared_ptr<rdb::FileSystem>& fs, std::shared_ptr<PlantedFault> fault)
      : rdb::FileSystemWrapper(fs), fault_(std::move(fault)) {}
  const char* Name() const override { return "Faulty"; }

  rdb::IOStatus NewRandomAccessFile(const std::string& path, const rdb::FileOptions& options,
                                    std::unique_ptr<rdb::FSRandomAccessFile>* result,
                                    rdb::IODebugContext* dbg) override {
    std::unique_ptr<rdb::FSRandomAccessFile> file;
    rdb::IOStatus status = rdb::FileSystemWrapper::NewRandomAccessFile(path, options, &file, dbg);
    if (status.ok() && fault_->kind == PlantedFault::Kind::kByte) {
      *result = std::make_unique<FaultyReader>(std::move(file), fault_);
    } else {
      *result = std::move(file);
    }
    return status;
  }

  rdb::IOStatus GetFileSize(const std::string& path, const rdb::IOOptions& io, uint64_t* size,
                            rdb::IODebugContext* dbg) override {
    rdb::IOStatus status = rdb::FileSystemWrapper::GetFileSize(path, io, size, dbg);
    if (status.ok() && *size > 100 && Due(PlantedFault::Kind::kSize)) ++*size;
    return status;
  }

  rdb::IOStatus RenameFile(const std::string& from, const std::string& to, const rdb::IOOptions& io,
                           rdb::IODebugContext* dbg) override {
    bool directory = false;
    const bool replaces = from != to && IsDirectory(to, io, &directory, dbg).ok() && !directory;
    if (replaces && FileExists(from, io, dbg).ok() && Due(PlantedFault::Kind::kLost)) return rdb::IOStatus::OK();
    return rdb::FileSystemWrapper::RenameFile(from, to, io, dbg);
  }

 private:
  bool Due(PlantedFault::Kind kind) { return fault_->kind == kind && !std::exchange(fault_->given, true); }
  const std::shared_ptr<PlantedFault> fault_;
};

}  // namespace

std::shared_ptr<rdb::FileSystem> NewOracle(std::shared_ptr<rdb::FileSystem> posix) {
  return std::make_shared<Oracle>(posix);
}

bool ParseFault(const std::string& word, PlantedFault::Kind* kind) {
  for (const PlantedFault::Kind one :
       {PlantedFault::Kind::kNone, PlantedFault::Kind::kByte, PlantedFault::Kind::kSize, PlantedFault::Kind::kLost}) {
    if (word != NameOf(one)) continue;
    *kind = one;
    return true;
  }
  return false;
}

const char* NameOf(PlantedFault::Kind kind) {
  switch (kind) {
    case PlantedFault::Kind::kNone: return "";
    case PlantedFault::Kind::kByte: return "byte";
    case PlantedFault::Kind::kSize: return "size";
    case PlantedFault::Kind::kLost: return "lost";
  }
  return "";
}

std::shared_ptr<rdb::FileSystem> NewFaulty(std::shared_ptr<rdb::FileSystem> fs, std::shared_ptr<PlantedFault> fault) {
  return std::make_shared<Faulty>(fs, std::move(fault));
}

}  // namespace furrow

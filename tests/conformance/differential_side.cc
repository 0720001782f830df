// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/differential_side.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace furrow {
namespace {

const rdb::IOOptions kIo;

CallOutcome Said(const rdb::Status& status) { return {ClassOf(status), "", status.ok()}; }

CallOutcome Said(const rdb::Status& status, const std::string& more) {
  CallOutcome outcome = Said(status);
  if (status.ok()) outcome.text += " " + more;
  return outcome;
}

CallOutcome SaidBytes(const rdb::Status& status, const rdb::Slice& bytes) {
  CallOutcome outcome = Said(status, std::to_string(bytes.size()) + " bytes");
  if (status.ok()) outcome.data = bytes.ToString();
  return outcome;
}

}  // namespace

std::string ClassOf(const rdb::Status& status) {
  if (status.ok()) return "OK";
  if (status.IsPathNotFound()) return "PathNotFound";
  if (status.IsNotFound()) return "NotFound";
  if (status.IsNoSpace()) return "NoSpace";
  if (status.IsIOError()) return "IOError";
  if (status.IsNotSupported()) return "NotSupported";
  if (status.IsInvalidArgument()) return "InvalidArgument";
  if (status.IsCorruption()) return "Corruption";
  if (status.IsBusy()) return "Busy";
  return "other: " + status.ToString();
}

DifferentialSide::DifferentialSide(FsTarget* target, std::shared_ptr<rdb::FileSystem> fs)
    : target_(target), fs_(std::move(fs)) {}

DifferentialSide::~DifferentialSide() {
  if (fs_) EndHandles();
}

CallOutcome DifferentialSide::Apply(const DifferentialOp& op) {
  if (op.code == OpCode::kTree) return Tree();
  if (op.code <= OpCode::kDropWriter) return ApplyWriter(op);
  if (op.code <= OpCode::kDropSequential) return ApplyReader(op);
  if (op.code <= OpCode::kCloseRandomWrite) return ApplyRandomWrite(op);
  if (op.code <= OpCode::kIsDirectory) return ApplyName(op);
  return ApplyDirectory(op);
}

// --- writers ---

CallOutcome DifferentialSide::OpenWriter(const DifferentialOp& op) {
  std::unique_ptr<rdb::FSWritableFile>& writer = writers_[op.slot];
  writer.reset();
  rdb::FileOptions options;
  // The oracle's root is in memory, which has no direct writes; what comes out of them is the same.
  options.use_direct_writes = op.direct && target_->kind() != FsTarget::Kind::kPosix;
  const std::string path = Path(op.path);
  if (op.code == OpCode::kCreate) return Said(fs_->NewWritableFile(path, options, &writer, nullptr));
  if (op.code == OpCode::kReopen) return Said(fs_->ReopenWritableFile(path, options, &writer, nullptr));
  return Said(fs_->ReuseWritableFile(path, Path(op.other), options, &writer, nullptr));
}

CallOutcome DifferentialSide::ApplyWriter(const DifferentialOp& op) {
  if (op.code <= OpCode::kReuse) return OpenWriter(op);
  std::unique_ptr<rdb::FSWritableFile>& writer = writers_[op.slot];
  switch (op.code) {
    case OpCode::kAppend: return Said(writer->Append(PayloadOf(op.seed, op.length), kIo, nullptr));
    case OpCode::kPositionedAppend:
      return Said(writer->PositionedAppend(PayloadOf(op.seed, op.length), op.offset, kIo, nullptr));
    case OpCode::kFlush: return Said(writer->Flush(kIo, nullptr));
    case OpCode::kSync: return Said(writer->Sync(kIo, nullptr));
    case OpCode::kRangeSync: return Said(writer->RangeSync(0, op.length, kIo, nullptr));
    case OpCode::kTruncateWriter: return Said(writer->Truncate(op.offset, kIo, nullptr));
    case OpCode::kWriterSize: return Said(rdb::IOStatus::OK(), std::to_string(writer->GetFileSize(kIo, nullptr)));
    case OpCode::kCloseWriter: {
      const CallOutcome closed = Said(writer->Close(kIo, nullptr));
      writer.reset();
      return closed;
    }
    default: writer.reset(); return Said(rdb::IOStatus::OK());
  }
}

// --- readers ---

CallOutcome DifferentialSide::Read(const DifferentialOp& op) const {
  std::string buffer(op.length, '\0');
  rdb::Slice result;
  const rdb::IOStatus status = randoms_[op.slot]->Read(op.offset, op.length, kIo, &result, buffer.data(), nullptr);
  return SaidBytes(status, result);
}

// Three pieces: the one that is asked for, one before it, one block behind it.
CallOutcome DifferentialSide::MultiRead(const DifferentialOp& op) {
  std::array<rdb::FSReadRequest, 3> requests;
  std::array<std::string, 3> buffers;
  const std::array<uint64_t, 3> offsets = {op.offset, op.offset / 2, op.offset + op.length};
  const std::array<uint64_t, 3> lengths = {op.length, op.length / 3, 4096};
  for (size_t i = 0; i < requests.size(); ++i) {
    buffers[i].resize(lengths[i]);
    requests[i].offset = offsets[i];
    requests[i].len = lengths[i];
    requests[i].scratch = buffers[i].data();
  }
  CallOutcome all = Said(randoms_[op.slot]->MultiRead(requests.data(), requests.size(), kIo, nullptr));
  for (const rdb::FSReadRequest& request : requests) {
    const CallOutcome one = SaidBytes(request.status, request.result);
    all.text += "; " + one.text;
    all.data += one.data;
  }
  return all;
}

CallOutcome DifferentialSide::ApplyReader(const DifferentialOp& op) {
  std::unique_ptr<rdb::FSRandomAccessFile>& random = randoms_[op.slot];
  std::unique_ptr<rdb::FSSequentialFile>& sequential = sequentials_[op.slot];
  switch (op.code) {
    case OpCode::kOpenRandom:
      random.reset();
      return Said(fs_->NewRandomAccessFile(Path(op.path), {}, &random, nullptr));
    case OpCode::kRead: return Read(op);
    case OpCode::kMultiRead: return MultiRead(op);
    case OpCode::kDropRandom: random.reset(); return Said(rdb::IOStatus::OK());
    case OpCode::kOpenSequential:
      sequential.reset();
      return Said(fs_->NewSequentialFile(Path(op.path), {}, &sequential, nullptr));
    case OpCode::kReadNext: {
      std::string buffer(op.length, '\0');
      rdb::Slice result;
      const rdb::IOStatus status = sequential->Read(op.length, kIo, &result, buffer.data(), nullptr);
      return SaidBytes(status, result);
    }
    case OpCode::kSkip: return Said(sequential->Skip(op.length));
    default: sequential.reset(); return Said(rdb::IOStatus::OK());
  }
}

// --- random writes ---

CallOutcome DifferentialSide::ApplyRandomWrite(const DifferentialOp& op) {
  std::unique_ptr<rdb::FSRandomRWFile>& file = random_writers_[op.slot];
  switch (op.code) {
    case OpCode::kOpenRandomWrite: file.reset(); return Said(fs_->NewRandomRWFile(Path(op.path), {}, &file, nullptr));
    case OpCode::kWriteAt: return Said(file->Write(op.offset, PayloadOf(op.seed, op.length), kIo, nullptr));
    case OpCode::kReadBack: {
      std::string buffer(op.length, '\0');
      rdb::Slice result;
      const rdb::IOStatus status = file->Read(op.offset, op.length, kIo, &result, buffer.data(), nullptr);
      return SaidBytes(status, result);
    }
    case OpCode::kSyncRandomWrite: return Said(file->Sync(kIo, nullptr));
    default: {
      const CallOutcome closed = Said(file->Close(kIo, nullptr));
      file.reset();
      return closed;
    }
  }
}

// --- names ---

CallOutcome DifferentialSide::Size(const std::string& path) {
  uint64_t size = 0;
  const rdb::IOStatus status = fs_->GetFileSize(path, kIo, &size, nullptr);
  // That of a directory is the host's affair.
  return Said(status, status.ok() && IsDirectory(path) ? "directory" : std::to_string(size));
}

CallOutcome DifferentialSide::ApplyName(const DifferentialOp& op) {
  const std::string path = Path(op.path);
  const std::string other = Path(op.other);
  switch (op.code) {
    case OpCode::kDelete: return Said(fs_->DeleteFile(path, kIo, nullptr));
    case OpCode::kTruncate: return Said(fs_->Truncate(path, op.offset, kIo, nullptr));
    case OpCode::kRename: return Said(fs_->RenameFile(path, other, kIo, nullptr));
    case OpCode::kLink: return Said(fs_->LinkFile(path, other, kIo, nullptr));
    case OpCode::kSame: {
      bool same = false;
      const rdb::IOStatus status = fs_->AreFilesSame(path, other, kIo, &same, nullptr);
      return Said(status, same ? "same" : "different");
    }
    case OpCode::kSize: return Size(path);
    case OpCode::kTime: {
      uint64_t seconds = 0;
      const rdb::IOStatus status = fs_->GetFileModificationTime(path, kIo, &seconds, nullptr);
      return Said(status, seconds > 1'600'000'000 ? "recent" : "long ago");
    }
    case OpCode::kExists: return Said(fs_->FileExists(path, kIo, nullptr));
    default: {
      bool is_directory = false;
      const rdb::IOStatus status = fs_->IsDirectory(path, kIo, &is_directory, nullptr);
      return Said(status, is_directory ? "directory" : "file");
    }
  }
}

// --- directories and locks ---

CallOutcome DifferentialSide::Children(const std::string& path) {
  std::vector<std::string> names;
  const rdb::IOStatus status = fs_->GetChildren(path, kIo, &names, nullptr);
  std::sort(names.begin(), names.end());
  std::string all;
  for (const std::string& name : names) all += name + " ";
  return Said(status, all);
}

CallOutcome DifferentialSide::Attributes(const std::string& path) {
  std::vector<rdb::FileAttributes> children;
  const rdb::IOStatus status = fs_->GetChildrenFileAttributes(path, kIo, &children, nullptr);
  std::sort(children.begin(), children.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  std::string all;
  for (const rdb::FileAttributes& child : children) {
    const bool directory = IsDirectory(path + "/" + child.name);
    all += child.name + ":" + (directory ? "directory" : std::to_string(child.size_bytes)) + " ";
  }
  return Said(status, all);
}

CallOutcome DifferentialSide::Unlock(uint32_t slot) {
  rdb::FileLock* const lock = std::exchange(locks_[slot], nullptr);
  return Said(lock != nullptr ? fs_->UnlockFile(lock, kIo, nullptr) : rdb::IOStatus::OK());
}

CallOutcome DifferentialSide::Lock(const DifferentialOp& op) {
  const CallOutcome before = Unlock(op.slot);
  CallOutcome after = Said(fs_->LockFile(Path(op.path), kIo, &locks_[op.slot], nullptr));
  if (!after.ok) locks_[op.slot] = nullptr;
  after.text = before.text + ", then " + after.text;
  return after;
}

CallOutcome DifferentialSide::ApplyDirectory(const DifferentialOp& op) {
  const std::string path = Path(op.path);
  switch (op.code) {
    case OpCode::kCreateDir: return Said(fs_->CreateDir(path, kIo, nullptr));
    case OpCode::kCreateDirIfMissing: return Said(fs_->CreateDirIfMissing(path, kIo, nullptr));
    case OpCode::kDeleteDir: return Said(fs_->DeleteDir(path, kIo, nullptr));
    case OpCode::kChildren: return Children(path);
    case OpCode::kAttributes: return Attributes(path);
    case OpCode::kSyncDirectory: {
      std::unique_ptr<rdb::FSDirectory> directory;
      const rdb::IOStatus opened = fs_->NewDirectory(path, kIo, &directory, nullptr);
      return Said(opened.ok() ? directory->Fsync(kIo, nullptr) : opened);
    }
    case OpCode::kLock: return Lock(op);
    default: return Unlock(op.slot);
  }
}

bool DifferentialSide::IsDirectory(const std::string& path) {
  bool is_directory = false;
  return fs_->IsDirectory(path, kIo, &is_directory, nullptr).ok() && is_directory;
}

// --- everything ---

CallOutcome DifferentialSide::Tree() {
  CallOutcome tree;
  AddToTree("", &tree);
  tree.ok = true;
  return tree;
}

void DifferentialSide::AddToTree(const std::string& name, CallOutcome* tree) {
  std::vector<std::string> names;
  const rdb::IOStatus status = fs_->GetChildren(Path(name), kIo, &names, nullptr);
  tree->text += name + "/ " + ClassOf(status) + "\n";
  std::sort(names.begin(), names.end());
  for (const std::string& child : names) {
    const std::string below = name + "/" + child;
    if (IsDirectory(Path(below))) {
      AddToTree(below, tree);
    } else {
      AddFileToTree(below, tree);
    }
  }
}

void DifferentialSide::AddFileToTree(const std::string& name, CallOutcome* tree) {
  uint64_t size = 0;
  const rdb::IOStatus sized = fs_->GetFileSize(Path(name), kIo, &size, nullptr);
  std::unique_ptr<rdb::FSRandomAccessFile> file;
  rdb::IOStatus status = fs_->NewRandomAccessFile(Path(name), {}, &file, nullptr);
  std::string buffer(size + 1, '\0');
  rdb::Slice result;
  if (status.ok()) status = file->Read(0, buffer.size(), kIo, &result, buffer.data(), nullptr);
  tree->text += name + " " + ClassOf(sized) + " " + std::to_string(size) + ", " + ClassOf(status) + " " +
                std::to_string(result.size()) + "\n";
  tree->data.append(result.data(), result.size());
}

void DifferentialSide::EndHandles() {
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    if (slot % 2 == 0 && writers_[slot]) writers_[slot]->Close(kIo, nullptr).PermitUncheckedError();
    if (slot % 2 == 0 && random_writers_[slot]) random_writers_[slot]->Close(kIo, nullptr).PermitUncheckedError();
    writers_[slot].reset();
    randoms_[slot].reset();
    sequentials_[slot].reset();
    random_writers_[slot].reset();
    Unlock(slot);
  }
}

}  // namespace furrow

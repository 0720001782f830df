// SPDX-License-Identifier: Apache-2.0
//
// CrashRun: the calls between two crashes.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "plugin/file/drainer.h"
#include "plugin/file/file_reader.h"
#include "plugin/file/random_writer.h"
#include "tests/crash/crash_run.h"

namespace furrow {
namespace {

constexpr size_t kMaxOpen = 6;
constexpr size_t kMaxNames = 40;

}  // namespace

bool CrashRun::Ok(const Status& status, const char* call) {
  calls_ += std::string(" ") + call;
  if (status.ok()) return true;
  calls_ += "!";
  if (status.code() == StatusCode::kNoSpace) {
    ++no_space_;
  } else if (!Faulted() && device_->powered()) {
    Fail(std::string(call) + " without any fault: " + status.ToString());
  } else {
    ++errors_;
    stopped_ = stopped_ || rng_.OneIn(3);
  }
  return false;
}

void CrashRun::Work() {
  stopped_ = false;
  const uint64_t calls = 5 + rng_.Uniform(rng_.OneIn(4) ? 200 : 40);
  for (uint64_t i = 0; i < calls && Writable(); ++i) {
    OneCall();
    if (device_->calls(DeviceCall::kChange) >= stop_at_) stopped_ = true;
  }
  if (!Writable() || !device_->powered() || Faulted() || !rng_.OneIn(3)) return;
  SyncAll();
  if (Writable() && device_->powered() && !Faulted()) CompareSpace();
}

void CrashRun::OneCall() {
  // What has returned outlives the process.
  if (end_ == CrashEnd::kProcessDeath && !Faulted() && no_space_ == no_space_before_ && !died_) {
    model_.EverythingDurable();
  }
  const bool full = model_.live_bytes() > shape_.zones * shape_.zone_bytes / 4 ||
                    model_.names().size() > kMaxNames + shape_.small_files;
  if (full) {
    for (int i = 0; i < 8 && Writable(); ++i) Unlink();
    return;
  }
  uint64_t all = 0;
  for (const uint16_t weight : shape_.mix) all += weight;
  uint64_t dice = rng_.Uniform(all);
  size_t call = 0;
  while (dice >= shape_.mix[call]) dice -= shape_.mix[call++];
  Make(static_cast<CrashCall>(call));
}

void CrashRun::Make(CrashCall call) {
  switch (call) {
    case CrashCall::kCreate: return CreateFile();
    case CrashCall::kReuse: return ReuseLog();
    case CrashCall::kReopen: return OpenAgain();
    case CrashCall::kAppend: return Append();
    case CrashCall::kRewrite: return Rewrite();
    case CrashCall::kRandomWrite: return RandomWrite();
    case CrashCall::kSync: return Sync();
    case CrashCall::kClose: return Close();
    case CrashCall::kTruncate: return TruncateFile();
    case CrashCall::kRename: return RenameFile();
    case CrashCall::kRenameDirectory: return RenameDirectory();
    case CrashCall::kLink: return LinkFile();
    case CrashCall::kUnlink: return Unlink();
    case CrashCall::kDirectory: return MakeOrRemoveDirectory();
    case CrashCall::kSyncAll: return SyncAll();
    case CrashCall::kSyncNames: return SyncNames();
    case CrashCall::kTime: return PassTime();
    case CrashCall::kCheckpoint:
      Ok(volume_->engine().log->Checkpoint(), "checkpoint");  // its failure costs nothing
      return;
    case CrashCall::kHoldReader: return HoldReader();
    case CrashCall::kReadBack: return ReadBack();
  }
}

// --- names ----------------------------------------------------------------------------------

std::string CrashRun::SomePath(bool directory) {
  std::vector<std::string> paths;
  for (const auto& [path, id] : model_.names()) {
    if ((id == CrashModel::kDirectory) == directory) paths.push_back(path);
  }
  return paths.empty() ? "" : paths[rng_.Uniform(paths.size())];
}

std::string CrashRun::SomeDirectory() { return rng_.OneIn(2) ? "" : SomePath(true); }

std::string CrashRun::FreshPath(const char* suffix) {
  static constexpr const char* kSuffixes[] = {".sst", ".sst", ".log", ".log", ".dbtmp"};
  const std::string number = std::to_string(++made_);
  if (!suffix && rng_.OneIn(6)) return SomeDirectory() + "/MANIFEST-" + number;
  return SomeDirectory() + "/" + number + (suffix ? suffix : kSuffixes[rng_.Uniform(std::size(kSuffixes))]);
}

bool CrashRun::IsOpen(uint64_t file) const {
  const auto same = [file](const auto& o) { return o.file == file; };
  return std::any_of(open_.begin(), open_.end(), same) || std::any_of(updates_.begin(), updates_.end(), same);
}

// One thread writes: a file that it has open and does not write to keeps its slot for ever.
size_t CrashRun::MaxOpen() const { return shape_.slots < 10 ? 1 : kMaxOpen; }

void CrashRun::CreateFile() {
  if (open_.size() + updates_.size() >= MaxOpen()) return Close();
  std::string path = FreshPath();
  FileKind kind = KindOfName(path);
  if (rng_.OneIn(8)) {
    path = SomePath(false);
    if (path.empty()) return;
    kind = KindOfName(path);
  }
  Result<OpenedWriter> made = volume_->files().Create(path, kind);
  if (!Ok(made.status(), ("create " + path).c_str())) return;
  const uint64_t file = made->handle.file()->id.value();
  if (rng_.OneIn(2)) made->writer->SetLifetime(static_cast<LifetimeClass>(rng_.Uniform(kLifetimeClasses)));
  model_.Create(path, file);
  open_.push_back({std::move(made).value(), file});
}

void CrashRun::ReuseLog() {
  const std::string old = SomePath(false);
  if (old.empty() || IsOpen(model_.names().at(old)) || open_.size() + updates_.size() >= MaxOpen()) return;
  if (KindOfName(old) != FileKind::kWal) return;
  const std::string path = FreshPath(".log");
  Result<OpenedWriter> made = volume_->files().Reuse(path, old);
  const bool ok = Ok(made.status(), ("reuse " + old + " " + path).c_str());
  model_.Rename(old, path);
  if (!ok) return;
  const uint64_t file = made->handle.file()->id.value();
  model_.Create(path, file);
  open_.push_back({std::move(made).value(), file});
}

void CrashRun::RenameFile() {
  const std::string from = SomePath(false);
  if (from.empty()) return;
  const std::string over = SomePath(false);
  const std::string to = rng_.OneIn(2) ? over : FreshPath();
  const bool same = model_.names().contains(to) && model_.names().at(to) == model_.names().at(from);
  if (Ok(names().Rename(from, to), ("rename " + from + " " + to).c_str()) && !same) model_.Rename(from, to);
}

void CrashRun::RenameDirectory() {
  const std::string from = SomePath(true);
  const std::string parent = SomeDirectory();
  if (from.empty() || (parent + "/").starts_with(from + "/")) return;
  const std::string to = parent + "/d" + std::to_string(++made_);
  if (Ok(names().Rename(from, to), ("rename " + from + " " + to).c_str())) model_.Rename(from, to);
}

void CrashRun::LinkFile() {
  const std::string from = SomePath(false);
  if (from.empty()) return;
  const std::string to = FreshPath();
  if (Ok(names().Link(from, to), ("link " + from + " " + to).c_str())) model_.Link(from, to);
}

void CrashRun::Unlink() {
  const std::string path = SomePath(false);
  if (path.empty()) return;
  if (Ok(names().Unlink(path), ("unlink " + path).c_str())) model_.Remove(path);
}

void CrashRun::MakeOrRemoveDirectory() {
  const std::string old = SomePath(true);
  if (!old.empty() && model_.IsEmptyDirectory(old) && rng_.OneIn(2)) {
    if (Ok(names().RemoveDirectory(old), ("rmdir " + old).c_str())) model_.Remove(old);
    return;
  }
  const std::string path = SomeDirectory() + "/d" + std::to_string(++made_);
  if (Ok(names().MakeDirectory(path, false), ("mkdir " + path).c_str())) model_.MakeDirectory(path);
}

void CrashRun::SyncNames() {
  if (Ok(volume_->files().SyncNames(), "syncnames")) model_.NamesDurable();
}

// --- bytes ------------------------------------------------------------------------------------

// Tells of which file it is, and differs from place to place and from time to time.
std::string CrashRun::NewBytes(uint64_t file, uint64_t n) {
  std::string data(n, '\0');
  const std::string tag = "<" + std::to_string(file & 0xfffffffff) + "." + std::to_string(file >> 36) + ">";
  const uint64_t salt = rng_.Next();
  for (uint64_t i = 0; i < n; ++i) {
    data[i] = i % 64 < tag.size() ? tag[i % 64] : static_cast<char>('A' + (salt >> (i % 16)) % 26 + (i / 64) % 30);
  }
  return data;
}

void CrashRun::OpenAgain() {
  const std::string path = SomePath(false);
  if (path.empty() || IsOpen(model_.names().at(path)) || open_.size() + updates_.size() >= MaxOpen()) return;
  Result<OpenedWriter> opened = volume_->files().OpenForAppend(path);
  if (!Ok(opened.status(), ("reopen " + path).c_str())) return;
  const uint64_t file = opened->handle.file()->id.value();
  open_.push_back({std::move(opened).value(), file});
}

void CrashRun::Append() {
  if (open_.empty()) return CreateFile();
  Open& o = open_[rng_.Uniform(open_.size())];
  const uint64_t most = rng_.OneIn(8) ? 300000 : rng_.OneIn(3) ? 40000 : 3000;
  const std::string data = NewBytes(o.file, 1 + rng_.Uniform(most));
  const uint64_t before = model_.content(o.file).size();
  model_.Append(o.file, data);
  if (!Ok(o.opened.writer->Append(data), ("append " + std::to_string(data.size())).c_str())) {
    model_.Truncate(o.file, before);  // as if nothing had been appended
    return;
  }
  // What a process leaves is what was flushed.
  if (shape_.stage) Ok(o.opened.writer->Flush(), "flush");
}

// As direct mode does: the last block is written again, and goes on.
void CrashRun::Rewrite() {
  if (open_.empty()) return;
  Open& o = open_[rng_.Uniform(open_.size())];
  FileKind kind;
  {
    ReaderLock lock(o.opened.handle.file()->mu);
    kind = o.opened.handle.file()->kind;
  }
  const uint64_t size = model_.content(o.file).size();
  if (kind != FileKind::kBulk || size % 4096 == 0) return;
  const uint64_t at = size / 4096 * 4096;
  const std::string data = NewBytes(o.file, size - at + rng_.Uniform(6000));
  model_.Overwrite(o.file, at, data);
  if (Ok(o.opened.writer->PositionedAppend(data, FileOffset(at)), "rewrite")) {
    if (shape_.stage) Ok(o.opened.writer->Flush(), "flush");
    return;
  }
  // Old bytes or new ones: a sync that follows may mean either.
  model_.Truncate(o.file, size);
  o.unknown = true;
}

// A file that is open for update; null: there is none, and none could be opened.
CrashRun::Update* CrashRun::SomeUpdate() {
  if (!updates_.empty() && !rng_.OneIn(4)) return &updates_[rng_.Uniform(updates_.size())];
  const std::string path = SomePath(false);
  const FileKind kind = KindOfName(path);
  if (path.empty() || IsOpen(model_.names().at(path)) || open_.size() + updates_.size() >= MaxOpen()) return nullptr;
  if (kind == FileKind::kWal || kind == FileKind::kStream) return nullptr;
  Result<OpenedUpdate> opened = volume_->files().OpenForUpdate(path);
  if (opened.status().code() == StatusCode::kNotSupported) return nullptr;  // a log under another name
  if (!Ok(opened.status(), ("update " + path).c_str())) return nullptr;
  const uint64_t file = opened->handle.file()->id.value();
  updates_.push_back({std::move(opened).value(), file});
  return &updates_.back();
}

void CrashRun::RandomWrite() {
  Update* const u = SomeUpdate();
  if (u == nullptr) return;
  if (rng_.OneIn(8)) return SyncUpdate(u);
  const uint64_t size = model_.content(u->file).size();
  const uint64_t at = rng_.Uniform(size + (rng_.OneIn(6) ? 9000 : 1));
  const std::string data = NewBytes(u->file, 1 + rng_.Uniform(rng_.OneIn(5) ? 90000 : 9000));
  model_.Overwrite(u->file, at, data);
  const std::string call =
      "write " + std::to_string(u->file & 0xfffffffff) + " " + std::to_string(at) + "+" + std::to_string(data.size());
  if (!Ok(u->opened.writer->Write(FileOffset(at), data), call.c_str())) model_.Forget(u->file);
}

void CrashRun::SyncUpdate(Update* u) {
  const Status status = u->opened.writer->Sync();
  if (Ok(status, ("syncupdate " + std::to_string(u->file & 0xfffffffff)).c_str())) model_.Synced(u->file);
}

void CrashRun::SyncOpen(Open* o) {
  const Status status = o->opened.writer->Sync();
  if (Ok(status, ("sync " + std::to_string(o->file & 0xfffffffff)).c_str()) && !o->unknown) model_.Synced(o->file);
}

void CrashRun::Sync() {
  if (!updates_.empty() && (open_.empty() || rng_.OneIn(3)))
    return SyncUpdate(&updates_[rng_.Uniform(updates_.size())]);
  if (open_.empty()) return;
  Open& o = open_[rng_.Uniform(open_.size())];
  if (rng_.OneIn(4)) {
    Ok(o.opened.writer->Flush(), "flush");
    return;
  }
  SyncOpen(&o);
}

void CrashRun::Close() {
  if (!updates_.empty() && (open_.empty() || rng_.OneIn(3))) {
    Update u = std::move(updates_.back());
    updates_.pop_back();
    Ok(volume_->files().CloseUpdate(&u.opened), ("closeupdate " + std::to_string(u.file & 0xfffffffff)).c_str());
    return;
  }
  if (!open_.empty()) CloseAt(rng_.Uniform(open_.size()), rng_.OneIn(2));
}

void CrashRun::CloseAt(size_t i, bool sync) {
  Open o = std::move(open_[i]);
  open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
  if (sync) SyncOpen(&o);
  if (!rng_.OneIn(5)) Ok(o.opened.writer->Close(), ("close " + std::to_string(o.file & 0xfffffffff)).c_str());
}

void CrashRun::TruncateFile() {
  const std::string path = SomePath(false);
  if (path.empty() || IsOpen(model_.names().at(path))) return;
  const uint64_t file = model_.names().at(path);
  const uint64_t size = rng_.Uniform(model_.content(file).size() + 1);
  model_.Truncate(file, size, /*piecemeal=*/shape_.stage);
  Ok(volume_->files().TruncateFile(path, size), ("truncate " + path + " " + std::to_string(size)).c_str());
}

void CrashRun::SyncAll() {
  if (Ok(volume_->SyncAll(), "syncall")) EverythingDurable();
}

void CrashRun::PassTime() {
  calls_ += " time";
  scheduler_.Advance(std::chrono::seconds(31));
  volume_->engine().drainer->Kick();
}

void CrashRun::HoldReader() {
  if (readers_.size() > 2) readers_.erase(readers_.begin());
  const std::string path = SomePath(false);
  if (path.empty()) return;
  Result<FileHandle> handle = volume_->files().OpenForRead(path);
  if (Ok(handle.status(), ("read " + path).c_str())) readers_.push_back(std::move(handle).value());
}

// Readers see what was written, also of deleted files.
void CrashRun::ReadBack() {
  for (const FileHandle& reader : readers_) {
    const FileRef& file = reader.file();
    const std::string& expected = model_.content(file->id.value());
    std::string content(expected.size() + 10, '?');
    const Result<size_t> got = ReadFile(volume_->engine(), file, FileOffset(0), content.size(), content.data());
    if (!Ok(got.status(), "readback")) return;
    content.resize(*got);
    if (content != expected && !Faulted() && model_.known(file->id.value())) {
      return Fail("file " + std::to_string(file->id.value() & 0xfffffffff) + " with " + std::to_string(file->links) +
                  " names reads " + std::to_string(content.size()) + " bytes, written were " +
                  std::to_string(expected.size()));
    }
  }
}

}  // namespace furrow

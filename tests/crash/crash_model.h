// SPDX-License-Identifier: Apache-2.0
//
// CrashModel: what a file system may look like after the power has gone. It is told every call and
// its outcome, and then judges what a mount has found. Test support; one thread.
//
// Names: all changes have one order, so what is found is the state behind some change that is not older than the
// newest one known durable. Bytes of a file: a prefix of what it held at some moment since its last sync, no
// shorter than it ever was since then.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace furrow {

class CrashModel {
 public:
  static constexpr uint64_t kDirectory = 0;  // in place of a file id
  using Names = std::map<std::string, uint64_t>;
  using Contents = std::map<uint64_t, std::string>;

  CrashModel() { history_.push_back(std::make_shared<Names>()); }

  // --- names; paths begin with '/', "" is the root
  const Names& names() const { return *history_.back(); }
  void Create(const std::string& path, uint64_t file);
  void MakeDirectory(const std::string& path) { Change()[path] = kDirectory; }
  void Remove(const std::string& path) { Change().erase(path); }  // a file or an empty directory
  void Rename(const std::string& from, const std::string& to);
  void Link(const std::string& from, const std::string& to);
  bool IsEmptyDirectory(const std::string& path) const;
  // All changes so far are durable.
  void NamesDurable() { durable_ = history_.size() - 1; }

  // --- bytes
  const std::string& content(uint64_t file) const { return files_.at(file).epochs.back().content; }
  void Append(uint64_t file, std::string_view data) { files_.at(file).epochs.back().content += data; }
  // Bytes from `at` on, at most to the end, are written anew; the file may grow.
  void Overwrite(uint64_t file, uint64_t at, std::string_view data);
  // `piecemeal`: a crash in the midst of it may leave any length in between.
  void Truncate(uint64_t file, uint64_t size, bool piecemeal = false);
  // A sync was acknowledged: bytes and names of the file are durable.
  void Synced(uint64_t file);
  // The bytes alone.
  void BytesDurable(uint64_t file);
  // All names and bytes so far are durable, as they are for a process that dies.
  void EverythingDurable();
  uint64_t live_bytes() const;

  // What the file holds is not known any more: a call has failed that may have changed any part of it.
  void Forget(uint64_t file) { files_.at(file).unknown = true; }
  bool known(uint64_t file) const { return !files_.at(file).unknown; }

  // "" if `found` is possible: from then on it is what is durable. Else what is wrong with it. Files that `contents`
  // lacks are not looked at. `anything_lost`: nothing was acknowledged, so to speak, but nothing may be made up.
  std::string Judge(const Names& found, const Contents& contents, bool anything_lost = false);

 private:
  // Between two truncates or overwrites.
  struct Epoch {
    std::string content;  // at its end
    uint64_t least = 0;   // bytes that a crash must leave
  };
  struct File {
    std::vector<Epoch> epochs;  // since the last sync; never empty
    size_t named = 0;           // index of the last change to its names
    bool unknown = false;       // see Forget
  };
  Names& Change();
  std::string JudgeContent(uint64_t file, const std::string& found, bool anything_lost) const;

  std::vector<std::shared_ptr<Names>> history_;  // behind each change
  size_t durable_ = 0;                           // index in history_
  std::map<uint64_t, File> files_;
};

}  // namespace furrow

// SPDX-License-Identifier: Apache-2.0
#include "tests/crash/crash_model.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace furrow {
namespace {

std::string List(const CrashModel::Names& names) {
  std::string text;
  for (const auto& [path, id] : names) text += " " + path + "=" + std::to_string(id & 0xfffffffffull);
  return text;
}

size_t FirstDifference(std::string_view a, std::string_view b) {
  size_t i = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i]) ++i;
  return i;
}

}  // namespace

CrashModel::Names& CrashModel::Change() {
  history_.push_back(std::make_shared<Names>(names()));
  return *history_.back();
}

void CrashModel::Create(const std::string& path, uint64_t file) {
  Change()[path] = file;
  files_[file] = File{{Epoch{}}, history_.size() - 1};
}

void CrashModel::Rename(const std::string& from, const std::string& to) {
  const Names before = names();
  Names& after = Change();
  const uint64_t moved = before.at(from);
  after.erase(from);
  after[to] = moved;
  if (moved != kDirectory) {
    files_.at(moved).named = history_.size() - 1;
    return;
  }
  for (const auto& [path, id] : before) {
    if (!path.starts_with(from + "/")) continue;
    after.erase(path);
    after[to + path.substr(from.size())] = id;
  }
}

void CrashModel::Link(const std::string& from, const std::string& to) {
  const uint64_t file = names().at(from);
  Change()[to] = file;
  files_.at(file).named = history_.size() - 1;
}

bool CrashModel::IsEmptyDirectory(const std::string& path) const {
  const auto next = names().upper_bound(path + "/");
  return next == names().end() || !next->first.starts_with(path + "/");
}

void CrashModel::Overwrite(uint64_t file, uint64_t at, std::string_view data) {
  File& f = files_.at(file);
  Epoch next = f.epochs.back();
  const size_t old_size = next.content.size();
  next.content.resize(std::max<size_t>(old_size, at + data.size()));
  next.content.replace(at, data.size(), data);
  f.epochs.push_back(std::move(next));
}

void CrashModel::Truncate(uint64_t file, uint64_t size, bool piecemeal) {
  File& f = files_.at(file);
  if (piecemeal) f.epochs.back().least = std::min(f.epochs.back().least, size);
  // The new size may be durable without the overwrites before it, as on other file systems; it is cut in every case.
  std::vector<Epoch> cut;
  for (const Epoch& e : f.epochs) {
    Epoch next = e;
    if (next.content.size() > size) next.content.resize(size);
    next.least = std::min(next.least, size);
    if (cut.empty() || cut.back().content != next.content) cut.push_back(std::move(next));
  }
  cut.back().content.resize(size);
  f.epochs.insert(f.epochs.end(), std::make_move_iterator(cut.begin()), std::make_move_iterator(cut.end()));
}

void CrashModel::BytesDurable(uint64_t file) {
  File& f = files_.at(file);
  Epoch now{std::move(f.epochs.back().content), 0};
  now.least = now.content.size();
  f.epochs.clear();
  f.epochs.push_back(std::move(now));
}

void CrashModel::Synced(uint64_t file) {
  BytesDurable(file);
  durable_ = std::max(durable_, files_.at(file).named);
}

void CrashModel::EverythingDurable() {
  NamesDurable();
  for (const auto& [id, file] : files_) BytesDurable(id);
}

uint64_t CrashModel::live_bytes() const {
  uint64_t bytes = 0;
  for (const auto& [path, id] : names()) {
    if (id != kDirectory) bytes += content(id).size();
  }
  return bytes;
}

std::string CrashModel::JudgeContent(uint64_t file, const std::string& found, bool anything_lost) const {
  const File& f = files_.at(file);
  if (f.unknown) return "";
  std::string why;
  for (const Epoch& e : f.epochs) {
    if (found.size() >= (anything_lost ? 0 : e.least) && found.size() <= e.content.size() &&
        e.content.starts_with(found))
      return "";
    why += " [" + std::to_string(e.least) + ".." + std::to_string(e.content.size()) + " bytes, equal up to " +
           std::to_string(FirstDifference(found, e.content)) + "]";
  }
  return "file " + std::to_string(file & 0xfffffffffull) + " has " + std::to_string(found.size()) +
         " bytes; possible:" + why;
}

std::string CrashModel::Judge(const Names& found, const Contents& contents, bool anything_lost) {
  const size_t least = anything_lost ? 0 : durable_;
  size_t at = history_.size();
  while (at > least && *history_[at - 1] != found) --at;
  if (at == least) {  // no state from there on
    return "names found:" + List(found) + "; durable:" + List(*history_[durable_]) + "; newest:" + List(names());
  }
  for (const auto& [id, content] : contents) {
    if (std::string wrong = JudgeContent(id, content, anything_lost); !wrong.empty()) return wrong;
  }
  history_.assign(1, std::make_shared<Names>(found));
  durable_ = 0;
  files_.clear();
  for (const auto& [id, content] : contents) files_[id] = File{{Epoch{content, content.size()}}, 0};
  return "";
}

}  // namespace furrow

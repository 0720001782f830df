// SPDX-License-Identifier: Apache-2.0
#include "tests/crash/name_history.h"

#include <utility>

namespace furrow {
namespace {

using Names = NameHistory::Names;

// In states a file is the call that made it.
uint64_t MarkOf(size_t thread, size_t index) { return (uint64_t{thread} + 1) << 32 | index; }

std::string ParentOf(const std::string& path) { return path.substr(0, path.find_last_of('/')); }

bool HasParent(const Names& names, const std::string& path) {
  const std::string parent = ParentOf(path);
  return parent.empty() || names.contains(parent);
}

bool IsEmpty(const Names& names, const std::string& directory) {
  const auto next = names.upper_bound(directory + "/");
  return next == names.end() || !next->first.starts_with(directory + "/");
}

bool RenameFile(const NameCall& call, Names* names) {
  if (!names->contains(call.from) || !HasParent(*names, call.to)) return false;
  const uint64_t moved = names->at(call.from);
  const auto target = names->find(call.to);
  if (target != names->end() && target->second == moved) return true;  // two names of one file stay
  names->erase(call.from);
  (*names)[call.to] = moved;
  return true;
}

bool RenameDirectory(const NameCall& call, Names* names) {
  if (!names->contains(call.from) || (names->contains(call.to) && !IsEmpty(*names, call.to))) return false;
  Names after;
  for (const auto& [path, id] : *names) {
    const bool moves = path == call.from || path.starts_with(call.from + "/");
    after[moves ? call.to + path.substr(call.from.size()) : path] = id;
  }
  *names = std::move(after);
  return true;
}

bool Link(const NameCall& call, Names* names) {
  if (!names->contains(call.from) || !HasParent(*names, call.to) || names->contains(call.to)) return false;
  const uint64_t linked = names->at(call.from);
  (*names)[call.to] = linked;
  return true;
}

bool RemoveDirectory(const NameCall& call, Names* names) {
  return names->contains(call.from) && IsEmpty(*names, call.from) && names->erase(call.from) == 1;
}

// What the call does to `names`, and whether it succeeds.
bool Apply(const NameCall& call, uint64_t mark, Names* names) {
  switch (call.what) {
    case NameCall::What::kCreate:
      if (!HasParent(*names, call.from)) return false;
      (*names)[call.from] = mark;
      return true;
    case NameCall::What::kUnlink: return names->erase(call.from) == 1;
    case NameCall::What::kRename: return RenameFile(call, names);
    case NameCall::What::kRenameDirectory: return RenameDirectory(call, names);
    case NameCall::What::kLink: return Link(call, names);
    case NameCall::What::kMakeDirectory: return names->emplace(call.from, NameHistory::kDirectory).second;
    case NameCall::What::kRemoveDirectory: return RemoveDirectory(call, names);
    case NameCall::What::kLookup: return names->contains(call.from);
    case NameCall::What::kSync: return true;
  }
  return false;
}

}  // namespace

std::string NameCall::Text() const {
  static constexpr const char* kTexts[] = {"create", "unlink", "rename", "rename", "link",
                                           "mkdir",  "rmdir",  "lookup", "sync"};
  std::string text = kTexts[static_cast<size_t>(what)];
  if (!from.empty()) text += " " + from;
  if (!to.empty()) text += " " + to;
  text += " [" + std::to_string(begin) + ".." + (end == 0 ? "" : std::to_string(end)) + "]";
  if (end != 0 && !ok) text += "!";
  if (file != 0) text += "=" + std::to_string(file & 0xfffffffff);
  return text;
}

NameCall* NameHistory::Begin(size_t thread, NameCall call) {
  call.begin = ++now_;
  calls_[thread].push_back(std::move(call));
  return &calls_[thread].back();
}

bool NameHistory::MayComeNext(const Moment& at, size_t thread) const {
  const NameCall& next = calls_[thread][at.calls[thread]];
  for (size_t other = 0; other < calls_.size(); ++other) {
    if (other == thread || at.calls[other] == calls_[other].size()) continue;
    const NameCall& left = calls_[other][at.calls[other]];
    if (left.end != 0 && left.end < next.begin) return false;
  }
  return true;
}

// A call that has changed nothing may have seen what was not durable yet, and was promised nothing.
bool NameHistory::CoversDurable(const Moment& at) const {
  for (size_t thread = 0; thread < calls_.size(); ++thread) {
    for (size_t i = at.calls[thread]; i < calls_[thread].size(); ++i) {
      const NameCall& left = calls_[thread][i];
      const bool changes = left.what != NameCall::What::kSync && left.what != NameCall::What::kLookup;
      if (left.ok && changes && left.end <= durable_upto_) return false;
    }
  }
  return true;
}

bool NameHistory::IsKnown(uint64_t id) const {
  for (const auto& calls : calls_) {
    for (const NameCall& call : calls) {
      if (call.file == id && call.what == NameCall::What::kCreate) return true;
    }
  }
  return false;
}

uint64_t NameHistory::IdOf(uint64_t mark) const {
  if (mark == kDirectory) return kDirectory;
  const uint64_t id = calls_[(mark >> 32) - 1][mark & 0xffffffff].file;
  return id == 0 ? UINT64_MAX : id;
}

NameHistory::Names NameHistory::WithIds(const Names& state) const {
  Names names;
  for (const auto& [path, mark] : state) names[path] = IdOf(mark);
  return names;
}

std::string NameHistory::Text(const Names& names) const {
  std::string text;
  for (const auto& [path, id] : names) {
    text += " " + path + "=" + (id == kDirectory ? "directory" : IsKnown(id) ? std::to_string(id & 0xfffffffff) : "?");
  }
  return text;
}

bool NameHistory::Step(const Moment& at, size_t thread, Moment* next) const {
  if (at.calls[thread] == calls_[thread].size() || !MayComeNext(at, thread)) return false;
  const NameCall& call = calls_[thread][at.calls[thread]];
  *next = at;
  const bool ok = Apply(call, MarkOf(thread, at.calls[thread]), &next->names);
  ++next->calls[thread];
  if (call.end == 0) return true;  // it never said
  if (ok != call.ok) return false;
  if (call.what != NameCall::What::kLookup || !ok) return true;
  const uint64_t id = IdOf(at.names.at(call.from));
  return id == call.file || (id == UINT64_MAX && !IsKnown(call.file));
}

bool NameHistory::Explore(const Moment& at, Search* search) const {
  const auto [it, fresh] = search->explains.try_emplace(at, false);
  if (!fresh) return it->second;
  bool explains = true;  // if all that ended has its place
  for (size_t thread = 0; thread < calls_.size(); ++thread) {
    if (at.calls[thread] < calls_[thread].size() && calls_[thread][at.calls[thread]].end != 0) explains = false;
  }
  for (size_t thread = 0; thread < calls_.size(); ++thread) {
    if (Moment next; Step(at, thread, &next)) explains = Explore(next, search) || explains;
  }
  if (explains && CoversDurable(at) && Text(WithIds(at.names)) == search->wanted) search->found = true;
  return search->explains[at] = explains;
}

std::string NameHistory::Judge(const Names& found) const {
  Search search;
  search.wanted = Text(found);
  const bool explained = Explore(Moment{std::vector<size_t>(calls_.size()), {}}, &search);
  if (search.found) return "";
  std::string why = "names found:" + search.wanted + "; " +
                    (explained ? "that was never so, with all that ended by " + std::to_string(durable_upto_)
                               : "no order of the calls explains what they have returned") +
                    ":";
  for (size_t thread = 0; thread < calls_.size(); ++thread) {
    why += "\n  thread " + std::to_string(thread) + ":";
    for (const NameCall& call : calls_[thread]) why += " " + call.Text();
  }
  return why;
}

}  // namespace furrow

// SPDX-License-Identifier: Apache-2.0
//
// NameHistory: what several threads have done to names at the same time, and whether what a mount finds after a crash
// can be the outcome: the state behind some of the calls, in an order that all threads agree with. A call takes effect
// at one moment between its begin and its end; what a crash leaves is what was true at one moment. Test support; the
// threads are under a SeededScheduler, so one at a time.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace furrow {

struct NameCall {
  enum class What : uint8_t {
    kCreate,
    kUnlink,
    kRename,
    kRenameDirectory,
    kLink,
    kMakeDirectory,
    kRemoveDirectory,
    kLookup,
    kSync
  };
  What what = What::kSync;
  std::string from, to;  // paths; `to` of renames and links
  // Moments; 0: not yet.
  uint64_t begin = 0, end = 0;
  bool ok = false;    // what it returned
  uint64_t file = 0;  // that it has created or looked up; 0: nobody knows, or there is none

  std::string Text() const;
};

class NameHistory {
 public:
  static constexpr uint64_t kDirectory = 0;  // in place of a file id
  using Names = std::map<std::string, uint64_t>;

  explicit NameHistory(size_t threads) : calls_(threads) {}

  uint64_t now() const { return now_; }
  // The call begins; the caller fills the rest in at its end. Valid until the thread's next call.
  NameCall* Begin(size_t thread, NameCall call);
  void End(NameCall* call) { call->end = ++now_; }
  // What succeeded and ended by `moment` is durable; more may be.
  void DurableUpto(uint64_t moment) { durable_upto_ = std::max(durable_upto_, moment); }

  // "" if `found` is possible. Else what is wrong with it.
  std::string Judge(const Names& found) const;

 private:
  // How many calls of each thread have taken effect, and the names then.
  struct Moment {
    std::vector<size_t> calls;
    Names names;
    friend auto operator<=>(const Moment&, const Moment&) = default;
  };
  // What a search has learned: whether a moment lies on an order that explains all calls.
  struct Search {
    std::string wanted;  // names, as Text gives them
    std::map<Moment, bool> explains;
    bool found = false;
  };

  // Looks for orders from `at` on. True: there is one.
  bool Explore(const Moment& at, Search* search) const;
  // The moment behind the next call of `thread`. False: it cannot come next, or would have returned something else.
  bool Step(const Moment& at, size_t thread, Moment* next) const;
  bool MayComeNext(const Moment& at, size_t thread) const;
  bool CoversDurable(const Moment& at) const;
  // The id of the file that the call `mark` of a state has made; UINT64_MAX: only the dead process knew it.
  uint64_t IdOf(uint64_t mark) const;
  Names WithIds(const Names& state) const;
  std::string Text(const Names& names) const;
  bool IsKnown(uint64_t id) const;

  std::vector<std::vector<NameCall>> calls_;
  uint64_t now_ = 0;
  uint64_t durable_upto_ = 0;
};

}  // namespace furrow

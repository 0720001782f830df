// SPDX-License-Identifier: Apache-2.0
//
// RecordWalk: takes groups of records in the order of the journal and gives their records in the order of their
// sequences (docs/format.md, "Records"): those of a group that was written twice once, and none behind a gap. Owned by
// whoever reads a journal; one thread; no I/O.
#pragma once

#include <functional>

#include "plugin/meta/journal_group.h"
#include "plugin/meta/records.h"

namespace furrow {

class RecordWalk {
 public:
  using Taker = std::function<Status(Sequence, Record&&)>;
  // The first record has the sequence behind `last`.
  explicit RecordWalk(Sequence last) : last_(last) {}

  // Calls `take` for each record of the group that was not there before. Corruption: a gap, or what is no record;
  // NotSupported: a record of a newer version; or the error of `take`. What came before that has been taken.
  Status Walk(const GroupHeader& header, Bytes payload, const Taker& take);
  Sequence last() const { return last_; }
  // Goes on behind a gap: the next record has the sequence behind `last`.
  void JumpTo(Sequence last) { last_ = last; }

 private:
  Status TakeOne(Sequence sequence, Bytes encoded, const Taker& take);

  Sequence last_;
};

}  // namespace furrow

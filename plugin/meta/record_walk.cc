// SPDX-License-Identifier: Apache-2.0
#include "plugin/meta/record_walk.h"

#include <string>

#include "util/coding.h"

namespace furrow {

Status RecordWalk::Walk(const GroupHeader& header, Bytes payload, const Taker& take) {
  Decoder in(payload);
  for (uint32_t i = 0; i < header.record_count; ++i) {
    const Bytes encoded = in.String();
    if (in.failed()) break;
    FURROW_RETURN_IF_ERROR(TakeOne(header.first_sequence + i, encoded, take));
  }
  if (!in.Done()) return Status::Corruption("the records do not fill the group: run furrow check");
  return Status::Ok();
}

Status RecordWalk::TakeOne(Sequence sequence, Bytes encoded, const Taker& take) {
  // A group whose first write had failed may come twice, the second time with more records.
  if (sequence <= last_) return Status::Ok();
  if (sequence != last_ + 1) {
    return Status::Corruption("record " + std::to_string(sequence.value()) + " follows record " +
                              std::to_string(last_.value()) + ": run furrow check");
  }
  FURROW_ASSIGN_OR_RETURN(Record record, DecodeRecord(encoded));
  last_ = sequence;
  return take(sequence, std::move(record));
}

}  // namespace furrow

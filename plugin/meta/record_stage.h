// SPDX-License-Identifier: Apache-2.0
//
// RecordStage: where records outlive the process until the journal has them. Implemented by the mount's stage
// (RecordStager), or by nothing where the device dies with the process anyway. Called by the record queue under
// its leaf lock: implementations only copy memory.
#pragma once

#include "util/ids.h"
#include "util/span.h"

namespace furrow {

class RecordStage {
 public:
  virtual ~RecordStage() = default;
  // Keeps an encoded record. In sequence order, without gaps. False: it is not kept, so whoever made it has to wait
  // until it is durable, as have those who make later ones meanwhile.
  virtual bool Keep(Sequence sequence, Bytes encoded) = 0;
  // The journal has all records up to `durable`.
  virtual void Release(Sequence durable) = 0;
};

// Keeps nothing: every operation on names waits for the journal.
class NoRecordStage final : public RecordStage {
 public:
  bool Keep(Sequence, Bytes) override { return false; }
  void Release(Sequence) override {}
};

}  // namespace furrow

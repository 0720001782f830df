// SPDX-License-Identifier: Apache-2.0
//
// SummaryCache: the checksums of bulk pieces, as their summaries on the device state them, for the reads that are
// verified: so that a read of 4 KiB does not read a summary each time. Owned by the mount. Any thread. At most
// kShards * kPerShard summaries, 6 KiB each at most (a whole piece of 16 MiB takes 2 KiB); nothing before the first
// verified read.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "plugin/file/summary.h"
#include "util/mutex.h"

namespace furrow {

// What a summary says of the runs of one piece, packed.
struct LeafSums {
  struct Run {
    ZoneOffset begin;
    uint32_t length = 0;      // bytes
    uint32_t first_leaf = 0;  // in `leaves`
  };
  FileId file;
  std::vector<Run> runs;
  std::vector<uint64_t> leaves;  // XXH3 of each 64 KiB of each run

  explicit LeafSums(const Summary& summary);
  // The checksums of the run that begins there and is so long; null: it tells of no such run.
  const uint64_t* Find(ZoneOffset begin, uint32_t length) const;
};

class SummaryCache {
 public:
  static constexpr size_t kShards = 16;
  static constexpr size_t kPerShard = 64;

  // The checksum of the summary's block is part of its name: what is written to the place later has another one, so
  // nothing ever has to be dropped. Null: not here.
  std::shared_ptr<const LeafSums> Find(ZoneId zone, uint32_t unit, uint64_t checksum);
  void Insert(ZoneId zone, uint32_t unit, uint64_t checksum, std::shared_ptr<const LeafSums> sums);

 private:
  struct Entry {
    ZoneId zone = kNoZone;
    uint32_t unit = 0;
    uint64_t checksum = 0;
    bool used = false;  // since the hand passed by
    std::shared_ptr<const LeafSums> sums;
  };
  struct Shard {
    Mutex mu;  // leaf
    std::vector<Entry> entries GUARDED_BY(mu);
    size_t hand GUARDED_BY(mu) = 0;  // the next to be looked at for replacement
  };

  std::array<Shard, kShards> shards_;
};

}  // namespace furrow

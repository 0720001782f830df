// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/summary_cache.h"

#include <algorithm>
#include <utility>

namespace furrow {

LeafSums::LeafSums(const Summary& summary) : file(summary.file) {
  size_t count = 0;
  for (const SummaryRun& run : summary.runs) count += run.leaves.size();
  runs.reserve(summary.runs.size());
  leaves.reserve(count);
  for (const SummaryRun& run : summary.runs) {
    runs.push_back({run.zone_offset, run.length, static_cast<uint32_t>(leaves.size())});
    leaves.insert(leaves.end(), run.leaves.begin(), run.leaves.end());
  }
}

const uint64_t* LeafSums::Find(ZoneOffset begin, uint32_t length) const {
  const auto run = std::find_if(runs.begin(), runs.end(), [begin](const Run& r) { return r.begin == begin; });
  return run == runs.end() || run->length != length ? nullptr : leaves.data() + run->first_leaf;
}

std::shared_ptr<const LeafSums> SummaryCache::Find(ZoneId zone, uint32_t unit, uint64_t checksum) {
  Shard& shard = shards_[checksum % kShards];
  MutexLock lock(shard.mu);
  for (Entry& e : shard.entries) {
    if (e.checksum != checksum || e.unit != unit || e.zone != zone) continue;
    e.used = true;
    return e.sums;
  }
  return nullptr;
}

void SummaryCache::Insert(ZoneId zone, uint32_t unit, uint64_t checksum, std::shared_ptr<const LeafSums> sums) {
  Shard& shard = shards_[checksum % kShards];
  std::shared_ptr<const LeafSums> dropped;  // freed without the lock
  MutexLock lock(shard.mu);
  Entry entry{zone, unit, checksum, true, std::move(sums)};
  if (shard.entries.size() < kPerShard) {
    shard.entries.push_back(std::move(entry));
    return;
  }
  while (std::exchange(shard.entries[shard.hand].used, false)) shard.hand = (shard.hand + 1) % kPerShard;
  dropped = std::move(shard.entries[shard.hand].sums);
  shard.entries[shard.hand] = std::move(entry);
  shard.hand = (shard.hand + 1) % kPerShard;
}

}  // namespace furrow

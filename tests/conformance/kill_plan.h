// SPDX-License-Identifier: Apache-2.0
//
// KillPlan: what each writer thread of the kill test does, operation by operation, as a pure function of the seed: so
// the checker knows, from the number of the last acknowledged operation alone, what every key must be. Value type, any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace furrow {

// One change of one key. A deletion has no value.
struct KillChange {
  uint32_t key = 0;  // within the thread's own keys
  bool deletion = false;
  std::string value;
};

class KillPlan {
 public:
  KillPlan(uint64_t seed, uint32_t keys_per_thread) : seed_(seed), keys_(keys_per_thread) {}

  // The write batch of operation `number` (from 1) of `thread`: 1 to 4 changes, applied whole or not at all.
  std::vector<KillChange> Batch(uint32_t thread, uint64_t number) const;
  // Of a whole batch; what the acknowledgement log carries beside the number.
  static uint64_t Hash(const std::vector<KillChange>& batch);
  // "t03-k00042".
  static std::string KeyName(uint32_t thread, uint32_t key);
  // Odd keys live in a second column family.
  static size_t ColumnFamilyOf(uint32_t key) { return key % 2; }

 private:
  const uint64_t seed_;
  const uint32_t keys_;
};

// Appends acknowledgements to a file of the host that outlives the process: one line "number hash" a call, one
// write(2).
class AckLog {
 public:
  // Opens for appending. Check ok().
  explicit AckLog(const std::string& path);
  ~AckLog();
  AckLog(const AckLog&) = delete;
  AckLog& operator=(const AckLog&) = delete;
  bool ok() const { return fd_ >= 0; }
  // False: the host refused.
  bool Append(uint64_t number, uint64_t hash);

  struct Entry {
    uint64_t number;
    uint64_t hash;
  };
  // All whole lines; the last may have been cut by the kill. A missing file has none.
  static std::vector<Entry> Read(const std::string& path);

 private:
  int fd_;
};

}  // namespace furrow

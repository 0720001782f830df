// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/kill_plan.h"

#include <fcntl.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <random>

namespace furrow {
namespace {

constexpr uint64_t kPrime = 1099511628211ull;  // FNV-1a

uint64_t Mix(uint64_t hash, const void* data, size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * kPrime;
  return hash;
}

// 20 bytes to 8 KiB, mostly small: several batches share a block, some span many.
std::string MakeValue(std::mt19937_64* random, uint32_t thread, uint64_t number) {
  const uint64_t dice = (*random)();
  const size_t size = (dice % 16 == 0) ? 1024 + (dice >> 8) % 7168 : 20 + (dice >> 8) % 600;
  std::string value = "t" + std::to_string(thread) + "-n" + std::to_string(number) + "-";
  while (value.size() < size) value.push_back(static_cast<char>((*random)() & 0xff));
  return value;
}

}  // namespace

std::vector<KillChange> KillPlan::Batch(uint32_t thread, uint64_t number) const {
  std::mt19937_64 random(seed_ * 0x9E3779B97F4A7C15ull + thread * 0x100000001ull + number * 0xBF58476D1CE4E5B9ull);
  std::vector<KillChange> batch(1 + random() % 4);
  for (KillChange& change : batch) {
    change.key = static_cast<uint32_t>(random() % keys_);
    change.deletion = random() % 5 == 0;
    if (!change.deletion) change.value = MakeValue(&random, thread, number);
  }
  return batch;
}

uint64_t KillPlan::Hash(const std::vector<KillChange>& batch) {
  uint64_t hash = 14695981039346656037ull;
  for (const KillChange& change : batch) {
    hash = Mix(hash, &change.key, sizeof(change.key));
    hash = Mix(hash, &change.deletion, sizeof(change.deletion));
    hash = Mix(hash, change.value.data(), change.value.size());
  }
  return hash;
}

std::string KillPlan::KeyName(uint32_t thread, uint32_t key) {
  char name[32];
  std::snprintf(name, sizeof(name), "t%02u-k%05u", thread, key);
  return name;
}

AckLog::AckLog(const std::string& path) : fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {}

AckLog::~AckLog() {
  if (fd_ >= 0) ::close(fd_);
}

bool AckLog::Append(uint64_t number, uint64_t hash) {
  char line[64];
  const int size = std::snprintf(line, sizeof(line), "%" PRIu64 " %" PRIx64 "\n", number, hash);
  return ::write(fd_, line, static_cast<size_t>(size)) == size;
}

std::vector<AckLog::Entry> AckLog::Read(const std::string& path) {
  std::vector<Entry> entries;
  std::ifstream in(path, std::ios::binary);
  std::string line;
  while (std::getline(in, line)) {
    if (in.eof()) break;  // no line feed: cut
    Entry entry{};
    if (std::sscanf(line.c_str(), "%" SCNu64 " %" SCNx64, &entry.number, &entry.hash) == 2) entries.push_back(entry);
  }
  return entries;
}

}  // namespace furrow

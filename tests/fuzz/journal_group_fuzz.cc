// SPDX-License-Identifier: Apache-2.0
//
// Journal groups: any bytes decode to an error or to a group within them; and a journal whose groups are whole, but
// made of arbitrary kinds, numbers and payloads, replays to an end or to an error.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "plugin/device/mem_device.h"
#include "plugin/meta/journal_group.h"
#include "plugin/meta/replay.h"
#include "util/coding.h"

namespace {

constexpr uint32_t kBlock = 512;
constexpr furrow::Uuid kUuid = {1, 2, 3};
constexpr furrow::JournalZone kZone{furrow::ZoneId(2), furrow::Generation(1)};

void Require(bool condition) {
  if (!condition) std::abort();
}

class NullSink final : public furrow::ReplaySink {
 public:
  furrow::Status OnObject(furrow::CheckpointObject&&) override { return furrow::Status::Ok(); }
  furrow::Status OnRecord(furrow::Sequence sequence, furrow::Record&&) override {
    Require(sequence > last_);
    last_ = sequence;
    return furrow::Status::Ok();
  }

 private:
  furrow::Sequence last_;
};

void DecodeAnything(furrow::Bytes input) {
  const uint64_t hash = furrow::UuidHash(kUuid);
  const auto bytes = furrow::PeekGroupBytes(input, hash, kBlock);
  if (!bytes || *bytes > input.size()) return;
  const auto group = furrow::DecodeGroup(input.substr(0, *bytes), hash, kBlock);
  if (!group.ok()) return;
  Require(group->payload.data() >= input.data());
  Require(group->payload.data() + group->payload.size() < input.data() + *bytes);
}

furrow::DeviceGeometry Geometry() {
  furrow::DeviceGeometry g;
  g.block_size = kBlock;
  g.zone_count = 3;
  g.zone_size = g.zone_capacity = 1 << 20;
  return g;
}

// Each group of the input: kind, steps in number and sequence, record count, length, payload.
std::string BuildJournal(furrow::Bytes input) {
  furrow::Decoder in(input);
  std::string journal(kBlock, 'h');
  furrow::GroupHeader header;
  header.zone = kZone;
  header.number = 1;
  header.first_sequence = furrow::Sequence(1);
  while (in.remaining() > 5 && journal.size() < 64 * kBlock) {
    header.kind = static_cast<furrow::GroupKind>(1 + in.Fixed8() % 4);
    const uint8_t steps = in.Fixed8();
    header.record_count = in.Fixed8();
    const size_t length = in.Fixed16() % (in.remaining() + 1);
    const furrow::Bytes payload = in.Bytes(length);
    std::string unit(furrow::GroupBytes(length, kBlock), '\0');
    furrow::EncodeGroup(header, furrow::UuidHash(kUuid), payload, kBlock, unit.data());
    journal += unit;
    header.durable = header.number;
    header.number += (steps & 15) == 15 ? 2 : 1;
    header.first_sequence += steps >> 4 == 15 ? header.record_count : steps >> 4;
  }
  return journal;
}

void ReplayAnything(furrow::Bytes input) {
  furrow::MemDevice device(Geometry());
  const std::string journal = BuildJournal(input);
  const furrow::Bytes piece(journal);
  Require(device.WriteDurable(kZone.zone, furrow::ZoneOffset(0), furrow::ConstBuffers(&piece, 1)).ok());
  furrow::Superblock superblock;
  superblock.uuid = kUuid;
  superblock.geometry = Geometry();
  superblock.start = {furrow::ZoneOffset(kBlock), 1, furrow::Sequence(1)};
  superblock.journal_zones = {kZone};
  NullSink sink;
  furrow::JournalReplay replay(&device, superblock, &sink);
  const auto report = replay.Run();
  if (report.ok()) Require(replay.reader().end().offset.value() <= journal.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const furrow::Bytes input(reinterpret_cast<const char*>(data), size);
  DecodeAnything(input);
  ReplayAnything(input);
  return 0;
}

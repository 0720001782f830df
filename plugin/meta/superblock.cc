// SPDX-License-Identifier: Apache-2.0
#include "plugin/meta/superblock.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "util/checksum.h"
#include "util/coding.h"

namespace furrow {
namespace {

constexpr std::string_view kMagic = "FURROWSB";
constexpr size_t kChecksumOffset = kSuperblockBytes - 16;
constexpr char kTrailer = '\xa5';
constexpr size_t kZoneEntryBytes = 8;
constexpr size_t kZoneListOffset = 216;
static_assert(kZoneListOffset + kMaxJournalZones * kZoneEntryBytes <= kChecksumOffset);

std::string Hex(uint64_t v) {
  char text[19];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(v));
  return text;
}

void EncodeFixedPart(const Superblock& s, std::string* out) {
  out->append(kMagic);
  PutFixed32(out, s.version);
  PutFixed32(out, 0);
  PutFixed64(out, s.compat_flags);
  PutFixed64(out, s.ro_compat_flags);
  PutFixed64(out, s.incompat_flags);
  PutFixed64(out, s.sequence);
  out->append(reinterpret_cast<const char*>(s.uuid.data()), s.uuid.size());
}

void DecodeFixedPart(Decoder* in, Superblock* s) {
  in->Bytes(kMagic.size());
  s->version = in->Fixed32();
  in->Fixed32();
  s->compat_flags = in->Fixed64();
  s->ro_compat_flags = in->Fixed64();
  s->incompat_flags = in->Fixed64();
  s->sequence = in->Fixed64();
  std::memcpy(s->uuid.data(), in->Bytes(s->uuid.size()).data(), s->uuid.size());
}

// False: a value that no version 1 writes.
bool DecodeBody(Decoder* in, Superblock* s) {
  s->created_seconds = in->Fixed64();
  s->mount_epoch = in->Fixed64();
  s->clean = in->Fixed8() != 0;
  const size_t label_bytes = in->Fixed8();
  in->Bytes(6);
  if (label_bytes > kMaxLabelBytes) return false;
  s->label = in->Bytes(kMaxLabelBytes).substr(0, label_bytes);
  s->geometry.block_size = in->Fixed32();
  s->geometry.zone_count = in->Fixed32();
  s->geometry.zone_size = in->Fixed64();
  s->geometry.zone_capacity = in->Fixed64();
  s->start.offset = ZoneOffset(in->Fixed64());
  s->start.group = in->Fixed64();
  s->start.first_sequence = Sequence(in->Fixed64());
  s->durable_group = in->Fixed64();
  const uint32_t zones = in->Fixed32();
  in->Fixed32();
  if (zones == 0 || zones > kMaxJournalZones) return false;
  for (uint32_t i = 0; i < zones; ++i) {
    const ZoneId zone(in->Fixed32());
    s->journal_zones.push_back({zone, Generation(in->Fixed32())});
    if (zone.value() >= s->geometry.zone_count) return false;
  }
  return !in->failed();
}

}  // namespace

std::string EncodeSuperblock(const Superblock& s) {
  assert(s.label.size() <= kMaxLabelBytes && s.journal_zones.size() <= kMaxJournalZones);
  std::string out;
  out.reserve(kSuperblockBytes);
  EncodeFixedPart(s, &out);
  PutFixed64(&out, s.created_seconds);
  PutFixed64(&out, s.mount_epoch);
  PutFixed8(&out, s.clean ? 1 : 0);
  PutFixed8(&out, static_cast<uint8_t>(s.label.size()));
  out.append(6, '\0');
  out.append(s.label);
  out.append(kMaxLabelBytes - s.label.size(), '\0');
  PutFixed32(&out, s.geometry.block_size);
  PutFixed32(&out, s.geometry.zone_count);
  PutFixed64(&out, s.geometry.zone_size);
  PutFixed64(&out, s.geometry.zone_capacity);
  PutFixed64(&out, s.start.offset.value());
  PutFixed64(&out, s.start.group);
  PutFixed64(&out, s.start.first_sequence.value());
  PutFixed64(&out, s.durable_group);
  PutFixed32(&out, static_cast<uint32_t>(s.journal_zones.size()));
  PutFixed32(&out, 0);
  for (const JournalZone& z : s.journal_zones) {
    PutFixed32(&out, z.zone.value());
    PutFixed32(&out, z.generation.value());
  }
  out.resize(kChecksumOffset, '\0');
  PutFixed64(&out, Checksum(out));
  out.resize(kSuperblockBytes, '\0');
  out.back() = kTrailer;
  return out;
}

Result<Superblock> DecodeSuperblock(Bytes block) {
  if (block.size() < kSuperblockBytes || block.substr(0, kMagic.size()) != kMagic) {
    return Status::Corruption("no superblock here");
  }
  block = block.substr(0, kSuperblockBytes);
  if (Checksum(block.substr(0, kChecksumOffset)) != DecodeFixed64(block.data() + kChecksumOffset) ||
      block.back() != kTrailer) {
    return Status::Corruption("superblock with a wrong checksum");
  }
  Superblock s;
  Decoder in(block.substr(0, kChecksumOffset));
  DecodeFixedPart(&in, &s);
  if (s.version > kFormatVersion) return s;
  if (s.version == 0 || !DecodeBody(&in, &s)) return Status::Corruption("superblock with impossible values");
  return s;
}

Status CheckReadable(const Superblock& s, const std::string& device) {
  if (s.version > kFormatVersion) {
    return Status::NotSupported(device + ": format version " + std::to_string(s.version) +
                                "; this Furrow knows up to " + std::to_string(kFormatVersion) + ": use a newer one");
  }
  if (const uint64_t unknown = s.incompat_flags & ~kKnownIncompatFlags; unknown != 0) {
    return Status::NotSupported(device + ": incompatible features " + Hex(unknown) +
                                " are not known to this Furrow: use a newer one");
  }
  return Status::Ok();
}

Status CheckWritable(const Superblock& s, const std::string& device) {
  if (const uint64_t unknown = s.ro_compat_flags & ~kKnownRoCompatFlags; unknown != 0) {
    return Status::NotSupported(device + ": features " + Hex(unknown) +
                                " allow this Furrow to read only: mount with mount=ro, or use a newer one");
  }
  return Status::Ok();
}

Status CheckGeometry(const Superblock& s, const DeviceGeometry& found, const std::string& device) {
  const DeviceGeometry& made = s.geometry;
  if (made.block_size == found.block_size && made.zone_count == found.zone_count && made.zone_size == found.zone_size &&
      made.zone_capacity == found.zone_capacity) {
    return Status::Ok();
  }
  const auto text = [](const DeviceGeometry& g) {
    return std::to_string(g.zone_count) + " zones of " + std::to_string(g.zone_size) + " bytes (capacity " +
           std::to_string(g.zone_capacity) + ", blocks of " + std::to_string(g.block_size) + ")";
  };
  return Status::Corruption(device + ": has " + text(found) + ", but the file system was made for " + text(made) +
                            ": give it back the shape it had, or make a new file system with furrow mkfs");
}

}  // namespace furrow

// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/zone_check.h"

#include <string>

#include "plugin/file/stage_view.h"
#include "plugin/zone/zone_header.h"
#include "util/aligned_buffer.h"

namespace furrow {
namespace {

Status WasReset(const FileEngine& engine, ZoneId zone) {
  return Status::Aborted(engine.device->name() + " zone " + std::to_string(zone.value()) +
                         " was reset by the process that writes to it");
}

Status CheckHeader(const FileEngine& engine, ZoneId zone, Generation expected) {
  AlignedBuffer block(engine.block_size());
  const Status read = engine.device->Read(zone, ZoneOffset(0), block.size(), block.data());
  const Result<ZoneHeader> header = read.ok() ? DecodeZoneHeader(Bytes(block.data(), block.size())) : read;
  if (!header.ok()) {
    // Mostly a zone that was just emptied: a fresh look at the journal tells.
    return Status::Aborted(engine.device->name() + " zone " + std::to_string(zone.value()) +
                           " has no readable header, so whether it was reset cannot be told (" +
                           header.status().message() + "); mount read-write (mount=rw) to read it");
  }
  const bool same = header->fs_uuid == engine.fs_uuid && header->zone == zone && header->generation == expected;
  return same ? Status::Ok() : WasReset(engine, zone);
}

}  // namespace

Status CheckZoneUnchanged(const FileEngine& engine, ZoneId zone) {
  const Generation expected = engine.zones->Zone(zone).generation;
  if (engine.writer_page != nullptr) {
    // In this order: as long as its writer lives nobody else can reset a zone, so what the page said counted then.
    const bool same = engine.writer_page->generation(zone) == expected;
    if (engine.writer_page->writer_lives()) return same ? Status::Ok() : WasReset(engine, zone);
  }
  return CheckHeader(engine, zone, expected);
}

}  // namespace furrow

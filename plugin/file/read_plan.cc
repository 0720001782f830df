// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/read_plan.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "plugin/file/zone_check.h"

namespace furrow {
namespace {

// Where some bytes are: in `extent`, or (null) nowhere, up to `end`.
struct Found {
  const Extent* extent = nullptr;
  FileOffset end;
};

// Looks in `extents` (ordered) for `at`; `end` bounds the answer.
template <typename Extents>
Found FindIn(const Extents& extents, size_t index, FileOffset at, FileOffset end) {
  if (index == extents.size()) return {nullptr, end};
  const Extent& e = extents[index];
  if (e.file_offset > at) return {nullptr, std::min(end, e.file_offset)};
  return {&e, std::min(end, e.end())};
}

size_t IndexOf(const std::vector<Extent>& extents, FileOffset at) {
  const auto it = std::partition_point(extents.begin(), extents.end(), [at](const Extent& e) { return e.end() <= at; });
  return static_cast<size_t>(it - extents.begin());
}

// Is `e` a part of the piece that is being written, and so without a checksum yet?
bool InOpenPiece(const FileNode& file, const Extent* e) REQUIRES_SHARED(file.mu) {
  if (!file.open || file.open->in_piece == 0) return false;
  const std::vector<Extent>& unrecorded = file.open->unrecorded;
  const size_t first = unrecorded.size() - std::min(file.open->in_piece, unrecorded.size());
  return std::any_of(unrecorded.begin() + static_cast<ptrdiff_t>(first), unrecorded.end(),
                     [e](const Extent& open) { return &open == e; });
}

}  // namespace

void ReadPlan::Add(const FileNode& file, FileOffset from, size_t n, char* destination) {
  mergeable_from_ = count();
  if (file.kind == FileKind::kSmall) {
    if (file.content && from.value() < file.content->size()) file.content->copy(destination, n, from.value());
    return;
  }
  const PendingBytes* const pending = file.open ? file.open->pending.get() : nullptr;
  const FileOffset end = from + n;
  const FileOffset stored_end = pending && !pending->empty() ? std::clamp(pending->begin(), from, end) : end;
  if (stored_end < end) pending->Read(stored_end, end - stored_end, destination + (stored_end - from));
  if (stored_end > from) AddStored(file, from, stored_end - from, destination);
}

void ReadPlan::AddStored(const FileNode& file, FileOffset from, size_t n, char* destination) {
  const FileOffset end = from + n;
  const std::vector<Extent>* const unrecorded =
      file.open && !file.open->unrecorded.empty() ? &file.open->unrecorded : nullptr;
  for (FileOffset at = from; at < end;) {
    Found found{nullptr, end};
    if (unrecorded) found = FindIn(*unrecorded, IndexOf(*unrecorded, at), at, end);
    if (!found.extent) found = FindIn(file.extents.all(), file.extents.Find(at), at, found.end);
    char* const to = destination + (at - from);
    const size_t length = found.end - at;
    if (found.extent && verify_ && !InOpenPiece(file, found.extent)) {
      AddChecked(file.id, *found.extent, at, length, to);
    } else if (found.extent) {
      AddRead(found.extent->zone, found.extent->zone_offset + (at - found.extent->file_offset), length, to);
    } else {
      std::memset(to, 0, length);  // a hole
    }
    at = found.end;
  }
}

void ReadPlan::AddRead(ZoneId zone, ZoneOffset offset, size_t n, char* destination) {
  if (count() > mergeable_from_) {
    DeviceRead& last = overflow_.empty() ? inline_reads_[inline_count_ - 1] : overflow_.back();
    if (last.zone == zone && last.offset + last.length == offset && last.destination + last.length == destination) {
      last.length += n;
      return;
    }
  }
  Push(DeviceRead{zone, offset, n, destination, Status()});
}

void ReadPlan::AddChecked(FileId file, const Extent& e, FileOffset from, size_t n, char* destination) {
  CheckedRead& checked = checked_.emplace_back(file, e, from, n, destination, count());
  Push(checked.Read());
  mergeable_from_ = count();  // nothing joins it
}

void ReadPlan::Push(DeviceRead read) {
  const ZoneId zone = read.zone;
  if (overflow_.empty() && inline_count_ < kInline) {
    inline_reads_[inline_count_] = std::move(read);
    inline_pins_[inline_count_++] = ZoneReadPin(engine_->zones, zone);
    return;
  }
  if (overflow_.empty()) {
    overflow_.assign(std::make_move_iterator(inline_reads_.begin()), std::make_move_iterator(inline_reads_.end()));
  }
  overflow_.push_back(std::move(read));
  overflow_pins_.emplace_back(engine_->zones, zone);
}

std::span<const DeviceRead> ReadPlan::reads() const {
  if (overflow_.empty()) return std::span<const DeviceRead>(inline_reads_).first(inline_count_);
  return overflow_;
}

std::span<DeviceRead> ReadPlan::reads() {
  if (overflow_.empty()) return std::span<DeviceRead>(inline_reads_).first(inline_count_);
  return overflow_;
}

void ReadPlan::Execute() {
  const std::span<DeviceRead> all = reads();
  if (all.size() == 1) {
    all[0].status = engine_->device->Read(all[0].zone, all[0].offset, all[0].length, all[0].destination);
  } else if (!all.empty()) {
    engine_->device->ReadBatch(all);
  }
  if (engine_->check_zones) CheckZones();
  CheckSums();
}

void ReadPlan::CheckSums() {
  for (CheckedRead& checked : checked_) {
    DeviceRead& read = reads()[checked.index()];
    if (!read.status.ok()) continue;
    read.status = checked.Finish(*engine_);
    if (read.status.ok() || !engine_->check_zones) continue;
    // Its summary was read after the zone was looked at.
    const Status same = CheckZoneUnchanged(*engine_, read.zone);
    if (!same.ok()) read.status = same;
  }
}

void ReadPlan::CheckZones() {
  const std::span<DeviceRead> all = reads();
  for (size_t i = 0; i < all.size(); i++) {
    // Reads of one zone mostly follow each other; the check of the last one serves them all, as it comes after them.
    if (i + 1 < all.size() && all[i + 1].zone == all[i].zone) continue;
    const Status checked = CheckZoneUnchanged(*engine_, all[i].zone);
    if (checked.ok()) continue;
    for (size_t j = i + 1; j-- > 0 && all[j].zone == all[i].zone;) all[j].status = checked;
  }
}

Status ReadPlan::Outcome(const FileNode& file, size_t begin, size_t end) const {
  for (const DeviceRead& read : reads().subspan(begin, end - begin)) {
    if (read.status.ok()) continue;
    if (read.status.code() == StatusCode::kCorruption) return read.status;  // says it all
    return read.status.WithContext("file " + std::to_string(file.id.value()) + ": " + std::to_string(read.length) +
                                   " bytes in zone " + std::to_string(read.zone.value()) + " at " +
                                   std::to_string(read.offset.value()));
  }
  return Status::Ok();
}

}  // namespace furrow

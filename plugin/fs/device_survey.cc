// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/device_survey.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>

#include "plugin/file/summary.h"
#include "plugin/file/zone_bytes.h"
#include "plugin/meta/superblock_store.h"
#include "util/logger.h"

namespace furrow {
namespace {

constexpr uint32_t kSuperblockZones = 2;

// How many zones a file system has, and the latest generation of them.
struct Share {
  uint32_t zones = 0;
  Generation newest{0};
};
using Shares = std::map<Uuid, Share>;

Shares CountHeaders(ZonedDevice* device, const std::vector<ZoneReport>& reports) {
  Shares shares;
  for (const ZoneReport& report : reports) {
    if (report.condition == ZoneCondition::kOffline || report.condition == ZoneCondition::kEmpty) continue;
    const Result<ZoneHeader> header = ReadZoneHeader(device, report);
    if (!header.ok()) continue;
    Share& share = shares[header->fs_uuid];
    ++share.zones;
    share.newest = std::max(share.newest, header->generation);
  }
  return shares;
}

// For a device without a single whole header: whose summaries are there?
Shares CountSummaries(ZonedDevice* device, const std::vector<ZoneReport>& reports) {
  Shares shares;
  for (const ZoneReport& report : reports) {
    if (report.condition == ZoneCondition::kOffline) continue;
    const uint64_t block = device->geometry().block_size;
    ZoneBytes bytes(device, report.zone, RoundDown(std::min(report.write_pointer.value(), report.capacity), block));
    for (uint64_t at = 0; at + kSummaryBytes <= bytes.end(); at += block) {
      const Result<Summary> summary = DecodeSummary(bytes.View(at, kSummaryBytes));
      if (!summary.ok() || summary->zone != report.zone) continue;
      ++shares[summary->fs_uuid].zones;
      break;
    }
  }
  return shares;
}

std::string Listed(const Shares& shares) {
  std::string text;
  for (const auto& [uuid, share] : shares) {
    if (!text.empty()) text += ", ";
    text += UuidToString(uuid) + " (" + std::to_string(share.zones) + " zones)";
  }
  return text.empty() ? "none" : text;
}

Status ChooseUuid(const Shares& shares, const std::string& wanted, DeviceSurvey* survey) {
  if (!wanted.empty()) {
    std::string lower = wanted;
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
    for (const auto& [uuid, share] : shares) {
      if (UuidToString(uuid) != lower) continue;
      survey->uuid = uuid;
      survey->uuid_reason = "it was asked for";
      return Status::Ok();
    }
    return Status::NotFound(survey->device->name() + ": no zone belongs to the file system " + wanted +
                            "; those with zones here: " + Listed(shares));
  }
  if (survey->superblock) {
    survey->uuid = survey->superblock->uuid;
    survey->uuid_reason = "the newest superblock is its";
    return Status::Ok();
  }
  const auto most = std::max_element(shares.begin(), shares.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.second.zones, a.second.newest) < std::tuple(b.second.zones, b.second.newest);
  });
  if (most == shares.end()) {
    return Status::NotFound(survey->device->name() +
                            ": no zone has anything of a Furrow file system, there is nothing to repair");
  }
  survey->uuid = most->first;
  survey->uuid_reason = "most zones are its; --uuid names another";
  return Status::Ok();
}

void NoteIds(const ScannedZone& zone, DeviceSurvey* survey) {
  const auto note = [survey](FileId id) { survey->newest_id = std::max(survey->newest_id, id); };
  if (zone.content == ZoneContent::kOurs) note(zone.header.owner_directory);
  for (const FoundPiece& piece : zone.pieces) {
    note(piece.file);
    note(piece.directory);
  }
  for (const FoundFrame& frame : zone.frames) note(frame.file);
}

void NoteGenerations(DeviceSurvey* survey) {
  for (const ScannedZone& zone : survey->zones) {
    if (zone.content == ZoneContent::kOurs) {
      survey->newest_generation = std::max(survey->newest_generation, zone.header.generation);
    }
  }
}

}  // namespace

Result<DeviceSurvey> SurveyDevice(ZonedDevice* device, const std::string& wanted_uuid) {
  DeviceSurvey survey;
  survey.device = device;
  std::vector<ZoneReport> reports;
  FURROW_RETURN_IF_ERROR(device->Report(ZoneId(0), device->geometry().zone_count, &reports));
  Shares shares = CountHeaders(device, reports);

  SuperblockStore store(device, NullLogger());
  // An error: there is none that could be read.
  if (Result<Superblock> newest = store.ReadNewest(); newest.ok()) {
    FURROW_RETURN_IF_ERROR(CheckReadable(*newest, device->name()));
    FURROW_RETURN_IF_ERROR(CheckGeometry(*newest, device->geometry(), device->name()));
    survey.superblock_sequence = newest->sequence;
    survey.superblock = std::move(newest).value();
    shares.try_emplace(survey.superblock->uuid);
  }
  if (shares.empty()) shares = CountSummaries(device, reports);
  FURROW_RETURN_IF_ERROR(ChooseUuid(shares, wanted_uuid, &survey));
  if (survey.superblock && survey.superblock->uuid != survey.uuid) survey.superblock.reset();
  if (survey.superblock) {
    for (const JournalZone& z : survey.superblock->journal_zones) {
      survey.newest_generation = std::max(survey.newest_generation, z.generation);
    }
  }
  for (const auto& [uuid, share] : shares) {
    if (uuid != survey.uuid) survey.others.push_back({UuidToString(uuid), share.zones});
  }
  if (survey.others.empty()) survey.uuid_reason.clear();
  for (const ZoneReport& report : reports) {
    survey.zones.push_back(LookAtZone(device, survey.uuid, report));
    NoteIds(survey.zones.back(), &survey);
  }
  NoteGenerations(&survey);
  return survey;
}

Status SurveyJournal(DeviceSurvey* survey, JournalSalvage* salvage) {
  for (ScannedZone& zone : survey->zones) {
    if (zone.zone().value() < kSuperblockZones) continue;
    const bool journal = zone.content == ZoneContent::kOurs && zone.header.role == ZoneRole::kJournal;
    if (!journal && zone.content != ZoneContent::kUnknown) continue;
    FURROW_ASSIGN_OR_RETURN(const uint64_t groups,
                            salvage->ScanZone(zone.zone(), journal ? &zone.header.generation : nullptr));
    if (journal || groups == 0) continue;
    zone.content = ZoneContent::kOurs;
    zone.header.fs_uuid = survey->uuid;
    zone.header.zone = zone.zone();
    zone.header.generation = salvage->newest_generation();
    zone.header.role = ZoneRole::kJournal;
  }
  survey->newest_generation = std::max(survey->newest_generation, salvage->newest_generation());
  return Status::Ok();
}

void SurveyData(DeviceSurvey* survey, FoundFiles* found, const std::function<void(uint64_t, uint64_t)>& progress) {
  uint64_t total = 0, done = 0;
  for (const ScannedZone& zone : survey->zones) total += zone.written_bytes;
  for (ScannedZone& zone : survey->zones) {
    if (zone.zone().value() >= kSuperblockZones) ScanContent(survey->device, survey->uuid, &zone);
    NoteIds(zone, survey);
    found->Add(&zone);
    done += zone.written_bytes;
    if (progress) progress(done, total);
  }
  NoteGenerations(survey);
}

}  // namespace furrow

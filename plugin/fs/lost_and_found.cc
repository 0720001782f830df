// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/lost_and_found.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "plugin/file/file_store.h"
#include "util/aligned_buffer.h"

namespace furrow {
namespace {

constexpr size_t kMaxBaseBytes = 200;  // leaves room for the marks in a name of 255
constexpr size_t kHeadBytes = 16;      // of a stream, to see what it is

// "2026/12/01-...": how each line of RocksDB's LOG begins.
bool LooksLikeLog(Bytes head) {
  const auto digits = [head](size_t from, size_t n) {
    const Bytes part = head.substr(from, n);
    return std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  return head.size() >= 10 && digits(0, 4) && head[4] == '/' && digits(5, 2) && head[7] == '/' && digits(8, 2);
}

// RocksDB's log format: checksum (4 bytes), length (2), type of record: whole or a first part, recyclable or not.
bool LooksLikeRecords(Bytes head) {
  if (head.size() < 7) return false;
  const auto type = static_cast<unsigned char>(head[6]);
  return type == 1 || type == 2 || type == 5 || type == 6;
}

FileObject ObjectOf(const FoundFile& file, uint64_t now) {
  FileObject object;
  object.file = file.id;
  object.kind = file.kind;
  object.lifetime = file.lifetime;
  object.size = object.durable_size = file.size;
  object.mtime_seconds = now;
  object.incarnation = file.incarnation;
  object.closed = file.kind != FileKind::kBulk;
  object.damaged = !file.missing.empty();
  object.creation_directory = file.directory;
  object.extents = file.extents;
  return object;
}

}  // namespace

LostAndFound::LostAndFound(ZonedDevice* device, FileId first_id, uint64_t now)
    : device_(device), first_id_(first_id), now_(now), next_id_(first_id + 1) {}

std::string LostAndFound::NameOfStream(const FoundFile& file) {
  const std::string id = std::to_string(file.id.value());
  const Extent& first = file.extents.front();
  std::string head(std::min<size_t>(kHeadBytes, first.length), '\0');
  const bool has_head =
      first.file_offset == FileOffset(0) && device_->Read(first.zone, first.zone_offset, head.size(), head.data()).ok();
  if (has_head && LooksLikeLog(head)) return "LOG." + id;
  if (file.kind == FileKind::kWal) return id + ".log";
  if (has_head && LooksLikeRecords(head)) return "MANIFEST-" + id;
  return "stream-" + id;
}

void LostAndFound::Add(std::vector<FoundFile> files) {
  for (FoundFile& file : files) {
    if (file.extents.empty()) continue;
    std::string base = file.kind == FileKind::kBulk ? file.name : NameOfStream(file);
    if (base.empty() || base == "." || base == ".." || base.find('/') != std::string::npos) {
      base = "file-" + std::to_string(file.id.value());
    }
    base.resize(std::min(base.size(), kMaxBaseBytes));
    directories_[file.directory].push_back({std::move(base), std::move(file)});
  }
}

// Another file may have been created under the very name that a mark makes.
std::string LostAndFound::FreeName(const std::string& wanted, std::set<std::string>* taken) {
  std::string name = wanted;
  for (int n = 2; !taken->insert(name).second; ++n) name = wanted + ".~" + std::to_string(n);
  return name;
}

std::vector<CheckpointObject> LostAndFound::Objects(const std::string& name, std::vector<RepairedFile>* report) {
  DirectoryObject top;
  top.directory = first_id_;
  top.mtime_seconds = now_;
  std::vector<CheckpointObject> below;
  for (auto& [creation, files] : directories_) {
    DirectoryObject directory;
    directory.directory = next_id_;
    directory.mtime_seconds = now_;
    ++next_id_;
    const std::string directory_name = std::to_string(creation.value());
    top.entries.push_back({directory_name, directory.directory, true});
    // The newest first: it keeps its name, and those below it had the name before.
    std::sort(files.begin(), files.end(), [](const Named& a, const Named& b) { return a.file.id > b.file.id; });
    std::set<std::string> taken;
    std::map<std::string, uint32_t> versions;  // by name at creation
    for (const Named& named : files) {
      const FoundFile& file = named.file;
      RepairedFile line;
      const uint32_t version = ++versions[named.base];
      line.likely_deleted = version > 1 || !file.missing.empty();
      line.order_unknown = file.order_unknown;
      line.missing_bytes = file.missing_bytes();
      line.damaged_bytes = file.damaged_bytes();
      std::string wanted = named.base;
      if (version > 1) wanted += ".~" + std::to_string(version);
      if (line.likely_deleted) wanted += kLikelyDeletedMark;
      if (line.damaged_bytes > 0 || line.order_unknown) wanted += kDamagedMark;
      const std::string entry = FreeName(wanted, &taken);
      directory.entries.push_back({entry, file.id, false});
      below.emplace_back(ObjectOf(file, now_));
      line.path = "/" + name + "/" + directory_name + "/" + entry;
      line.id = file.id.value();
      line.kind = FileKindName(file.kind);
      line.size = file.size;
      line.found_by_scan = true;
      report->push_back(std::move(line));
    }
    below.emplace_back(std::move(directory));
  }
  std::vector<CheckpointObject> objects{std::move(top)};
  std::move(below.begin(), below.end(), std::back_inserter(objects));
  return objects;
}

}  // namespace furrow

// SPDX-License-Identifier: Apache-2.0
#include "plugin/device/zone_file_layout.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <sstream>

#include "plugin/device/host_lock.h"
#include "util/checksum.h"

namespace furrow {
namespace {

constexpr const char* kMagic = "furrow zoned device ";
constexpr uint64_t kVersion = 1;
constexpr size_t kMaxGeometryBytes = 1024;
constexpr const char* kTemporaryGeometry = "furrow.geometry.new";

std::string ChecksumLine(const std::string& text) {
  char line[40];
  std::snprintf(line, sizeof(line), "checksum %016" PRIx64 "\n", Checksum(text));
  return line;
}

struct CloseDirectory {
  void operator()(DIR* d) const { closedir(d); }
};

// Calls `visit` for every entry but "." and "..".
Status ForEachEntry(int directory, const std::string& path, const std::function<Status(const std::string&)>& visit) {
  UniqueFd fd = OpenAt(directory, ".", O_RDONLY | O_DIRECTORY);
  if (!fd.valid()) return Status::FromErrno(errno, "open directory " + path);
  std::unique_ptr<DIR, CloseDirectory> list(fdopendir(dup(fd.get())));
  if (list == nullptr) return Status::FromErrno(errno, "read directory " + path);
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(list.get());
    if (entry == nullptr) return errno == 0 ? Status::Ok() : Status::FromErrno(errno, "read directory " + path);
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    FURROW_RETURN_IF_ERROR(visit(name));
  }
}

bool IsZoneFileName(const std::string& name) {
  return name.size() >= 6 && name.find_first_not_of("0123456789") == std::string::npos;
}

Status Foreign(const std::string& path, const std::string& name) {
  return Status::InvalidArgument(path + " is not empty and holds '" + name +
                                 "', which is not part of a Furrow device; choose an empty or a new directory");
}

Status CheckNothingForeign(int directory, const std::string& path) {
  FURROW_RETURN_IF_ERROR(ForEachEntry(directory, path, [&](const std::string& name) {
    const bool ours = name == kGeometryFile || name == kTemporaryGeometry || name == kLockFile ||
                      name == kZoneDirectory || name == "lost+found";
    return ours ? Status::Ok() : Foreign(path, name);
  }));
  UniqueFd zones = OpenAt(directory, kZoneDirectory, O_RDONLY | O_DIRECTORY);
  if (!zones.valid()) {
    return errno == ENOENT ? Status::Ok() : Status::FromErrno(errno, "open " + path + "/" + kZoneDirectory);
  }
  const std::string zones_path = path + "/" + kZoneDirectory;
  return ForEachEntry(zones.get(), zones_path, [&](const std::string& name) {
    return IsZoneFileName(name) ? Status::Ok() : Foreign(zones_path, name);
  });
}

Status RemoveZoneFiles(int zones, const std::string& path) {
  return ForEachEntry(zones, path, [&](const std::string& name) {
    if (unlinkat(zones, name.c_str(), 0) == 0) return Status::Ok();
    return Status::FromErrno(errno, "remove " + path + "/" + name);
  });
}

Status MakeZoneFile(int zones, const std::string& path, ZoneId zone, const ZoneFileGeometry& g) {
  const std::string name = ZoneFileName(zone);
  UniqueFd fd = OpenAt(zones, name, O_WRONLY | O_CREAT | O_EXCL);
  if (!fd.valid()) return Status::FromErrno(errno, "create " + path + "/" + name);
  if (!g.preallocate) return Status::Ok();
  if (fallocate(fd.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(g.geometry.zone_capacity)) != 0) {
    return Status::FromErrno(errno, "reserve " + std::to_string(g.geometry.zone_capacity) + " bytes for " + path + "/" +
                                        name + " (create the device without preallocation, or smaller)");
  }
  if (const int error = SyncAll(fd.get())) return Status::FromErrno(error, "sync " + path + "/" + name);
  return Status::Ok();
}

Status MakeZones(int directory, const std::string& path, const ZoneFileGeometry& g) {
  const std::string zones_path = path + "/" + kZoneDirectory;
  if (mkdirat(directory, kZoneDirectory, 0755) != 0 && errno != EEXIST) {
    return Status::FromErrno(errno, "create " + zones_path);
  }
  UniqueFd zones = OpenAt(directory, kZoneDirectory, O_RDONLY | O_DIRECTORY);
  if (!zones.valid()) return Status::FromErrno(errno, "open " + zones_path);
  FURROW_RETURN_IF_ERROR(RemoveZoneFiles(zones.get(), zones_path));
  for (uint32_t i = 0; i < g.geometry.zone_count; ++i) {
    FURROW_RETURN_IF_ERROR(MakeZoneFile(zones.get(), zones_path, ZoneId{i}, g));
  }
  if (const int error = SyncAll(zones.get())) return Status::FromErrno(error, "sync " + zones_path);
  return Status::Ok();
}

// The file appears whole or not at all: with it the directory becomes a device.
Status PublishGeometry(int directory, const std::string& path, const ZoneFileGeometry& g) {
  const std::string file = path + "/" + kGeometryFile;
  UniqueFd fd = OpenAt(directory, kTemporaryGeometry, O_WRONLY | O_CREAT | O_TRUNC);
  if (!fd.valid()) return Status::FromErrno(errno, "create " + file);
  const std::string text = EncodeGeometry(g);
  const Bytes piece = text;
  const IoOutcome outcome = WriteFully(fd.get(), ConstBuffers(&piece, 1), 0);
  if (!outcome.ok()) return Status::FromErrno(outcome.error, "write " + file);
  if (const int error = SyncAll(fd.get())) return Status::FromErrno(error, "sync " + file);
  if (renameat(directory, kTemporaryGeometry, directory, kGeometryFile) != 0) {
    return Status::FromErrno(errno, "rename to " + file);
  }
  if (const int error = SyncAll(directory)) return Status::FromErrno(error, "sync " + path);
  return Status::Ok();
}

Result<UniqueFd> MakeDirectory(const std::string& path) {
  if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
    const int error = errno;
    const Status s = Status::FromErrno(error, "create directory " + path);
    return error == ENOENT ? Status::NotFound(s.message() + "; create its parent directory first") : s;
  }
  UniqueFd directory = OpenAt(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
  if (directory.valid()) {
    // The new directory's own entry has to survive a power cut too. A parent that cannot be read
    // is no reason to fail: the directory was there before, then.
    UniqueFd parent = OpenAt(directory.get(), "..", O_RDONLY | O_DIRECTORY);
    if (parent.valid()) {
      if (const int error = SyncAll(parent.get())) return Status::FromErrno(error, "sync the directory above " + path);
    }
    return directory;
  }
  if (errno == ENOTDIR) return Status::InvalidArgument(path + " is not a directory; name a new or an empty one");
  return Status::FromErrno(errno, "open directory " + path);
}

Status CheckNoDevice(int directory, const std::string& path) {
  if (faccessat(directory, kGeometryFile, F_OK, 0) != 0) return Status::Ok();
  return Status::AlreadyExists(path + " already holds a device; use --force to erase it, or choose another directory");
}

using Fields = std::map<std::string, uint64_t>;

// Each line "name value". Names that a later version has added are taken, too.
Result<Fields> ParseFields(std::istringstream lines, const std::string& path) {
  Fields fields;
  std::string line;
  while (std::getline(lines, line)) {
    const size_t blank = std::min(line.find(' '), line.size());
    uint64_t value = 0;
    const char* const end = line.data() + line.size();
    const auto [rest, error] = std::from_chars(line.data() + std::min(blank + 1, line.size()), end, value);
    const bool parsed = blank > 0 && rest == end && error == std::errc();
    if (!parsed || !fields.emplace(line.substr(0, blank), value).second) {
      return Status::Corruption(path + ": '" + line + "' is not 'name value', or there twice");
    }
  }
  return fields;
}

// Takes the fields that this version knows. False: one is missing, or has a value that it cannot have.
bool TakeFields(const Fields& fields, ZoneFileGeometry* out) {
  bool good = true;
  const auto take = [&](const char* name, uint64_t most) {
    const auto found = fields.find(name);
    if (found != fields.end() && found->second <= most) return found->second;
    good = false;
    return uint64_t{0};
  };
  const auto take32 = [&take](const char* name) { return static_cast<uint32_t>(take(name, UINT32_MAX)); };
  DeviceGeometry& g = out->geometry;
  g.block_size = take32("block_size");
  g.zone_size = take("zone_size", UINT64_MAX);
  g.zone_capacity = take("zone_capacity", UINT64_MAX);
  g.zone_count = take32("zone_count");
  g.max_open = take32("max_open");
  g.max_active = take32("max_active");
  g.volatile_cache = true;
  out->preallocate = take("preallocate", 1) != 0;
  return good && g.block_size != 0 && g.zone_capacity != 0 && g.zone_count != 0 && g.zone_capacity <= g.zone_size &&
         g.zone_capacity % g.block_size == 0;
}

}  // namespace

std::string EncodeGeometry(const ZoneFileGeometry& g) {
  std::ostringstream out;
  out << kMagic << kVersion << '\n'
      << "block_size " << g.geometry.block_size << '\n'
      << "zone_size " << g.geometry.zone_size << '\n'
      << "zone_capacity " << g.geometry.zone_capacity << '\n'
      << "zone_count " << g.geometry.zone_count << '\n'
      << "max_open " << g.geometry.max_open << '\n'
      << "max_active " << g.geometry.max_active << '\n'
      << "preallocate " << (g.preallocate ? 1 : 0) << '\n';
  return out.str() + ChecksumLine(out.str());
}

Result<ZoneFileGeometry> DecodeGeometry(const std::string& text, const std::string& path) {
  if (text.rfind(kMagic, 0) != 0) {
    return Status::InvalidArgument(path + " is not the geometry of a Furrow device: it does not begin with '" + kMagic +
                                   "'; check the path, or make a new device elsewhere");
  }
  const size_t last_line = text.size() < 2 ? 0 : text.rfind('\n', text.size() - 2) + 1;
  const std::string body = text.substr(0, last_line);
  if (ChecksumLine(body) != text.substr(last_line)) {
    return Status::Corruption(path +
                              ": the checksum does not match; restore this file from a backup (it never changes "
                              "after mkfs, so one of any age will do)");
  }
  const size_t version_at = std::string(kMagic).size();
  const size_t first_line = body.find('\n');
  const std::string version = body.substr(version_at, first_line - version_at);
  if (version != std::to_string(kVersion)) {
    return Status::NotSupported(path + ": device format " + version + ", this version knows " +
                                std::to_string(kVersion) + "; use a newer Furrow");
  }
  FURROW_ASSIGN_OR_RETURN(const Fields fields, ParseFields(std::istringstream(body.substr(first_line + 1)), path));
  ZoneFileGeometry g;
  if (!TakeFields(fields, &g)) {
    return Status::Corruption(path + ": sizes that cannot be; restore this file from a backup");
  }
  return g;
}

Result<ZoneFileGeometry> ReadGeometry(int directory, const std::string& path) {
  const std::string file = path + "/" + kGeometryFile;
  Result<std::string> text = ReadSmallFile(directory, kGeometryFile, kMaxGeometryBytes, file);
  if (!text.ok() && text.status().code() == StatusCode::kNotFound) {
    return Status::InvalidArgument(path + " holds no Furrow device (there is no " + kGeometryFile +
                                   "); check the path, or make one: furrow mkfs furrow://dir:" + path);
  }
  if (!text.ok()) return text.status();
  return DecodeGeometry(*text, file);
}

std::string ZoneFileName(ZoneId zone) {
  char name[16];
  std::snprintf(name, sizeof(name), "%06" PRIu32, zone.value());
  return name;
}

Status CreateZoneFiles(const std::string& path, const ZoneFileGeometry& geometry, bool force) {
  FURROW_ASSIGN_OR_RETURN(UniqueFd directory, MakeDirectory(path));
  FURROW_RETURN_IF_ERROR(CheckNothingForeign(directory.get(), path));
  if (!force) FURROW_RETURN_IF_ERROR(CheckNoDevice(directory.get(), path));  // before the lock file is touched
  FURROW_ASSIGN_OR_RETURN(const HostLock lock, HostLock::Acquire(directory.get(), kLockFile, "dir:" + path));
  if (!force) FURROW_RETURN_IF_ERROR(CheckNoDevice(directory.get(), path));  // somebody may have been faster
  // From here to the end there is no device: a crash must not leave old geometry over new zones.
  if (unlinkat(directory.get(), kGeometryFile, 0) != 0 && errno != ENOENT) {
    return Status::FromErrno(errno, "remove " + path + "/" + kGeometryFile);
  }
  if (const int error = SyncAll(directory.get())) return Status::FromErrno(error, "sync " + path);
  FURROW_RETURN_IF_ERROR(MakeZones(directory.get(), path, geometry));
  return PublishGeometry(directory.get(), path, geometry);
}

}  // namespace furrow

// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/file_store.h"

namespace furrow {
namespace {

bool StartsWith(std::string_view name, std::string_view prefix) { return name.substr(0, prefix.size()) == prefix; }

bool EndsWith(std::string_view name, std::string_view suffix) {
  return name.size() >= suffix.size() && name.substr(name.size() - suffix.size()) == suffix;
}

}  // namespace

FileKind KindOfName(std::string_view path) {
  const size_t slash = path.find_last_of('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (EndsWith(name, ".log")) return FileKind::kWal;
  if (StartsWith(name, "MANIFEST") || name == "LOG" || StartsWith(name, "LOG.")) return FileKind::kStream;
  if (name == "CURRENT" || name == "IDENTITY" || name == "LOCK" || StartsWith(name, "OPTIONS") ||
      EndsWith(name, ".dbtmp")) {
    return FileKind::kSmall;
  }
  return FileKind::kBulk;
}

const char* FileKindName(FileKind kind) {
  switch (kind) {
    case FileKind::kBulk: return "bulk";
    case FileKind::kStream: return "stream";
    case FileKind::kSmall: return "small";
    case FileKind::kWal: return "wal";
  }
  return "unknown";
}

}  // namespace furrow

// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/rocksdb_unique_id.h"

#include <cstring>
#include <string>

#include "util/coding.h"

namespace furrow {

size_t WriteUniqueId(const Volume& volume, FileId file, char* id, size_t max_size) {
  const Uuid& uuid = volume.engine().fs_uuid;
  std::string out;
  PutVarint(&out, DecodeFixed64(reinterpret_cast<const char*>(uuid.data())));
  PutVarint(&out, DecodeFixed64(reinterpret_cast<const char*>(uuid.data()) + 8));
  PutVarint(&out, file.value());
  if (out.size() > max_size) return 0;
  std::memcpy(id, out.data(), out.size());
  return out.size();
}

}  // namespace furrow

// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/rocksdb_unique_id.h"

#include <cstring>
#include <string>

#include "util/coding.h"

namespace furrow {

size_t WriteUniqueId(const Uuid& fs_uuid, FileId file, char* id, size_t max_size) {
  std::string out;
  PutVarint(&out, DecodeFixed64(reinterpret_cast<const char*>(fs_uuid.data())));
  PutVarint(&out, DecodeFixed64(reinterpret_cast<const char*>(fs_uuid.data()) + 8));
  PutVarint(&out, file.value());
  if (out.size() > max_size) return 0;
  std::memcpy(id, out.data(), out.size());
  return out.size();
}

}  // namespace furrow

// SPDX-License-Identifier: Apache-2.0
//
// In libfurrow.so alone: registers furrow:// when the library is loaded, as programs that preload it expect. RocksDB's
// registry is created on first use, so the order of initialisation does not matter; what is registered stays for ever
// (the library is linked with -z nodelete).
#include "furrow/furrow.h"

namespace {
[[maybe_unused]] const int registered = furrow_register(*ROCKSDB_NAMESPACE::ObjectLibrary::Default(), "");
}  // namespace

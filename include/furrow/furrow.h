// SPDX-License-Identifier: Apache-2.0
//
// Furrow for applications: register the furrow:// scheme, or make a FileSystem or Env directly, format a device, look
// at its use. The one public header that includes RocksDB's. All functions: any thread.
//
// Options.env is a raw pointer: the Env must outlive the DB and all that was made from its Options (backup engines,
// SstFileManager, info_log, iterators). See examples/embed.cc.
#pragma once

#include <memory>
#include <string>

#include "furrow/options.h"
#include "furrow/snapshot.h"
#include "furrow/version.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "rocksdb/status.h"
#include "rocksdb/utilities/object_registry.h"

namespace furrow {

// Makes FileSystem::CreateFromString and Env::CreateFromUri understand furrow://. Once is enough; more does no harm.
// NotSupported: built for another minor version of RocksDB than the one that is loaded.
// Loading libfurrow.so (linked or preloaded) does this by itself.
ROCKSDB_NAMESPACE::Status Register();

// Mounts `uri` ("furrow://dir:/var/tmp/zones"), or shares the mount that this process already has. Blocks (replay).
// InvalidArgument (URI, options), PathNotFound (no device, or no file system on it), IOError (also when another process
// has the device), Corruption, NotSupported (newer format, other RocksDB).
ROCKSDB_NAMESPACE::Status NewFurrowFileSystem(const std::string& uri, const MountOptions& options,
                                              std::shared_ptr<ROCKSDB_NAMESPACE::FileSystem>* result);
// The same as an Env, with the threads and the clock of Env::Default().
ROCKSDB_NAMESPACE::Status NewFurrowEnv(const std::string& uri, const MountOptions& options,
                                       std::unique_ptr<ROCKSDB_NAMESPACE::Env>* result);

// Creates a file system: all data on the device is lost. Without options.force, not over an existing one (IOError).
ROCKSDB_NAMESPACE::Status Mkfs(const std::string& uri, const MkfsOptions& options);

// Space and write accounting of the mount behind `fs`. InvalidArgument when it is not Furrow's.
ROCKSDB_NAMESPACE::Status Usage(ROCKSDB_NAMESPACE::FileSystem* fs, UsageSnapshot* usage);

}  // namespace furrow

// Adds Furrow's factories to `library`; what RocksDB's plugin mechanism calls. Returns how many.
extern "C" int furrow_register(ROCKSDB_NAMESPACE::ObjectLibrary& library, const std::string& argument);

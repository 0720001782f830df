// SPDX-License-Identifier: Apache-2.0
//
// StreamState: writing of one stream or WAL: its pending bytes, its zone, its drains and syncs.
// Created with the first append (or reopen), kept in the node's OpenState until nothing is
// pending. Shared by the writer handle and the drainer; any thread. It holds node->mu only for
// memory operations; I/O runs while `busy_` is set and no lock is held.
//
// Drainer: the background thread of a mount that moves pending bytes to the device, by age
// (30 s) and under memory pressure, and forgets the bytes of deleted files (they were absorbed).
#pragma once

#include <memory>
#include <vector>

#include "plugin/file/file_engine.h"
#include "plugin/file/file_node.h"
#include "plugin/file/file_writer.h"
#include "util/background.h"

namespace furrow {

class StreamState : public std::enable_shared_from_this<StreamState> {
 public:
  // `owner`: placement owner of the file (its directory, the creating thread).
  StreamState(const FileEngine* engine, FileNode* node, PlacementOwner owner);
  ~StreamState();

  // A memory copy: takes node->mu, no system call, no I/O. W and U are counted.
  Status Append(Bytes data);
  // Writes all that is pending now as frames (not durable), without waiting for appends that come meanwhile.
  Status Drain() EXCLUDES(mu_);
  // Everything appended before the call is durable on return, with the file's names: one durable
  // frame write where everything before it is durable already; otherwise frames and a flush. No
  // journal write unless a record that this file depends on is not durable yet.
  Status Sync() EXCLUDES(mu_);
  Status Truncate(uint64_t size) EXCLUDES(mu_);
  // Marks the end of writing: releases the zone hold; states the file as closed in the journal
  // once everything is durable (now, or by the drainer later).
  Status Close() EXCLUDES(mu_);
  // The file has no name and no handle any more: pending bytes are absorbed, nothing is written.
  void Abandon() EXCLUDES(mu_);

  // Clock time of the oldest pending byte; zero if none.
  std::chrono::nanoseconds oldest_pending() const EXCLUDES(mu_);

 private:
  friend class Drainer;
  class BusySection;

  Status WritePending(FileOffset upto, bool durable);
  Status WriteFrame(FileOffset from, FileOffset to, bool durable);
  Status FlushZones();
  void MaybeRecordProgress(bool closing);

  const FileEngine* const engine_;
  FileNode* const node_;  // outlives this: the node owns it
  const PlacementOwner owner_;

  mutable Mutex mu_;  // rank: after node->mu; a leaf
  CondVar idle_;
  bool busy_ GUARDED_BY(mu_) = false;  // one drain, sync, truncate or close at a time
  bool closing_ GUARDED_BY(mu_) = false;
  Status failed_ GUARDED_BY(mu_);      // sticky
  std::chrono::nanoseconds oldest_ GUARDED_BY(mu_){0};

  // Used only while busy_ is held.
  ZoneHold hold_;
  struct DirtyZone {
    std::shared_ptr<OpenZone> zone;
    ZoneOffset upto;
  };
  std::vector<DirtyZone> dirty_;       // zones with frames not flushed yet
  std::vector<Extent> unreported_;     // durable frames since the last progress record
  uint64_t unreported_bytes_ = 0;
};

class Drainer {
 public:
  // Runs at least once a second while anything is pending; idle otherwise.
  Drainer(const FileEngine* engine, std::chrono::nanoseconds max_age);
  ~Drainer();
  void Start();
  // Drains everything, then ends. First error is returned.
  Status Stop() EXCLUDES(mu_);

  // A file got its first pending byte. Any thread, any file lock held (leaf lock).
  void Add(std::weak_ptr<FileNode> file) EXCLUDES(mu_);
  void Kick();
  // Drains all files now and makes them durable (unmount, last LOCK released).
  Status DrainAll() EXCLUDES(mu_);

 private:
  void Run() EXCLUDES(mu_);
  const FileEngine* const engine_;
  const std::chrono::nanoseconds max_age_;
  Mutex mu_;
  std::vector<std::weak_ptr<FileNode>> files_ GUARDED_BY(mu_);
  std::unique_ptr<TaskThread> thread_;
};

// The FileWriter face of a StreamState.
std::unique_ptr<FileWriter> NewStreamWriter(const FileEngine* engine, FileRef file, PlacementOwner owner);

}  // namespace furrow

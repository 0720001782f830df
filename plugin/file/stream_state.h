// SPDX-License-Identifier: Apache-2.0
//
// StreamState: writing of one stream or WAL: its pending bytes, its zone, its drains and syncs.
// Created when a writer is opened, kept in the node's OpenState until the file is closed and nothing is
// pending. Shared by the writer handle and the drainer; any thread. It holds node->mu only for
// memory operations; I/O runs in the *section* (one drain, sync, truncate or close at a time), no lock held.
//
// Bytes leave the memory when their frame is written, durable or not. A drained frame that a later flush
// cannot make durable is therefore lost, and the file gets that error for good.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "plugin/file/drainer.h"
#include "plugin/file/file_engine.h"
#include "plugin/file/file_node.h"
#include "plugin/file/file_writer.h"
#include "plugin/file/frame.h"

namespace furrow {

class StreamState : public std::enable_shared_from_this<StreamState> {
 public:
  // The state of a file that is being opened for writing: the one it still has, or a new one. A file that had
  // a writer before gets a new incarnation, so that frames left behind its end are never believed. No I/O.
  // `owner`: placement owner of the file (its directory, the creating thread).
  static std::shared_ptr<StreamState> Open(const FileEngine* engine, const FileRef& file, PlacementOwner owner);

  // Use Open.
  StreamState(const FileEngine* engine, const FileRef& file, PlacementOwner owner);
  ~StreamState();

  // Writes bytes that a dead process had staged behind the end of `file`, and makes them durable. The file is closed
  // afterwards. Where that fails it is as before. Precondition: nothing is pending, and nobody else writes it.
  static Status WriteStaged(const FileEngine* engine, const FileRef& file, PlacementOwner owner, Bytes data);
  // The same where the device has no room now: stages them anew, in this mount's stage, to be drained later. NoSpace:
  // no room there either.
  static Status Restage(const FileEngine* engine, const FileRef& file, PlacementOwner owner, Bytes data);

  // A memory copy: takes node->mu, no system call, no I/O, unless the pool is overfull and this file has
  // a share in it: then the caller drains it first. W and U are counted.
  Status Append(Bytes data);
  // Writes all that is pending now as frames (not durable), without waiting for appends that come meanwhile.
  Status Drain() EXCLUDES(mu_);
  // Everything appended before the call outlives the process on return: nothing to do where it is staged; otherwise it
  // is written as frames (not durable).
  Status Flush() EXCLUDES(mu_);
  // Everything appended before the call is durable on return, with the file's names: one durable
  // frame write where everything before it is durable already; otherwise frames and a flush. No
  // journal write unless a record that this file depends on is not durable yet.
  Status Sync() EXCLUDES(mu_);
  // Growing: InvalidArgument. Blocks for a flush when bytes in frames are cut.
  Status Truncate(uint64_t size) EXCLUDES(mu_);
  // Marks the end of writing: releases the zone hold; states the file as closed in the journal
  // once everything is durable (now, or by the drainer later).
  Status Close() EXCLUDES(mu_);
  // The file has no name and no handle any more: pending bytes are absorbed, nothing more is written. Waits for the
  // frame that is being written now, if any. Call it before the extents are freed.
  void Abandon() EXCLUDES(mu_);

  // Clock time of the oldest pending byte; zero if none. No lock.
  std::chrono::nanoseconds oldest_pending() const;

 private:
  friend class Drainer;
  // What causes a frame: decides its size, and under what its padding is counted.
  enum class Cause { kDrain, kSync };
  // The right to do I/O for this file; see SectionLock.
  struct CAPABILITY("section") Section {
    void Enter() ACQUIRE() {}  // for the analysis alone: busy_ is what counts
    void Leave() RELEASE() {}
  };
  class SectionLock;
  // A frame as it was written.
  struct WrittenFrame {
    Extent extent;
    uint64_t device_bytes = 0;
  };

  void EnterSection() ACQUIRE(section_) EXCLUDES(mu_);
  void LeaveSection() RELEASE(section_) EXCLUDES(mu_);
  void BeginIncarnation(FileNode* node) REQUIRES(section_, node->mu);

  // --- for the drainer
  // Writes what is pending, flushes it too if asked, and states a closed file as closed.
  Status Settle(bool flush, bool record) EXCLUDES(mu_);
  // Clock time of the oldest byte that is pending or not flushed; zero if none.
  std::chrono::nanoseconds oldest_unsettled() const;
  // Nothing is left to be done: the file leaves the drainer's list (the next Append puts it there again).
  bool LeaveList();

  Status CheckUsable() const;
  // So much is pending that a drain would free memory.
  bool HoldsChunk() const;
  Status WritePending(FileOffset upto, Cause cause, bool durable) REQUIRES(section_);
  // Writes one frame from `from` on, at most up to `to`: less where a zone ends.
  Status WriteFrame(FileOffset from, FileOffset to, Cause cause, bool durable) REQUIRES(section_);
  // Makes hold_ a zone with room; returns how much of `want` bytes of payload fit into one frame there.
  Result<uint32_t> PrepareZone(uint64_t want) REQUIRES(section_);
  Status SelectZone(uint64_t frame_bytes) REQUIRES(section_);
  Result<WrittenFrame> AppendFrame(FileOffset from, uint32_t payload, bool durable) REQUIRES(section_);
  // The next sync makes all records so far durable.
  void DependOnJournal() REQUIRES(section_);
  // Moves the bytes from memory to the extents.
  void CommitFrame(const WrittenFrame& frame, Cause cause, bool durable) REQUIRES(section_);
  void MarkDirty(const WrittenFrame& frame) REQUIRES(section_);
  void CountFrame(const WrittenFrame& frame, Cause cause);
  // Makes all frames durable. An error is for good.
  Status FlushZones() REQUIRES(section_);
  Status SyncFrames(uint64_t target) REQUIRES(section_);
  Status TruncateFrames(uint64_t size) REQUIRES(section_);
  void AbsorbPendingLocked(uint64_t keep_upto) REQUIRES(node_->mu);
  // Has the drainer look after this file.
  void ListForDrain();

  // `force`: also when there is little to state.
  void RecordProgress(bool force) REQUIRES(section_);
  void RecordProgressLocked(bool closed) REQUIRES(section_, node_->mu);
  void TakeOver(Bytes data, std::optional<ChunkLabel> label) REQUIRES(section_, node_->mu);
  Status WriteStagedHere(Bytes data) EXCLUDES(mu_);
  Status RestageHere(Bytes data, const std::shared_ptr<StreamState>& self) REQUIRES(section_);
  // States the file as closed if it is, and lets go of the node.
  void FinishIfClosed() REQUIRES(section_);
  void Absorb() REQUIRES(section_);
  // Takes note of an outcome: an error that may have cost bytes is for good.
  Status Note(Status status) EXCLUDES(mu_);

  const FileEngine* const engine_;
  FileNode* const node_;                // outlives this: the node owns it, and every user holds the node
  const std::weak_ptr<FileNode> self_;  // the same, for the drainer
  const PlacementOwner owner_;

  mutable Mutex mu_;  // rank: after node->mu; a leaf
  CondVar idle_;
  bool busy_ GUARDED_BY(mu_) = false;     // somebody is in the section
  Status failed_ GUARDED_BY(mu_);         // sticky
  std::atomic<bool> has_failed_{false};   // failed_ is set: asked at every append
  std::atomic<bool> abandoned_{false};    // written under mu_
  std::atomic<bool> closing_{false};      // the writer is closed; written under node->mu
  std::atomic<bool> listed_{false};       // the drainer knows of this file
  std::atomic<bool> unstaged_{false};     // some pending bytes are in this process's own memory. Written under node->mu
  std::atomic<int64_t> oldest_{0};        // ns; of the pending bytes; 0 = none. Written under node->mu
  std::atomic<int64_t> oldest_dirty_{0};  // ns; of frames not flushed; 0 = none. Written in the section
  // The record that began this incarnation: durable before a frame of it is written, or frames that were never
  // acknowledged could be taken for those of the next incarnation.
  std::atomic<uint64_t> incarnation_sequence_{0};

  Section section_;
  ZoneHold hold_ GUARDED_BY(section_);
  std::vector<DirtyZone> dirty_ GUARDED_BY(section_);   // zones with frames not flushed yet
  FileOffset reported_ GUARDED_BY(section_);            // the journal knows all frames below
  uint64_t unreported_bytes_ GUARDED_BY(section_) = 0;  // device bytes of the frames since, durable or not
  uint64_t unreported_frames_ GUARDED_BY(section_) = 0;
  std::vector<Bytes> pieces_ GUARDED_BY(section_);  // scratch
};

// The FileWriter face of a StreamState.
std::unique_ptr<FileWriter> NewStreamWriter(const FileEngine* engine, FileRef file, PlacementOwner owner);

}  // namespace furrow

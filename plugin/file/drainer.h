// SPDX-License-Identifier: Apache-2.0
//
// Drainer: the background thread of a mount that moves pending bytes of streams to the device, by age
// (30 s; flushed then, too) and under memory pressure (oldest first). Bytes of deleted files are absorbed before
// it comes to them. Owned by the mount; any thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "plugin/file/file_engine.h"
#include "plugin/file/file_node.h"
#include "util/background.h"
#include "util/mutex.h"

namespace furrow {

class Drainer {
 public:
  // Runs at least once a second while anything is pending; idle, without waking up, otherwise.
  Drainer(const FileEngine* engine, std::chrono::nanoseconds max_age);
  ~Drainer();
  void Start();
  // Drains everything, then ends. First error is returned. Idempotent.
  Status Stop() EXCLUDES(mu_);

  // A file got its first pending byte. Any thread, any file lock held (leaf lock).
  void Add(std::weak_ptr<FileNode> file) EXCLUDES(mu_);
  // Looks at the files soon, without waiting for the second to pass.
  void Kick() EXCLUDES(mu_);
  // Drains all files now and makes them durable (unmount, last LOCK released). First error, after all were tried.
  Status DrainAll() EXCLUDES(mu_);
  // Looks at all files once: what the thread does. For tests with a clock of their own.
  void RunOnce() EXCLUDES(mu_);
  // Files that have something pending or not flushed.
  size_t files() const EXCLUDES(mu_);

 private:
  struct Candidate;

  // The thread's task: works until no file is left.
  void Run() EXCLUDES(mu_);
  // False: nothing is left to be done, or stopping.
  bool WaitForWork() EXCLUDES(mu_);
  // Takes all files out of the list; waits for whoever has them now.
  std::vector<Candidate> TakeFiles() EXCLUDES(mu_);
  // Puts back those that are not done.
  void PutBack(const std::vector<Candidate>& files) EXCLUDES(mu_);
  void Work(Candidate& candidate) EXCLUDES(mu_);
  void LogOnce(const Status& status) EXCLUDES(mu_);

  const FileEngine* const engine_;
  const std::chrono::nanoseconds max_age_;
  mutable Mutex mu_;  // leaf
  CondVar wake_;
  CondVar returned_;
  std::vector<std::weak_ptr<FileNode>> files_ GUARDED_BY(mu_);
  bool taken_ GUARDED_BY(mu_) = false;  // a pass has files out of the list
  bool kicked_ GUARDED_BY(mu_) = false;
  bool stop_ GUARDED_BY(mu_) = false;
  std::string last_error_ GUARDED_BY(mu_);  // logged already: a full device is said once, not every second
  std::unique_ptr<TaskThread> thread_;
};

}  // namespace furrow

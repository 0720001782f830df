// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/drainer.h"

#include <algorithm>
#include <utility>

#include "plugin/file/pending_bytes.h"
#include "plugin/file/stream_state.h"

namespace furrow {
namespace {

constexpr std::chrono::nanoseconds kPeriod = std::chrono::seconds(1);
// Chunks that stay with the pool when nothing is pending.
constexpr size_t kIdleChunks = 16;

}  // namespace

// A file of the list, with its state as it was when the pass began.
struct Drainer::Candidate {
  FileRef file;
  std::shared_ptr<StreamState> stream;
  std::chrono::nanoseconds oldest{0};
};

Drainer::Drainer(const FileEngine* engine, std::chrono::nanoseconds max_age)
    : engine_(engine),
      max_age_(max_age),
      thread_(std::make_unique<TaskThread>(
          "furrow-drain", [this] { Run(); }, std::chrono::nanoseconds(0))) {}

Drainer::~Drainer() {
  {
    MutexLock lock(mu_);
    stop_ = true;
    wake_.NotifyAll();
  }
  thread_->Stop();
}

void Drainer::Start() { thread_->Start(); }

Status Drainer::Stop() {
  {
    MutexLock lock(mu_);
    stop_ = true;
    wake_.NotifyAll();
  }
  thread_->Stop();
  return DrainAll();
}

void Drainer::Add(std::weak_ptr<FileNode> file) {
  {
    MutexLock lock(mu_);
    files_.push_back(std::move(file));
    if (files_.size() > 1) return;  // the thread is at work, or was woken
  }
  thread_->Kick();
}

void Drainer::Kick() {
  {
    MutexLock lock(mu_);
    kicked_ = true;
    wake_.NotifyAll();
  }
  thread_->Kick();
}

size_t Drainer::files() const {
  MutexLock lock(mu_);
  return files_.size();
}

void Drainer::Run() {
  while (WaitForWork()) RunOnce();
}

bool Drainer::WaitForWork() {
  MutexLock lock(mu_);
  while (!kicked_ && !stop_ && !files_.empty()) {
    if (!wake_.WaitFor(mu_, kPeriod)) break;
  }
  kicked_ = false;
  return !stop_ && !files_.empty();
}

std::vector<Drainer::Candidate> Drainer::TakeFiles() {
  std::vector<std::weak_ptr<FileNode>> files;
  {
    MutexLock lock(mu_);
    while (taken_) returned_.Wait(mu_);
    taken_ = true;
    files.swap(files_);
  }
  std::vector<Candidate> candidates;
  for (const std::weak_ptr<FileNode>& weak : files) {
    Candidate candidate;
    candidate.file = weak.lock();
    if (!candidate.file) continue;
    {
      ReaderLock lock(candidate.file->mu);
      if (candidate.file->open) candidate.stream = candidate.file->open->stream;
    }
    if (!candidate.stream) continue;
    candidate.oldest = candidate.stream->oldest_unsettled();
    candidates.push_back(std::move(candidate));
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.oldest < b.oldest; });
  return candidates;
}

void Drainer::PutBack(const std::vector<Candidate>& files) {
  std::vector<std::weak_ptr<FileNode>> kept;
  for (const Candidate& candidate : files) {
    if (!candidate.stream->LeaveList()) kept.push_back(candidate.file);
  }
  bool idle = false;
  {
    MutexLock lock(mu_);
    files_.insert(files_.end(), kept.begin(), kept.end());
    idle = files_.empty();
    taken_ = false;
    returned_.NotifyAll();
  }
  if (idle) engine_->pool->Trim(kIdleChunks);
}

void Drainer::Work(Candidate& candidate) {
  StreamState& stream = *candidate.stream;
  const std::chrono::nanoseconds oldest = stream.oldest_unsettled();
  if (oldest.count() == 0) return;
  const bool old = engine_->clock->Now() - oldest >= max_age_;
  if (!old && !(engine_->pool->pressure() && stream.oldest_pending().count() != 0)) return;
  // Under pressure memory is what counts; the flush comes with age.
  const Status status = stream.Settle(old, false);
  LogOnce(status);
}

void Drainer::LogOnce(const Status& status) {
  const std::string line = status.ok() ? "" : "background drain: " + status.ToString();
  {
    MutexLock lock(mu_);
    if (line == last_error_) return;
    last_error_ = line;
  }
  if (!line.empty()) engine_->logger->Error(line);
}

void Drainer::RunOnce() {
  std::vector<Candidate> files = TakeFiles();
  for (Candidate& candidate : files) Work(candidate);
  PutBack(files);
}

Status Drainer::DrainAll() {
  std::vector<Candidate> files = TakeFiles();
  Status first;
  Sequence needed;
  for (Candidate& candidate : files) {
    const Status status = candidate.stream->Settle(true, true);
    if (first.ok()) first = status;
    needed = std::max(needed, Sequence(candidate.file->sequence.load()));
  }
  PutBack(files);
  if (engine_->log->durable() < needed) {
    const Status status = engine_->log->Sync(needed);
    if (first.ok()) first = status;
  }
  return first;
}

}  // namespace furrow

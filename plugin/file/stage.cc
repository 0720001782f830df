// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/stage.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "plugin/file/stage_directory.h"
#include "plugin/file/stage_file.h"
#include "plugin/file/stage_segments.h"
#include "util/crash_point.h"
#include "util/rng.h"

namespace furrow {
namespace {

constexpr std::chrono::seconds kMaintenancePeriod(5);
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14; glibc knows it only from 2.35 on
#endif

StageToken RandomToken() {
  const RandomBits bits = SystemRandom();
  StageToken token;
  std::memcpy(token.data(), &bits.high, sizeof(bits.high));
  std::memcpy(token.data() + sizeof(bits.high), &bits.low, sizeof(bits.low));
  return token;
}

Result<std::string> AbsolutePath(const std::string& directory) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(realpath(directory.c_str(), nullptr), &std::free);
  if (!resolved) return Status::FromErrno(errno, "stage directory " + directory);
  return std::string(resolved.get());
}

Status WriteAt(int fd, uint64_t offset, Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t n = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Status::FromErrno(errno, "write");
    offset += static_cast<uint64_t>(n);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return Status::Ok();
}

Status WriteZeros(int fd, uint64_t offset, uint64_t n) {
  const std::string zeros(kStageChunkBytes, '\0');
  for (uint64_t done = 0; done < n;) {
    const size_t piece = static_cast<size_t>(std::min<uint64_t>(n - done, zeros.size()));
    FURROW_RETURN_IF_ERROR(WriteAt(fd, offset + done, Bytes(zeros.data(), piece)));
    done += piece;
  }
  return Status::Ok();
}

Status Fallocate(int fd, int mode, uint64_t offset, uint64_t n) {
  for (;;) {
    if (fallocate(fd, mode, static_cast<off_t>(offset), static_cast<off_t>(n)) == 0) return Status::Ok();
    if (errno == EOPNOTSUPP || errno == ENOSYS) return Status::NotSupported("fallocate");
    if (errno != EINTR) return Status::FromErrno(errno, "fallocate");
  }
}

// Maps the pages in, writably, so that a later store meets neither a fault that takes long nor one that fails.
// Precondition: nobody uses these bytes yet.
Status Touch(char* begin, uint64_t n) {
  if (madvise(begin, n, MADV_POPULATE_WRITE) == 0) return Status::Ok();
  if (errno != EINVAL) return Status::NoSpace("no memory for its pages: " + std::string(std::strerror(errno)));
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  for (uint64_t at = 0; at < n; at += page) *static_cast<volatile char*>(begin + at) = 0;
  return Status::Ok();
}

// Past a limit on file sizes ftruncate does not only fail: it sends a signal.
Status CheckSizeLimit(uint64_t bytes) {
  struct rlimit limit {};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes) {
    return Status::NoSpace("files may not be longer than " + std::to_string(limit.rlim_cur) + " bytes (ulimit -f), " +
                           "the stage needs " + std::to_string(bytes));
  }
  return Status::Ok();
}

uint32_t ChunksFor(uint64_t limit_bytes) {
  const uint64_t segments = std::min<uint64_t>(limit_bytes / kStageSegmentBytes, kMaxStageChunks / kChunksPerSegment);
  return static_cast<uint32_t>(std::max<uint64_t>(segments, 2)) * kChunksPerSegment;
}

void RaiseTo(std::atomic<uint64_t>& counter, uint64_t value) {
  uint64_t now = counter.load(std::memory_order_relaxed);
  while (now < value && !counter.compare_exchange_weak(now, value, std::memory_order_release)) {
  }
}

}  // namespace

struct Stage::Parts {
  Parts(StageHeader h, StageOptions o)
      : header(std::move(h)),
        options(std::move(o)),
        kinds(header.layout.chunks),
        segments(header.layout, Host(), options.clock) {}
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts();

  Status Make(const std::string& directory);  // the file, whole but for its header
  Status Allocate(uint64_t offset, uint64_t n);
  Status GiveBack(uint64_t offset, uint64_t n) {
    return Fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, n);
  }
  StageSegments::Host Host() {
    return {[this](uint64_t offset, uint64_t n) { return Allocate(offset, n); },
            [this](uint64_t offset, uint64_t n) { return GiveBack(offset, n); }};
  }
  StageControl& Control() { return *reinterpret_cast<StageControl*>(map + header.layout.control_offset()); }
  ChunkHeader& Chunk(uint32_t index) {
    return reinterpret_cast<ChunkHeader*>(map + header.layout.table_offset())[index];
  }

  const StageHeader header;
  const StageOptions options;
  std::string path;
  int fd = -1;
  char* map = nullptr;
  bool keep = false;             // the file outlives this object; set by Create and Remove, the owner's calls
  std::vector<ChunkKind> kinds;  // by chunk, of its holder
  std::atomic<uint64_t> next_tag{1};
  std::atomic<uint64_t> refused{0};
  std::atomic<uint32_t> records{0};     // chunks
  std::atomic<bool> kicked{false};      // the thread has been asked for more and has not begun
  std::atomic<bool> complained{false};  // that no memory was to be had; until there is some again
  std::atomic<bool> gives_back{true};   // the directory's file system can
  StageSegments segments;
};

Stage::Parts::~Parts() {
  if (map != nullptr) munmap(map, header.layout.file_bytes());
  if (fd < 0) return;
  if (!keep) unlink(path.c_str());
  close(fd);
}

Status Stage::Parts::Make(const std::string& directory) {
  FURROW_RETURN_IF_ERROR(CheckSizeLimit(header.layout.file_bytes()));
  path = directory + "/" + kStageNamePrefix + TokenText(header.identity.token);
  fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return Status::FromErrno(errno, "create");
  FURROW_RETURN_IF_ERROR(LockStageFile(fd, true));
  if (fchmod(fd, 0600) != 0) return Status::FromErrno(errno, "fchmod");  // whatever the umask
  const uint64_t bytes = header.layout.file_bytes();
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) return Status::FromErrno(errno, "ftruncate");
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (mapped == MAP_FAILED) return Status::FromErrno(errno, "mmap");
  map = static_cast<char*>(mapped);
  FURROW_RETURN_IF_ERROR(Allocate(0, header.layout.chunks_offset()));
  return segments.Grow();
}

Status Stage::Parts::Allocate(uint64_t offset, uint64_t n) {
  if (options.before_allocation) FURROW_RETURN_IF_ERROR(options.before_allocation(offset, n));
  Status status = Fallocate(fd, 0, offset, n);
  if (status.code() == StatusCode::kNotSupported) status = WriteZeros(fd, offset, n);
  if (status.ok()) status = Touch(map + offset, n);
  // A part that was had after all would never be used. Best effort: the error to tell is the first one.
  if (!status.ok()) GiveBack(offset, n).IgnoreError();
  return status;
}

Result<std::unique_ptr<Stage>> Stage::Create(StageIdentity identity, uint32_t zones, const StageOptions& options) {
  if (identity.device.size() > kMaxStageNameBytes || identity.uri.size() > kMaxStageNameBytes ||
      identity.boot_id.size() > kMaxBootIdBytes || zones > kMaxStageZones) {
    return Status::InvalidArgument("stage: the device's name is too long, or it has too many zones: " + identity.uri);
  }
  FURROW_ASSIGN_OR_RETURN(const std::string directory, AbsolutePath(options.directory));
  identity.token = RandomToken();
  StageHeader header;
  header.identity = std::move(identity);
  header.layout = {ChunksFor(options.limit_bytes), zones};
  header.writer_pid = static_cast<uint64_t>(getpid());
  auto parts = std::make_unique<Parts>(std::move(header), options);
  Status status = parts->Make(directory);
  if (status.ok()) status = WriteAt(parts->fd, 0, EncodeStageHeader(parts->header));
  if (!status.ok()) return status.WithContext("stage " + (parts->path.empty() ? directory : parts->path));
  parts->keep = true;
  return std::make_unique<Stage>(std::move(parts));
}

Stage::Stage(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Stage::~Stage() { Stop(); }

void Stage::Start() {
  assert(!thread_);
  thread_ = std::make_unique<TaskThread>(
      "furrow-stage", [this] { Maintain(); }, kMaintenancePeriod);
  thread_->Start();
}

void Stage::Stop() {
  if (thread_) thread_->Stop();
}

void Stage::Remove() {
  if (!parts_->keep) return;
  parts_->Control().closed.store(1, std::memory_order_release);
  if (unlink(parts_->path.c_str()) != 0 && errno != ENOENT) {
    parts_->options.logger->Warn("stage " + parts_->path +
                                 " is needed no more but cannot be removed: " + std::strerror(errno) + "; remove it");
  }
  parts_->keep = false;
}

void Stage::Maintain() {
  parts_->kicked.store(false);
  const Status grown = parts_->segments.KeepAhead();
  if (!parts_->segments.starved()) parts_->complained.store(false, std::memory_order_relaxed);
  if (!grown.ok() && !parts_->complained.exchange(true, std::memory_order_relaxed)) {
    parts_->options.logger->Warn("stage " + parts_->path + " cannot grow beyond " +
                                 std::to_string(uint64_t{parts_->segments.allocated()} * kStageChunkBytes) +
                                 " bytes (" + grown.message() +
                                 "): more goes straight to the device; free memory there");
  }
  if (!parts_->gives_back.load(std::memory_order_relaxed)) return;
  const Result<uint32_t> given = parts_->segments.GiveBackIdle();
  if (given.ok()) return;
  parts_->gives_back.store(false, std::memory_order_relaxed);
  parts_->options.logger->Warn("stage " + parts_->path +
                               " keeps the memory that it once had: " + given.status().message());
}

std::optional<StageChunk> Stage::Take(const ChunkLabel& label) {
  Parts& p = *parts_;
  const std::optional<uint32_t> index = p.segments.Claim(label.kind == ChunkKind::kStream);
  if (thread_ && p.segments.wants_more() && !p.kicked.exchange(true)) thread_->Kick();
  if (!index) {
    p.refused.fetch_add(1, std::memory_order_relaxed);
    return std::nullopt;
  }
  p.kinds[*index] = label.kind;
  if (label.kind == ChunkKind::kRecords) p.records.fetch_add(1, std::memory_order_relaxed);
  const uint64_t tag = p.next_tag.fetch_add(1, std::memory_order_relaxed);
  ChunkHeader& h = p.Chunk(*index);
  // Release: who sees one of these fields also sees that the tag of the chunk's former life is gone.
  h.file.store(label.file.value(), std::memory_order_release);
  h.offset.store(label.offset, std::memory_order_release);
  h.kind_incarnation.store(uint64_t{static_cast<uint8_t>(label.kind)} << 32 | label.incarnation,
                           std::memory_order_release);
  h.first_entry.store(label.first_entry, std::memory_order_release);
  h.check.store(ChunkCheck(tag, label, p.header.identity.token), std::memory_order_release);
  h.state.store(PackChunkState(ChunkState{}), std::memory_order_release);
  h.tag.store(tag, std::memory_order_release);
  return StageChunk{p.map + p.header.layout.chunk_offset(*index), *index};
}

void Stage::Prepare() { parts_->segments.Prepare(); }

void Stage::Publish(const StageChunk& chunk, const ChunkState& state) {
  if (kept_.load(std::memory_order_relaxed)) return;
  FURROW_CRASH_POINT("stage.publish.before");
  parts_->Chunk(chunk.index).state.store(PackChunkState(state), std::memory_order_release);
  FURROW_CRASH_POINT("stage.published");
}

void Stage::Keep() { kept_.store(true, std::memory_order_seq_cst); }

void Stage::Free(const StageChunk& chunk) {
  if (kept_.load(std::memory_order_seq_cst)) return;
  const ChunkKind kind = parts_->kinds[chunk.index];
  FURROW_CRASH_POINT("stage.free.before");
  parts_->Chunk(chunk.index).tag.store(0, std::memory_order_seq_cst);
  if (kind == ChunkKind::kRecords) parts_->records.fetch_sub(1, std::memory_order_relaxed);
  parts_->segments.Release(chunk.index, kind == ChunkKind::kStream);
}

void Stage::NoteChange() { parts_->Control().changes.fetch_add(1, std::memory_order_release); }

void Stage::SetSequences(Sequence appended, Sequence durable) {
  RaiseTo(parts_->Control().appended, appended.value());
  RaiseTo(parts_->Control().durable, durable.value());
}

void Stage::SetGeneration(ZoneId zone, Generation generation) {
  assert(zone.value() < parts_->header.layout.zones);
  auto* generations = reinterpret_cast<std::atomic<uint32_t>*>(&parts_->Control() + 1);
  generations[zone.value()].store(generation.value(), std::memory_order_seq_cst);
}

const StageIdentity& Stage::identity() const { return parts_->header.identity; }
const std::string& Stage::path() const { return parts_->path; }
bool Stage::pressure() const { return parts_->segments.three_quarters_taken(); }

StageSnapshot Stage::Snapshot() const {
  const StageSegments& segments = parts_->segments;
  StageSnapshot snapshot;
  snapshot.path = parts_->path;
  snapshot.limit_bytes = uint64_t{segments.limit()} * kStageChunkBytes;
  snapshot.allocated_bytes = uint64_t{segments.allocated()} * kStageChunkBytes;
  snapshot.record_bytes = uint64_t{parts_->records.load(std::memory_order_relaxed)} * kStageChunkBytes;
  snapshot.used_bytes = (uint64_t{segments.used_by_small()} + segments.used_by_streams()) * kStageChunkBytes;
  snapshot.refused = parts_->refused.load(std::memory_order_relaxed);
  return snapshot;
}

}  // namespace furrow

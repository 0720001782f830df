// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/small_writer.h"

#include <utility>

namespace furrow {
namespace {

class SmallWriter final : public FileWriter {
 public:
  SmallWriter(const FileEngine* engine, FileRef file, std::function<std::unique_ptr<FileWriter>()> make_bulk)
      : engine_(engine), file_(std::move(file)), make_bulk_(std::move(make_bulk)) {}

  ~SmallWriter() override {
    const Status status = Close();
    if (!status.ok())
      engine_->logger->Error("closing file " + std::to_string(file_->id.value()) + ": " + status.message());
  }

  Status Append(Bytes data) override {
    if (bulk_) return bulk_->Append(data);
    FURROW_RETURN_IF_ERROR(engine_->log->writable());
    if (file_->size + data.size() > engine_->max_small_bytes()) {
      FURROW_RETURN_IF_ERROR(BecomeBulk());
      return bulk_->Append(data);
    }
    WriterLock lock(file_->mu);
    if (!file_->content) file_->content = std::make_unique<std::string>();
    file_->content->append(data);
    file_->size = file_->content->size();
    file_->mtime_seconds = engine_->clock->UnixSeconds();
    engine_->counters->host_bytes += data.size();
    engine_->counters->absorbed_bytes += data.size();  // the journal carries it, as metadata
    dirty_ = true;
    return Status::Ok();
  }

  Status PositionedAppend(Bytes data, FileOffset at) override {
    if (bulk_) return bulk_->PositionedAppend(data, at);
    if (at.value() != file_->size) {
      return Status::InvalidArgument("positioned append at " + std::to_string(at.value()) + ", but file " +
                                     std::to_string(file_->id.value()) + " ends at " + std::to_string(file_->size));
    }
    return Append(data);
  }

  Status Truncate(uint64_t size) override {
    if (bulk_) {
      FURROW_RETURN_IF_ERROR(bulk_->Truncate(size));
      CutContent(size);
      return Status::Ok();
    }
    WriterLock lock(file_->mu);
    if (size > file_->size) return Status::InvalidArgument("truncate cannot make a file longer");
    if (file_->content) file_->content->resize(size);
    file_->size = size;
    dirty_ = true;
    return Status::Ok();
  }

  Status Flush() override { return bulk_ ? bulk_->Flush() : RecordAndSettle(); }

  Status Sync() override {
    if (bulk_) {
      FURROW_RETURN_IF_ERROR(bulk_->Sync());
      DropContent();
      return Status::Ok();
    }
    FURROW_RETURN_IF_ERROR(Record());
    return engine_->log->Sync(Sequence(file_->sequence));
  }

  Status Close() override {
    if (closed_) return Status::Ok();
    closed_ = true;
    if (!bulk_) return RecordAndSettle();
    // The old content is what the journal states until the extents are; make that change now.
    FURROW_RETURN_IF_ERROR(bulk_->Sync());
    DropContent();
    return bulk_->Close();
  }

  void SetLifetime(LifetimeClass lifetime) override {
    if (bulk_) bulk_->SetLifetime(lifetime);
  }
  void SetSizeHint(uint64_t bytes) override {
    if (bulk_) bulk_->SetSizeHint(bytes);
  }
  uint64_t size() const override { return file_->size; }

 private:
  // Queues the content for the journal, if it has changed.
  Status Record() {
    if (!dirty_) return Status::Ok();
    FURROW_RETURN_IF_ERROR(engine_->log->writable());
    WriterLock lock(file_->mu);
    const std::string content = file_->content ? *file_->content : std::string();
    file_->recorded_size = content.size();
    file_->Depend(engine_->log->Append(ContentRecord{file_->id, FileKind::kSmall, file_->mtime_seconds, content}));
    dirty_ = false;
    return Status::Ok();
  }

  Status RecordAndSettle() {
    FURROW_RETURN_IF_ERROR(Record());
    return engine_->log->Settle(Sequence(file_->sequence));
  }

  Status BecomeBulk() {
    std::string content;
    uint64_t recorded = 0;
    {
      // `content` stays in the node: checkpoints state it until the extents are recorded.
      WriterLock lock(file_->mu);
      if (file_->content) content = *file_->content;
      recorded = file_->recorded_size;
      file_->kind = FileKind::kBulk;
      file_->recorded_size = 0;
      file_->size = 0;
    }
    bulk_ = make_bulk_();
    if (!content.empty()) {
      if (const Status status = bulk_->Append(content); !status.ok()) {
        bulk_.reset();
        // As it was: the caller may come again.
        WriterLock lock(file_->mu);
        file_->kind = FileKind::kSmall;
        file_->recorded_size = recorded;
        file_->size = content.size();
        return status;
      }
    }
    engine_->counters->host_bytes -= content.size();  // both Appends have counted it
    engine_->counters->absorbed_bytes -= content.size();
    return Status::Ok();
  }

  // The journal states the old content for as long as no extents take its place: not more of it than is left.
  void CutContent(uint64_t size) {
    WriterLock lock(file_->mu);
    if (!file_->content || file_->content->size() <= size || !file_->extents.empty()) return;
    file_->content->resize(size);
    file_->Depend(
        engine_->log->Append(ContentRecord{file_->id, FileKind::kSmall, file_->mtime_seconds, *file_->content}));
  }

  void DropContent() {
    WriterLock lock(file_->mu);
    file_->content.reset();
  }

  const FileEngine* const engine_;
  const FileRef file_;
  const std::function<std::unique_ptr<FileWriter>()> make_bulk_;
  std::unique_ptr<FileWriter> bulk_;
  bool closed_ = false;
  bool dirty_ = false;  // content differs from the newest record
};

}  // namespace

std::unique_ptr<FileWriter> NewSmallWriter(const FileEngine* engine, FileRef file,
                                           std::function<std::unique_ptr<FileWriter>()> make_bulk) {
  return std::make_unique<SmallWriter>(engine, std::move(file), std::move(make_bulk));
}

}  // namespace furrow

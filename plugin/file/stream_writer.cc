// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>

#include "plugin/file/stream_state.h"

namespace furrow {
namespace {

class StreamWriter final : public FileWriter {
 public:
  StreamWriter(const FileEngine* engine, FileRef file, PlacementOwner owner)
      : engine_(engine), file_(std::move(file)), stream_(StreamState::Open(engine, file_, owner)) {}

  ~StreamWriter() override {
    if (closed_) return;
    const Status status = stream_->Close();
    if (!status.ok()) engine_->logger->Error("close of an abandoned writer: " + status.ToString());
  }

  Status Append(Bytes data) override {
    FURROW_RETURN_IF_ERROR(CheckOpen("append to"));
    return stream_->Append(data);
  }

  Status PositionedAppend(Bytes data, FileOffset at) override {
    if (at.value() != size()) {
      return Status::InvalidArgument("write to " + Name() + " at byte " + std::to_string(at.value()) +
                                     ": a log only grows at its end, byte " + std::to_string(size()));
    }
    return Append(data);
  }

  Status Truncate(uint64_t size) override {
    FURROW_RETURN_IF_ERROR(CheckOpen("truncate"));
    FURROW_RETURN_IF_ERROR(stream_->Truncate(size));
    return engine_->log->Settle(Sequence(file_->sequence.load(std::memory_order_acquire)));
  }

  // Appended bytes are readable at once, and staged where that can be.
  Status Flush() override {
    FURROW_RETURN_IF_ERROR(CheckOpen("flush"));
    return stream_->Flush();
  }

  Status Sync() override {
    FURROW_RETURN_IF_ERROR(CheckOpen("sync"));
    return stream_->Sync();
  }

  Status Close() override {
    FURROW_RETURN_IF_ERROR(CheckOpen("close"));
    closed_ = true;
    return stream_->Close();
  }

  void SetLifetime(LifetimeClass lifetime) override {
    WriterLock lock(file_->mu);
    file_->lifetime = lifetime;
  }

  // Streams share zones whatever their size.
  void SetSizeHint(uint64_t) override {}

  uint64_t size() const override { return file_->size.load(std::memory_order_acquire); }

 private:
  std::string Name() const { return "file " + std::to_string(file_->id.value()); }
  Status CheckOpen(const char* what) const {
    if (!closed_) return Status::Ok();
    return Status::InvalidArgument(std::string(what) + " " + Name() + ": its writer is closed");
  }

  const FileEngine* const engine_;
  const FileRef file_;
  const std::shared_ptr<StreamState> stream_;
  bool closed_ = false;  // writer's thread only
};

}  // namespace

std::unique_ptr<FileWriter> NewStreamWriter(const FileEngine* engine, FileRef file, PlacementOwner owner) {
  return std::make_unique<StreamWriter>(engine, std::move(file), owner);
}

}  // namespace furrow

// SPDX-License-Identifier: Apache-2.0
//
// StageReplay: what another process had staged joins what the device has. At a read-write mount the other one is dead:
// its records follow the journal's, its bytes become durable, and only then may its stage go. At a read-only mount it
// may be alive: records and the states of bulk files are looked at, streams are read where they are (StagedTail). Made
// for one mount; one thread; blocks for the device.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "plugin/file/bulk_stage.h"
#include "plugin/file/file_engine.h"
#include "plugin/file/file_store.h"
#include "plugin/file/stage_view.h"

namespace furrow {

struct StageReplayReport {
  uint64_t records = 0;         // that the journal did not have
  uint64_t stream_bytes = 0;    // written to the device
  uint64_t bulk_files = 0;      // whose extents or last bytes the journal did not have
  uint32_t damaged_chunks = 0;  // left out
};

class StageReplay {
 public:
  // `view` and `engine` outlive it. `look_on`: a read-only mount.
  StageReplay(const FileEngine* engine, const StageView* view, bool look_on);

  // Copies what is needed. Corruption: some of it is damaged; with `drop_damaged` that is left out, and counted.
  Status Load(bool drop_damaged);
  // After the journal's replay. Aborted: a writer at work has moved on, look again.
  Status ReplayRecords(ReplaySink* sink);
  // Once files are known and zones loaded, before live bytes are counted. Data that does not fit its checksum, or lies
  // in a zone that is not what it was, is left out and logged.
  // IoError: it cannot be read now; nothing is given up for that.
  Status ApplyBulk(const std::function<FileRef(FileId)>& find);
  // Zones that must be flushed before the journal states what ApplyBulk found.
  const std::vector<ZoneId>& zones() const { return zones_; }
  // Read-write, when the journal takes records and streams are recovered: states and writes everything, durably.
  // Streams that the device has no room for now are left for Restage.
  Status WriteBack(FileStore* files);
  // Puts what is left into the stage that the pool has now, before the journal names that one. NoSpace: it has no room
  // either.
  Status Restage();

  // The view goes; the report stays.
  void Forget() { view_ = nullptr; }

  const StageReplayReport& report() const { return report_; }

 private:
  struct Piece {  // a chunk's bytes
    ChunkLabel label;
    std::string bytes;
  };
  struct Recovered {  // a bulk file
    FileRef file;
    ExtentsRecord record;
    FileOffset tail_offset;
    std::string tail;
  };

  // False: that extent, and what lies behind it, is left out. IoError.
  Result<bool> Believable(FileId file, const Extent& extent, Generation generation, bool summed);
  Status AddSummed(const Extent& extent, std::vector<Extent>* out);
  // The extents that can be believed, from the front.
  Result<std::vector<Extent>> Believed(const BulkState& state);
  Status ApplyOne(const BulkState& state, const FileRef& file);
  void LookAtOne(const BulkState& state, const FileRef& file);
  // Writes again what lies in zones of which a flush may have failed.
  void MoveUnvouched(Recovered* recovered);
  // The bytes that follow the end of the file without a gap.
  std::string BytesBehind(const FileRef& file, const std::vector<const Piece*>& pieces) const;
  Status WriteStream(const FileRef& file, const std::vector<const Piece*>& pieces);
  Status WriteTail(const Recovered& recovered, const std::string& name);

  const FileEngine* const engine_;
  const StageView* view_;
  const bool look_on_;
  std::vector<Piece> records_;  // by offset
  std::vector<Piece> streams_;  // by file and offset
  std::vector<BulkState> bulk_;
  std::vector<Recovered> recovered_;
  std::vector<std::pair<FileRef, std::string>> left_;  // streams: for Restage
  std::vector<ZoneId> zones_;
  StageReplayReport report_;
};

}  // namespace furrow

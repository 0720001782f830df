// SPDX-License-Identifier: Apache-2.0
#include <ostream>
#include <vector>

#include "tools/command_table.h"
#include "tools/reading.h"

namespace furrow::tools {
namespace {

constexpr size_t kPiece = 1 << 20;  // bytes read at a time

Status RunCat(const Invocation& invocation, Console* console) {
  FURROW_ASSIGN_OR_RETURN(const std::shared_ptr<MountPoint> mount, OpenForReading(invocation.uri));
  const std::string path = AbsolutePath(invocation.arguments[0]);
  FURROW_ASSIGN_OR_RETURN(const std::unique_ptr<OpenedFile> file, mount->OpenForRead(path));
  std::vector<char> buffer(kPiece);
  uint64_t offset = 0;
  while (console->out->good()) {
    FURROW_ASSIGN_OR_RETURN(const size_t got, file->Read(FileOffset(offset), buffer.size(), buffer.data()));
    if (got == 0) return Status::Ok();
    console->out->write(buffer.data(), static_cast<std::streamsize>(got));
    offset += got;
  }
  return Status::IoError("cannot write to standard output");
}

}  // namespace

Command CatCommand() {
  Command c;
  c.name = "cat";
  c.summary = "Write a file's bytes to standard output";
  c.arguments = {{"PATH"}};
  c.exit_codes = ReadingExitCodes();
  c.run = RunCat;
  return c;
}

}  // namespace furrow::tools

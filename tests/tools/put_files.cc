// SPDX-License-Identifier: Apache-2.0
//
// put_files URI: puts some files on a device, for command_test.py: /db/000001.sst (3,000,000 bytes, byte i is i * 31
// mod 251), /db/000002.log (synced), /db/CURRENT, and one with a name that is no text. put_files --hold URI: mounts it,
// writes the first 12 bytes of /held/000009.log without a sync, prints "mounted", and keeps both until standard input
// ends.
#include <cstdlib>
#include <iostream>
#include <string>

#include "plugin/fs/volume.h"
#include "util/logger.h"

namespace furrow {
namespace {

Status Put(Volume* volume, const std::string& path, const std::string& bytes, bool sync) {
  FURROW_ASSIGN_OR_RETURN(OpenedWriter file, volume->files().Create(path, KindOfName(path)));
  FURROW_RETURN_IF_ERROR(file.writer->Append(Bytes(bytes.data(), bytes.size())));
  if (sync) FURROW_RETURN_IF_ERROR(file.writer->Sync());
  return file.writer->Close();
}

Status PutAll(Volume* volume) {
  std::string table(3000000, '\0');
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<char>(i * 31 % 251);
  FURROW_RETURN_IF_ERROR(volume->files().names().MakeDirectory("/db", /*parents=*/true));
  FURROW_RETURN_IF_ERROR(Put(volume, "/db/000001.sst", table, false));
  FURROW_RETURN_IF_ERROR(Put(volume, "/db/000002.log", std::string(10000, 'w'), true));
  FURROW_RETURN_IF_ERROR(Put(volume, "/db/CURRENT", "MANIFEST-000001\n", true));
  return Put(volume, "/db/a\n\"b\" \xc3\xbc\xff", "odd", false);
}

Status Hold(Volume* volume) {
  FURROW_RETURN_IF_ERROR(volume->files().names().MakeDirectory("/held", /*parents=*/true));
  FURROW_ASSIGN_OR_RETURN(OpenedWriter log, volume->files().Create("/held/000009.log", FileKind::kWal));
  FURROW_RETURN_IF_ERROR(log.writer->Append("not yet safe"));
  std::cout << "mounted" << std::endl;
  std::string ignored;
  while (std::getline(std::cin, ignored)) continue;
  return log.writer->Close();
}

Status Run(const std::string& uri, bool hold) {
  FURROW_ASSIGN_OR_RETURN(const std::shared_ptr<Volume> volume,
                          Volume::Mount(uri, MountOptions(), StderrLogger(LogLevel::kWarning)));
  FURROW_RETURN_IF_ERROR(hold ? Hold(volume.get()) : PutAll(volume.get()));
  return volume->Unmount();
}

}  // namespace
}  // namespace furrow

int main(int argc, char** argv) {
  const bool hold = argc == 3 && std::string(argv[1]) == "--hold";
  if (argc != 2 && !hold) {
    std::cerr << "usage: put_files [--hold] URI\n";
    return EXIT_FAILURE;
  }
  const furrow::Status status = furrow::Run(argv[argc - 1], hold);
  if (!status.ok()) std::cerr << "put_files: " << status.ToString() << "\n";
  return status.ok() ? EXIT_SUCCESS : EXIT_FAILURE;
}

// SPDX-License-Identifier: Apache-2.0
//
// put_files URI: puts some files on a device, for command_test.py: /db/000001.sst (3,000,000 bytes, byte i is i * 31
// mod 251), /db/000002.log (synced), /db/CURRENT, and one with a name that is no text. put_files --hold URI: mounts it,
// writes the first 12 bytes of /held/000009.log without a sync, prints "mounted", and keeps both until standard input
// ends. put_files --kill URI: puts the files, and one more (/db/000003.log: 20,000 bytes, flushed and not closed), and
// dies of SIGKILL.
#include <csignal>
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

// Does not return unless something fails.
Status PutAllAndDie(Volume* volume) {
  FURROW_RETURN_IF_ERROR(PutAll(volume));
  FURROW_ASSIGN_OR_RETURN(OpenedWriter file, volume->files().Create("/db/000003.log", KindOfName("000003.log")));
  const std::string bytes(20000, 'u');
  FURROW_RETURN_IF_ERROR(file.writer->Append(bytes));
  FURROW_RETURN_IF_ERROR(file.writer->Flush());
  std::raise(SIGKILL);
  return Status::Aborted("still alive");
}

Status Run(const std::string& uri, const std::string& how) {
  FURROW_ASSIGN_OR_RETURN(const std::shared_ptr<Volume> volume,
                          Volume::Mount(uri, MountOptions(), StderrLogger(LogLevel::kWarning)));
  if (how == "--kill") return PutAllAndDie(volume.get());
  FURROW_RETURN_IF_ERROR(how == "--hold" ? Hold(volume.get()) : PutAll(volume.get()));
  return volume->Unmount();
}

}  // namespace
}  // namespace furrow

int main(int argc, char** argv) {
  const std::string how = argc == 3 ? argv[1] : "";
  if (argc != 2 && how != "--hold" && how != "--kill") {
    std::cerr << "usage: put_files [--hold|--kill] URI\n";
    return EXIT_FAILURE;
  }
  const furrow::Status status = furrow::Run(argv[argc - 1], how);
  if (!status.ok()) std::cerr << "put_files: " << status.ToString() << "\n";
  return status.ok() ? EXIT_SUCCESS : EXIT_FAILURE;
}

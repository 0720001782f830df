// SPDX-License-Identifier: Apache-2.0
//
// The program of the kill test for names (names_kill.sh drives it; it is killed while it works):
//   names_kill_test write FS DIR ACKS SEED   makes DIR and works in it for ever: creates files (closed without a sync),
//   renames, links
//                                            and deletes them, makes and removes directories; each call that has
//                                            returned is acknowledged in ACKS
//   names_kill_test check FS DIR ACKS SEED   compares everything below DIR with what was acknowledged
// FS: "posix" or a furrow:// URI. What happens is a function of the seed. The call that was under way may have happened
// or not. Exit codes: 0 ok, 1 not what was acknowledged, 2 usage, 3 a call failed.
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "furrow/furrow.h"
#include "rocksdb/convenience.h"
#include "rocksdb/file_system.h"
#include "tests/conformance/kill_plan.h"
#include "util/rng.h"

namespace furrow {
namespace {

namespace rdb = ROCKSDB_NAMESPACE;

constexpr size_t kMostFiles = 60;
constexpr const char* kDirectories[] = {"", "/a", "/b"};

// Contents are functions of their number: a few bytes, or more than a block, or more than a stage's chunk.
std::string Content(uint64_t number) {
  Rng rng(number);
  const uint64_t sizes[] = {0, 10, 3000, 70000, 400000};
  std::string content(sizes[number % 5] + rng.Uniform(50), '\0');
  for (char& c : content) c = static_cast<char>(rng.Next());
  return content;
}

struct Model {
  std::map<std::string, uint64_t> files;  // path -> number of its content
  std::set<std::string> directories;
  bool operator==(const Model&) const = default;
};

// One call, and what it makes of the model.
struct Call {
  enum Kind { kCreate, kRename, kLink, kDelete, kMakeDirectory, kRemoveDirectory } kind = kCreate;
  std::string path, to;
  uint64_t content = 0;
};

class Plan {
 public:
  explicit Plan(uint64_t seed) : rng_(seed) {}

  // The next call, and applies it to the model.
  Call Next() {
    ++number_;
    const uint64_t choice = rng_.Uniform(10);
    if (choice == 0) return Directory();
    if (choice < 6 || model_.files.size() < 5) {
      if (model_.files.size() < kMostFiles) return Create();
      return Delete();
    }
    if (choice < 8) return Move(Call::kRename);
    return choice == 8 ? Move(Call::kLink) : Delete();
  }
  const Model& model() const { return model_; }

 private:
  // Names decide how a file is stored.
  std::string NewPath() {
    const char* const endings[] = {".sst", ".log", ".txt"};
    const std::string parent = kDirectories[rng_.Uniform(3)];
    const std::string name = std::to_string(rng_.Uniform(200)) + endings[rng_.Uniform(3)];
    return parent + "/" + name;
  }
  std::string SomeFile() {
    auto it = model_.files.begin();
    std::advance(it, static_cast<long>(rng_.Uniform(model_.files.size())));
    return it->first;
  }

  Call Create() {
    Call call{Call::kCreate, NewPath(), "", number_};
    model_.files[call.path] = number_;
    return call;
  }
  Call Delete() {
    Call call{Call::kDelete, SomeFile(), "", 0};
    model_.files.erase(call.path);
    return call;
  }
  Call Move(Call::Kind kind) {
    Call call{kind, SomeFile(), NewPath(), 0};
    if (kind == Call::kLink && model_.files.contains(call.to)) return Create();
    const uint64_t content = model_.files[call.path];
    if (kind == Call::kRename && call.to != call.path) model_.files.erase(call.path);
    model_.files[call.to] = content;
    return call;
  }
  Call Directory() {
    Call call{Call::kMakeDirectory, "/d" + std::to_string(rng_.Uniform(8)), "", 0};
    if (model_.directories.contains(call.path)) call.kind = Call::kRemoveDirectory;
    if (call.kind == Call::kMakeDirectory) {
      model_.directories.insert(call.path);
    } else {
      model_.directories.erase(call.path);
    }
    return call;
  }

  Rng rng_;
  uint64_t number_ = 0;
  Model model_;
};

struct Place {
  std::shared_ptr<rdb::FileSystem> fs;
  std::string root;
};

bool Fail(const std::string& what, const rdb::Status& status) {
  std::fprintf(stderr, "names_kill_test: %s: %s\n", what.c_str(), status.ToString().c_str());
  return false;
}

rdb::IOStatus WriteFile(const Place& place, const std::string& path, const std::string& content) {
  std::unique_ptr<rdb::FSWritableFile> file;
  rdb::IOStatus status = place.fs->NewWritableFile(place.root + path, rdb::FileOptions(), &file, nullptr);
  for (size_t at = 0; status.ok() && at < content.size(); at += 100000) {
    status = file->Append(rdb::Slice(content).ToString().substr(at, 100000), rdb::IOOptions(), nullptr);
  }
  return status.ok() ? file->Close(rdb::IOOptions(), nullptr) : status;
}

rdb::IOStatus Do(const Place& place, const Call& call) {
  rdb::FileSystem& fs = *place.fs;
  const std::string path = place.root + call.path, to = place.root + call.to;
  switch (call.kind) {
    case Call::kCreate: return WriteFile(place, call.path, Content(call.content));
    case Call::kRename: return fs.RenameFile(path, to, rdb::IOOptions(), nullptr);
    case Call::kLink: return fs.LinkFile(path, to, rdb::IOOptions(), nullptr);
    case Call::kDelete: return fs.DeleteFile(path, rdb::IOOptions(), nullptr);
    case Call::kMakeDirectory: return fs.CreateDir(path, rdb::IOOptions(), nullptr);
    case Call::kRemoveDirectory: return fs.DeleteDir(path, rdb::IOOptions(), nullptr);
  }
  return rdb::IOStatus::InvalidArgument("no such call");
}

int Write(const Place& place, const std::string& acks, uint64_t seed) {
  for (const char* directory : kDirectories) {
    const rdb::IOStatus made = place.fs->CreateDirIfMissing(place.root + directory, rdb::IOOptions(), nullptr);
    if (!made.ok()) return Fail("make " + place.root + directory, made) ? 0 : 3;
  }
  AckLog log(acks);
  Plan plan(seed);
  for (uint64_t number = 1;; ++number) {
    const rdb::IOStatus status = Do(place, plan.Next());
    if (!status.ok()) return Fail("call " + std::to_string(number), status) ? 0 : 3;
    if (!log.Append(number, 0)) return 3;
  }
}

bool Collect(const Place& place, const std::string& directory, std::map<std::string, std::string>* files,
             std::set<std::string>* directories) {
  std::vector<std::string> names;
  const rdb::IOStatus listed = place.fs->GetChildren(place.root + directory, rdb::IOOptions(), &names, nullptr);
  if (!listed.ok()) return Fail("list " + directory, listed);
  for (const std::string& name : names) {
    if (name == "." || name == "..") continue;
    const std::string path = directory + "/" + name;
    bool is_directory = false;
    rdb::IOStatus status = place.fs->IsDirectory(place.root + path, rdb::IOOptions(), &is_directory, nullptr);
    if (!status.ok()) return Fail("look at " + path, status);
    if (is_directory) {
      if (path != "/a" && path != "/b") directories->insert(path);
      if (!Collect(place, path, files, directories)) return false;
      continue;
    }
    status = rdb::ReadFileToString(place.fs.get(), place.root + path, &(*files)[path]);
    if (!status.ok()) return Fail("read " + path, status);
  }
  return true;
}

// Empty: the same; otherwise the first difference.
std::string Difference(const Model& model, const std::map<std::string, std::string>& files,
                       const std::set<std::string>& directories, const std::string& half_written) {
  if (directories != model.directories) return "the directories differ";
  for (const auto& [path, number] : model.files) {
    const auto it = files.find(path);
    if (it == files.end()) return path + " is missing";
    const std::string expected = Content(number);
    if (it->second == expected) continue;
    // The call that was under way had made the file and not closed it.
    if (path == half_written && expected.compare(0, it->second.size(), it->second) == 0) continue;
    return path + " has " + std::to_string(it->second.size()) + " bytes, not the right " +
           std::to_string(expected.size());
  }
  for (const auto& [path, content] : files) {
    if (!model.files.contains(path)) return path + " should not be there";
  }
  return "";
}

int Check(const Place& place, const std::string& acks, uint64_t seed) {
  std::map<std::string, std::string> files;
  std::set<std::string> directories;
  const uint64_t acknowledged = AckLog::Read(acks).size();
  if (acknowledged == 0) {
    std::printf("0 calls acknowledged\n");
    return 0;
  }
  if (!Collect(place, "", &files, &directories)) return 1;
  Plan plan(seed);
  for (uint64_t i = 0; i < acknowledged; ++i) plan.Next();
  const std::string difference = Difference(plan.model(), files, directories, "");
  const Call under_way = plan.Next();
  const std::string half = under_way.kind == Call::kCreate ? under_way.path : "";
  if (!difference.empty() && !Difference(plan.model(), files, directories, half).empty()) {
    std::fprintf(stderr, "names_kill_test: after %" PRIu64 " acknowledged calls %s\n", acknowledged,
                 difference.c_str());
    return 1;
  }
  std::printf("%" PRIu64 " calls acknowledged, %zu files\n", acknowledged, files.size());
  return 0;
}

int Main(int argc, char** argv) {
  const std::string verb = argc == 6 ? argv[1] : "";
  if (verb != "write" && verb != "check") {
    std::fprintf(stderr, "usage: names_kill_test write|check FS DIR ACKS SEED\n");
    return 2;
  }
  Place place;
  place.root = argv[3];
  if (std::string(argv[2]) == "posix") {
    place.fs = rdb::FileSystem::Default();
  } else {
    rdb::ConfigOptions config;
    config.ignore_unsupported_options = false;
    rdb::Status status = Register();
    if (status.ok()) status = rdb::FileSystem::CreateFromString(config, argv[2], &place.fs);
    if (!status.ok()) return Fail(argv[2], status) ? 0 : 3;
  }
  const uint64_t seed = std::strtoull(argv[5], nullptr, 10);
  const int result = verb == "write" ? Write(place, argv[4], seed) : Check(place, argv[4], seed);
  std::fflush(stdout);
  return result;
}

}  // namespace
}  // namespace furrow

int main(int argc, char** argv) { return furrow::Main(argc, argv); }

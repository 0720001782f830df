// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <ostream>

#include "plugin/device/device_uri.h"
#include "tools/command_table.h"
#include "tools/preload.h"
#include "tools/program_inspector.h"

namespace furrow::tools {
namespace {

// clang-format off: lines as they are printed
constexpr char kDescription[] =
    "Finds out which librocksdb.so PROGRAM loads, and preloads Furrow's library for that version: then furrow:// URIs\n"
    "work in its options, as in furrow run db_bench --fs_uri=furrow://dir:/var/tmp/zones. With --default, RocksDB's\n"
    "default file system is replaced, for programs without such an option: what RocksDB keeps below the prefixes goes\n"
    "to the device under the same paths, all else stays where it is. Without --prefix everything goes there, but "
    "/dev,\n"
    "/proc and /sys. What the program reads and writes without RocksDB is not touched, nor are symbolic links "
    "followed.\n"
    "Programs that it starts inherit all this. The exit code is PROGRAM's.\n";
// clang-format on

std::string Environment(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

Result<RunPlan> PlanOf(const Invocation& invocation) {
  RunPlan plan;
  plan.default_uri = invocation.Text("default");
  plan.existing_preload = Environment("LD_PRELOAD", "");
  if (plan.default_uri.empty()) {
    if (!invocation.Has("prefix")) return plan;
    return Status::InvalidArgument("--prefix says what goes to the device of --default=URI, which is not given");
  }
  const Result<DeviceUri> uri = DeviceUri::Parse(plan.default_uri);
  if (!uri.ok()) return uri.status().WithContext("--default");
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  if (error) return Status::FromErrno(error.value(), "the working directory");
  FURROW_ASSIGN_OR_RETURN(plan.prefixes, AbsolutePrefixes(invocation.Text("prefix"), here));
  return plan;
}

// Does not return if all goes well: the program takes this process' place, so its exit code is ours.
Status Replace(const std::string& program, const std::vector<std::string>& words) {
  std::vector<std::string> copies = words;
  std::vector<char*> argv;
  for (std::string& word : copies) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(program.c_str(), argv.data());
  return Status::FromErrno(errno, program);
}

Status RunRun(const Invocation& invocation, Console* console) {
  FURROW_ASSIGN_OR_RETURN(const RunPlan plan, PlanOf(invocation));
  const std::string path_list = Environment("PATH", "/usr/local/bin:/usr/bin:/bin");
  FURROW_ASSIGN_OR_RETURN(const std::string program, FindProgram(invocation.arguments[0], path_list));
  std::string version = invocation.Text("rocksdb");
  if (version.empty()) {
    FURROW_ASSIGN_OR_RETURN(version, RocksVersionOf(program, path_list));
  }
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return Status::FromErrno(error.value(), "/proc/self/exe");
  FURROW_ASSIGN_OR_RETURN(const PreloadLibraries libraries, FindLibraries(LibraryDirectories(self), version));
  const Result<std::map<std::string, std::string>> variables = PreloadEnvironment(libraries, plan);
  if (!variables.ok()) return variables.status();
  for (const auto& [name, value] : *variables) {
    if (setenv(name.c_str(), value.c_str(), /*overwrite=*/1) != 0) return Status::FromErrno(errno, "setenv " + name);
  }
  console->out->flush();
  return Replace(program, invocation.arguments);
}

}  // namespace

Command RunCommand() {
  Command c;
  c.name = "run";
  c.summary = "Run a program that uses RocksDB with Furrow loaded into it";
  c.description = kDescription;
  c.takes_uri = false;
  c.arguments = {{"PROGRAM"}, {"ARGUMENT...", true}};
  c.passes_words = true;
  Flag prefix = {"prefix", FlagType::kText, "",
                 "with --default: only this directory; may be given again, or several with colons"};
  prefix.repeats = true;
  c.flags = {
      {"default", FlagType::kText, "", "URI of the device for RocksDB's default file system"},
      prefix,
      {"rocksdb", FlagType::kText, "", "version (as 7.8) to load Furrow for, without looking at PROGRAM"},
  };
  c.exit_codes = {ExitCode::kOk, ExitCode::kError, ExitCode::kUsage, ExitCode::kNoTarget};
  c.run = RunRun;
  return c;
}

}  // namespace furrow::tools

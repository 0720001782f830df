// SPDX-License-Identifier: Apache-2.0
#include "tools/program_inspector.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <sstream>

#include "tools/elf_file.h"

namespace furrow::tools {
namespace {

constexpr int kDeepestScript = 4;  // scripts that run scripts, as the kernel allows

Status Because(const std::string& program, const std::string& why) {
  return Status::NotSupported("cannot run " + program + " on Furrow: " + why);
}

bool IsExecutable(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

// The loader ignores LD_PRELOAD where a program gains rights by being run.
Status CheckRights(const std::string& program) {
  struct stat info = {};
  if (stat(program.c_str(), &info) != 0) return Status::FromErrno(errno, program);
  const bool user = (info.st_mode & S_ISUID) != 0 && info.st_uid != geteuid();
  const bool group = (info.st_mode & S_ISGID) != 0 && info.st_gid != getegid();
  const bool capable = geteuid() != 0 && getxattr(program.c_str(), "security.capability", nullptr, 0) > 0;
  if (!user && !group && !capable) return Status::Ok();
  return Because(program,
                 "it runs with other rights than yours (setuid, setgid or capabilities), and for such programs "
                 "the loader preloads nothing; run it as the user who owns it");
}

// What the loader prints when it is asked for the libraries of `program`, as ldd asks: the variable, unlike --list,
// makes it go on behind one that is missing.
Result<std::string> ListLibraries(const std::string& loader, const std::string& program) {
  std::vector<std::string> words = {loader, program};
  std::vector<char*> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) environment.push_back(*variable);
  std::string trace = "LD_TRACE_LOADED_OBJECTS=1";
  environment.push_back(trace.data());
  environment.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Status::FromErrno(errno, "pipe");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t child = 0;
  const int error = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string output;
  std::array<char, 4096> piece;
  ssize_t got = 0;
  while (error == 0 && ((got = read(ends[0], piece.data(), piece.size())) > 0 || (got < 0 && errno == EINTR))) {
    if (got > 0) output.append(piece.data(), static_cast<size_t>(got));
  }
  close(ends[0]);
  if (error != 0) return Status::FromErrno(error, words[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !output.empty()) return output;
  return Status::IoError(loader + " cannot list the libraries of " + program);
}

// The files besides `program` that might have RocksDB inside.
Result<std::string> StaticIn(const std::vector<LoadedLibrary>& libraries) {
  for (const LoadedLibrary& library : libraries) {
    if (library.path.empty()) continue;
    FURROW_ASSIGN_OR_RETURN(const ElfFile file, ReadElfFile(library.path));
    if (file.has_rocksdb) return library.path;
  }
  return std::string();
}

Status StaticReason(const std::string& program, const std::string& where) {
  return Because(program, "RocksDB is linked statically into " + where +
                              ", where no library can be put in front of it; "
                              "link the program with librocksdb.so, or with Furrow itself (furrow/furrow.h)");
}

Result<std::string> VersionAmong(const std::string& program, const std::vector<LoadedLibrary>& libraries) {
  std::string version;
  for (const LoadedLibrary& library : libraries) {
    const std::string found = RocksVersionOfSoname(library.soname);
    if (found.empty() || found == version) continue;
    if (library.path.empty()) {
      return Status::NotFound(program + " needs " + library.soname +
                              ", which the loader does not find; install it, or "
                              "set LD_LIBRARY_PATH");
    }
    if (!version.empty()) return Because(program, "it loads two versions of RocksDB, " + version + " and " + found);
    version = found;
  }
  return version;
}

Result<std::string> VersionOfElf(const std::string& program, const ElfFile& file) {
  if (!file.native) return Because(program, "it is not a program of this machine's kind");
  if (file.interpreter.empty()) {
    if (file.has_rocksdb) return StaticReason(program, "it");
    return Because(program, "it is linked statically, and nothing can be preloaded into it");
  }
  FURROW_ASSIGN_OR_RETURN(const std::string output, ListLibraries(file.interpreter, program));
  const std::vector<LoadedLibrary> libraries = ParseLoaderList(output);
  FURROW_ASSIGN_OR_RETURN(const std::string version, VersionAmong(program, libraries));
  if (!version.empty()) return version;
  if (file.has_rocksdb) return StaticReason(program, "it");
  FURROW_ASSIGN_OR_RETURN(const std::string where, StaticIn(libraries));
  if (!where.empty()) return StaticReason(program, where);
  return Because(program,
                 "it loads no librocksdb.so when it starts; if it does so later, or starts a program that does, "
                 "say which with --rocksdb=VERSION");
}

}  // namespace

Result<std::string> FindProgram(const std::string& name, const std::string& path_list) {
  if (name.find('/') != std::string::npos) {
    if (IsExecutable(name)) return name;
    return Status::NotFound(name + " is not there, or not executable");
  }
  std::istringstream directories(path_list);
  for (std::string directory; std::getline(directories, directory, ':');) {
    const std::string path = (directory.empty() ? "." : directory) + "/" + name;
    if (!name.empty() && IsExecutable(path)) return path;
  }
  return Status::NotFound("no program '" + name + "' in PATH");
}

Result<std::string> InterpreterOf(const std::string& script_line, const std::string& path_list) {
  std::istringstream words(script_line);
  std::string interpreter;
  if (!(words >> interpreter)) return Status::NotSupported("its first line, #!, names no interpreter");
  if (interpreter != "env" && !interpreter.ends_with("/env")) return interpreter;
  for (std::string word; words >> word;) {
    // Flags and variables of env come first.
    if (word[0] != '-' && word.find('=') == std::string::npos) return FindProgram(word, path_list);
  }
  return Status::NotSupported("its first line, #!" + script_line + ", names no program");
}

std::string RocksVersionOfSoname(const std::string& soname) {
  constexpr std::string_view kPrefix = "librocksdb.so.";
  if (!soname.starts_with(kPrefix)) return {};
  const std::string version = soname.substr(kPrefix.size());
  // Debian's sonames end in major.minor, others' may have the patch level behind.
  const size_t first = version.find('.');
  if (first == std::string::npos) return {};
  const size_t end = std::min(version.find('.', first + 1), version.size());
  const std::string minor = version.substr(0, end);
  const bool numbers = minor.find_first_not_of("0123456789.") == std::string::npos;
  return numbers && first > 0 && end > first + 1 ? minor : std::string();
}

std::vector<LoadedLibrary> ParseLoaderList(const std::string& output) {
  std::vector<LoadedLibrary> libraries;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.find_first_not_of(" \t"));
    const size_t arrow = line.find(" => ");
    LoadedLibrary library;
    library.soname = line.substr(0, std::min(arrow, line.find(" (")));
    if (arrow != std::string::npos) {
      const std::string target = line.substr(arrow + 4);
      if (target.starts_with('/')) library.path = target.substr(0, target.rfind(" ("));
    } else if (library.soname.starts_with('/')) {
      library.path = library.soname;
    }
    if (!library.soname.empty()) libraries.push_back(std::move(library));
  }
  return libraries;
}

Result<std::string> RocksVersionOf(const std::string& program, const std::string& path_list) {
  std::string current = program;
  for (int depth = 0; depth <= kDeepestScript; ++depth) {
    FURROW_RETURN_IF_ERROR(CheckRights(current));
    FURROW_ASSIGN_OR_RETURN(const ElfFile file, ReadElfFile(current));
    if (file.is_elf) return VersionOfElf(current, file);
    if (file.script.empty()) return Because(program, current + " is neither an ELF program nor a script");
    Result<std::string> next = InterpreterOf(file.script, path_list);
    if (!next.ok()) return next.status().WithContext(current);
    current = *next;
  }
  return Because(program, "it is a script of a script of a script");
}

}  // namespace furrow::tools

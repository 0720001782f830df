// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <csignal>

#include "tests/conformance/features_child.h"

namespace furrow {
namespace {

// The program lies beside the one that runs.
std::string ChildProgram() {
  std::string self(PATH_MAX, '\0');
  const ssize_t n = readlink("/proc/self/exe", self.data(), self.size());
  self.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return self.substr(0, self.rfind('/') + 1) + "features_child";
}

}  // namespace

ChildProcess::ChildProcess(const std::string& role, const std::string& uri) {
  const std::string program = ChildProgram();
  int to[2] = {-1, -1};
  int from[2] = {-1, -1};
  if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) return;  // Ask then says that there is no child
  pid_ = fork();
  if (pid_ == 0) {
    dup2(to[0], STDIN_FILENO);
    dup2(from[1], STDOUT_FILENO);
    execl(program.c_str(), program.c_str(), role.c_str(), uri.c_str(), nullptr);
    _exit(127);
  }
  close(to[0]);
  close(from[1]);
  std::signal(SIGPIPE, SIG_IGN);
  to_ = fdopen(to[1], "w");
  from_ = fdopen(from[0], "r");
}

ChildProcess::~ChildProcess() { End(); }

std::string ChildProcess::Ask(const std::string& line) {
  if (pid_ < 0 || to_ == nullptr || from_ == nullptr) return "no child process";
  if (std::fprintf(to_, "%s\n", line.c_str()) < 0 || std::fflush(to_) != 0) return "the child does not listen";
  char answer[4096];
  if (std::fgets(answer, sizeof(answer), from_) == nullptr) return "the child has not answered";
  const std::string text = answer;
  return text.substr(0, text.find('\n'));
}

int ChildProcess::End() {
  if (to_ != nullptr) std::fclose(to_);
  to_ = nullptr;
  int state = 0;
  if (pid_ > 0 && waitpid(pid_, &state, 0) != pid_) state = -1;
  pid_ = -1;
  if (from_ != nullptr) std::fclose(from_);
  from_ = nullptr;
  return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

}  // namespace furrow

// SPDX-License-Identifier: Apache-2.0
#include "tools/as_user.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace furrow::tools {
namespace {

constexpr int kNotTheUser = 125;  // exit code of a child that could not become the user

// A user without an entry (a service's, whose entry is gone) has no group but one of its own number.
bool Become(uint32_t user) {
  const struct passwd* entry = getpwuid(user);  // NOLINT(concurrency-mt-unsafe): one thread
  const gid_t group = entry != nullptr ? entry->pw_gid : user;
  const bool groups = entry != nullptr ? initgroups(entry->pw_name, group) == 0 : setgroups(0, nullptr) == 0;
  return groups && setresgid(group, group, group) == 0 && setresuid(user, user, user) == 0;
}

[[noreturn]] void BeChild(uint32_t user, int pipe, const std::function<std::string()>& work) {
  if (!Become(user)) _exit(kNotTheUser);
  const std::string answer = work();
  for (size_t done = 0; done < answer.size();) {
    const ssize_t n = write(pipe, answer.data() + done, answer.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) _exit(EXIT_FAILURE);
    done += static_cast<size_t>(n);
  }
  _exit(EXIT_SUCCESS);  // the parent's exit handlers and streams are not ours
}

std::string ReadToEnd(int pipe) {
  std::string all;
  std::array<char, 4096> piece;
  for (;;) {
    const ssize_t n = read(pipe, piece.data(), piece.size());
    if (n > 0) all.append(piece.data(), static_cast<size_t>(n));
    if (n == 0 || (n < 0 && errno != EINTR)) return all;
  }
}

}  // namespace

Result<std::string> RunAsUser(uint32_t user, const std::function<std::string()>& work) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return Status::FromErrno(errno, "pipe");
  const pid_t child = fork();
  if (child == 0) BeChild(user, ends[1], work);
  const int fork_error = errno;
  close(ends[1]);
  std::string answer = child > 0 ? ReadToEnd(ends[0]) : std::string();
  close(ends[0]);
  if (child < 0) return Status::FromErrno(fork_error, "fork");
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS) return answer;
  const std::string who = "the process for user " + std::to_string(user);
  if (WIFSIGNALED(status)) return Status::IoError(who + " died: " + strsignal(WTERMSIG(status)));
  if (WEXITSTATUS(status) == kNotTheUser) return Status::IoError(who + " could not become that user");
  return Status::IoError(who + " failed");
}

}  // namespace furrow::tools

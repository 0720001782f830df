// SPDX-License-Identifier: Apache-2.0
//
// ChildProcess: features_child, the program that tests start when they need a second process: it does what it is asked,
// one line at a time. One thread.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace furrow {

class ChildProcess {
 public:
  // Starts `features_child ROLE URI`. The roles are described in features_child.cc.
  ChildProcess(const std::string& role, const std::string& uri);
  // Ends it, if End was not called.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Sends a line and waits for the answer: "done", or what went wrong.
  std::string Ask(const std::string& line);
  // Lets it finish. Returns its exit code, -1 when a signal has ended it.
  int End();

 private:
  int pid_ = -1;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

}  // namespace furrow

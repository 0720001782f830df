// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "furrow/version.h"
#include "tools/command_table.h"

namespace furrow::tools {
namespace {

Status RunVersion(const Invocation&, Console* console) {
  *console->out << "furrow " << VersionString() << "\n";
  return Status::Ok();
}

}  // namespace

Command VersionCommand() {
  Command c;
  c.name = "version";
  c.summary = "Show the version (also: furrow --version)";
  c.takes_uri = false;
  c.exit_codes = {ExitCode::kOk, ExitCode::kUsage};
  c.run = RunVersion;
  return c;
}

}  // namespace furrow::tools

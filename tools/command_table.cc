// SPDX-License-Identifier: Apache-2.0
#include "tools/command_table.h"

#include <algorithm>
#include <ostream>

#include "tools/command_line.h"
#include "tools/help.h"

namespace furrow::tools {
namespace {

// What a user types by habit, as the command that it means.
std::vector<std::string> Normalized(std::vector<std::string> words) {
  if (words.empty()) return words;
  if (words[0] == "--help" || words[0] == "-h") words[0] = "help";
  if (words[0] == "--version" || words[0] == "-V") words[0] = "version";
  return words;
}

ExitCode Usage(const std::string& message, const Command* command, Console* console) {
  *console->err << "furrow" << (command != nullptr ? " " + command->name : "") << ": " << message << "\n"
                << "Try 'furrow help" << (command != nullptr ? " " + command->name : "") << "'.\n";
  return ExitCode::kUsage;
}

ExitCode RunWords(const std::vector<std::string>& words, Console* console) {
  const std::vector<Command>& table = AllCommands();
  if (words.empty()) {
    *console->err << OverviewText(table);
    return ExitCode::kUsage;
  }
  const Command* command = FindCommand(table, words[0]);
  const Result<Invocation> invocation = ParseCommandLine(table, words, console->default_uri);
  if (!invocation.ok()) return Usage(invocation.status().message(), command, console);
  Status status;
  if (invocation->help) {
    *console->out << CommandHelpText(*command);
  } else {
    status = command->run(*invocation, console);
  }
  console->out->flush();
  if (status.ok() && console->out->fail()) status = Status::IoError("cannot write to standard output");
  if (!status.ok()) *console->err << "furrow " << command->name << ": " << status.ToString() << "\n";
  const ExitCode code = ExitCodeOf(status);
  // Of a command that a signal does not stop in order, Aborted is an answer ("no"), or a mount that went away.
  const auto& codes = command->exit_codes;
  const bool may_be_interrupted = std::find(codes.begin(), codes.end(), ExitCode::kInterrupted) != codes.end();
  return code == ExitCode::kInterrupted && !may_be_interrupted ? ExitCode::kError : code;
}

}  // namespace

const std::vector<Command>& AllCommands() {
  static const std::vector<Command> table = {
      MkfsCommand(),  InfoCommand(),   DfCommand(),  LsCommand(),   StatCommand(),
      CatCommand(),   ZonesCommand(),  MapCommand(), LogCommand(),  CheckCommand(),
      ScrubCommand(), SettleCommand(), RunCommand(), HelpCommand(), VersionCommand(),
  };
  return table;
}

ExitCode RunFurrow(const std::vector<std::string>& words, Console* console) {
  return RunWords(Normalized(words), console);
}

}  // namespace furrow::tools

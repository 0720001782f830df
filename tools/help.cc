// SPDX-License-Identifier: Apache-2.0
#include "tools/help.h"

#include "tools/format.h"
#include "tools/text_table.h"

namespace furrow::tools {
namespace {

std::string ArgumentText(const Command& command) {
  std::string text;
  if (command.takes_uri) text += " [URI]";
  for (const Argument& argument : command.arguments) {
    text += argument.optional ? " [" + argument.name + "]" : " " + argument.name;
  }
  return text;
}

std::string FlagText(const Flag& flag) {
  std::string text = flag.letter != 0 ? std::string("-") + flag.letter + ", " : std::string("    ");
  text += "--" + flag.name;
  switch (flag.type) {
    case FlagType::kBool: return text;
    case FlagType::kText: return text + "=TEXT";
    case FlagType::kCount: return text + "=N";
    case FlagType::kSize: return text + "=SIZE";
    case FlagType::kChoice: break;
  }
  std::string values;
  for (const std::string& value : flag.values) values += (values.empty() ? "" : "|") + value;
  return flag.bare_text.empty() ? text + "=" + values : text + "[=" + values + "]";
}

std::string FlagHelp(const Flag& flag) {
  return flag.help + (flag.default_text.empty() ? "" : " (default " + flag.default_text + ")");
}

}  // namespace

std::string OverviewText(const std::vector<Command>& table) {
  TextTable commands({Align::kLeft, Align::kLeft});
  for (const Command& command : table) commands.AddRow({"  " + command.name, command.summary});
  return "furrow COMMAND [flags] [URI] ...: RocksDB's files on zoned storage\n\n" + commands.ToString() +
         "\nA URI names a device: furrow://dir:/var/tmp/zones (emulated), furrow://dev:nvme0n2, "
         "furrow://zonefs:/mnt/z;\n"
         "FURROW_URI stands in for one that is not given. 'furrow help COMMAND' shows flags and exit codes.\n";
}

std::string CommandHelpText(const Command& command) {
  std::string text = "furrow " + command.name + " [flags]" + ArgumentText(command) + "\n\n" + command.summary + ".\n";
  if (!command.description.empty()) text += command.description;
  for (const std::string& alias : command.aliases) text += "Also: furrow " + alias + ".\n";
  TextTable flags({Align::kLeft, Align::kLeft});
  for (const Flag& flag : command.AllFlags()) flags.AddRow({"  " + FlagText(flag), FlagHelp(flag)});
  text += "\nFlags:\n" + flags.ToString() + "\nExit codes:\n";
  for (const ExitCode code : command.exit_codes) {
    text += "  " + std::to_string(static_cast<int>(code)) + "  " + ExitCodeMeaning(code) + "\n";
  }
  return text;
}

}  // namespace furrow::tools

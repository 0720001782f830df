// SPDX-License-Identifier: Apache-2.0
//
// What a subcommand is: its words, flags, formats, exit codes and function. The table of all commands
// (command_table.h) is the only place that knows them all; parsing, help and suggestions follow from it.
// Value types; single-threaded.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/console.h"
#include "util/status.h"

namespace furrow::tools {

enum class ExitCode : int {
  kOk = 0,
  kError = 1,
  kUsage = 2,          // the words are wrong
  kNoTarget = 3,       // no such device, file system or file, or no permission
  kInUse = 4,          // busy, or it would overwrite something
  kInconsistent = 5,   // durable bytes are damaged
  kInterrupted = 130,  // stopped by a signal, in order
};
// One line of help for a code.
const char* ExitCodeMeaning(ExitCode code);
ExitCode ExitCodeOf(const Status& status);

enum class FlagType {
  kBool,    // --name, --name=true|false
  kText,    // any text
  kCount,   // a whole number
  kSize,    // bytes: a whole number with an optional suffix k, M, G, T, KiB, MiB, GiB, TiB (powers of 1024)
  kChoice,  // one of `values`
};

struct Flag {
  std::string name;  // without the dashes
  FlagType type = FlagType::kBool;
  std::string default_text;  // as a user would write it; empty: none
  std::string help;
  std::vector<std::string> values = {};  // kChoice
  char letter = 0;                       // -x; kBool only; 0: none
  uint64_t least = 0;                    // kCount, kSize
  uint64_t most = UINT64_MAX;            // kCount, kSize; kText: longest, in bytes
  bool repeats = false;                  // kText: given again, it adds to the text, behind a colon
  std::string bare_text = {};            // kChoice: what it means without a value; empty: it needs one
};

struct Argument {
  std::string name;
  bool optional = false;
};

struct Command;

// A command line that was understood.
struct Invocation {
  const Command* command = nullptr;
  bool help = false;                              // --help: nothing else was checked
  std::string uri;                                // of a command that takes one
  std::vector<std::string> arguments;             // behind the URI
  std::map<std::string, std::string> texts = {};  // flag -> its text, where given or with a default
  std::map<std::string, uint64_t> numbers = {};   // kCount, kSize, kBool (0, 1)

  bool Has(const std::string& flag) const { return texts.count(flag) != 0; }
  bool Bool(const std::string& flag) const { return Number(flag) != 0; }
  // `otherwise` when the flag was not given and has no default.
  uint64_t Number(const std::string& flag, uint64_t otherwise = 0) const;
  std::string Text(const std::string& flag) const;
};

struct Command {
  std::string name;
  std::vector<std::string> aliases;
  std::string summary;      // a line of "furrow help"
  std::string description;  // of "furrow help NAME"; whole lines
  bool takes_uri = true;
  std::vector<Argument> arguments;  // behind the URI
  // Flags end with the first word that is none: all from there on are arguments, for another program; one at least.
  bool passes_words = false;
  std::vector<Flag> flags;
  std::vector<std::string> formats;  // of --format, the first is the default; empty: no such flag
  std::vector<ExitCode> exit_codes;
  // Data to console->out, messages to console->err. The Status becomes the exit code and, when it is an error, the
  // last line on standard error.
  Status (*run)(const Invocation& invocation, Console* console);

  // Own flags, --format where there are formats, and --help.
  std::vector<Flag> AllFlags() const;
};

}  // namespace furrow::tools

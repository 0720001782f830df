// SPDX-License-Identifier: Apache-2.0
#include "tools/command_line.h"

#include <algorithm>
#include <optional>

#include "plugin/device/device_uri.h"
#include "tools/format.h"

namespace furrow::tools {
namespace {

std::string DidYouMean(const std::string& nearest) {
  return nearest.empty() ? std::string() : "; did you mean '" + nearest + "'?";
}

const Flag* FindFlag(const std::vector<Flag>& flags, const std::string& name) {
  const auto found = std::find_if(flags.begin(), flags.end(), [&](const Flag& f) { return f.name == name; });
  return found == flags.end() ? nullptr : &*found;
}

std::string LimitText(const Flag& flag, uint64_t limit) {
  return flag.type == FlagType::kSize ? FormatBytes(limit) : FormatCount(limit);
}

class Parser {
 public:
  Parser(const std::vector<Command>& table, const Command& command) : table_(table), flags_(command.AllFlags()) {
    invocation_.command = &command;
  }

  Status Parse(const std::vector<std::string>& words, const std::string& default_uri) {
    SetDefaults();
    std::vector<std::string> plain;
    bool flags_end = false;
    for (size_t i = 1; i < words.size(); ++i) {
      const std::string& word = words[i];
      if (flags_end || word.size() < 2 || word[0] != '-') {
        plain.push_back(word);
        flags_end = flags_end || invocation_.command->passes_words;
      } else if (word == "--") {
        flags_end = true;
      } else if (word[1] == '-') {
        FURROW_RETURN_IF_ERROR(ParseLong(words, &i));
      } else {
        FURROW_RETURN_IF_ERROR(ParseLetters(word));
      }
      if (invocation_.help) return Status::Ok();
    }
    return TakePlain(plain, default_uri);
  }

  Invocation Take() { return std::move(invocation_); }

 private:
  void SetDefaults() {
    for (const Flag& flag : flags_) {
      if (flag.default_text.empty()) continue;
      invocation_.texts[flag.name] = flag.default_text;
      const Result<uint64_t> number = ParseSize(flag.default_text);
      if ((flag.type == FlagType::kCount || flag.type == FlagType::kSize) && number.ok()) {
        invocation_.numbers[flag.name] = *number;
      }
    }
  }

  // --name, --name=value, --name value (where it needs one).
  Status ParseLong(const std::vector<std::string>& words, size_t* index) {
    const std::string& word = words[*index];
    const size_t equals = word.find('=');
    const std::string name = word.substr(2, equals == std::string::npos ? std::string::npos : equals - 2);
    const Flag* flag = FindFlag(flags_, name);
    if (flag == nullptr) return UnknownFlag(name);
    if (equals != std::string::npos) return SetFlag(*flag, word.substr(equals + 1));
    if (flag->type == FlagType::kBool) return SetFlag(*flag, "true");
    if (!flag->bare_text.empty()) return SetFlag(*flag, flag->bare_text);
    if (*index + 1 >= words.size()) return Status::InvalidArgument("--" + name + " needs a value: --" + name + "=...");
    return SetFlag(*flag, words[++*index]);
  }

  Status ParseLetters(const std::string& word) {
    for (const char letter : word.substr(1)) {
      const auto flag = std::find_if(flags_.begin(), flags_.end(), [&](const Flag& f) { return f.letter == letter; });
      if (flag == flags_.end()) return UnknownLetter(letter, word);
      FURROW_RETURN_IF_ERROR(SetFlag(*flag, "true"));
    }
    return Status::Ok();
  }

  Status UnknownLetter(char letter, const std::string& word) const {
    std::string message = "unknown flag -" + EscapeName(std::string(1, letter)) + " in '" + EscapeName(word) + "'";
    const bool is_long = word.size() > 2 && FindFlag(flags_, word.substr(1, word.find('=') - 1)) != nullptr;
    if (is_long) message += DidYouMean("-" + EscapeName(word));
    return Status::InvalidArgument(message);
  }

  Status UnknownFlag(const std::string& name) const {
    std::vector<std::string> own;
    for (const Flag& flag : flags_) own.push_back("--" + flag.name);
    const std::string nearest = Nearest("--" + name, own);
    std::vector<std::string> owners;
    for (const Command& other : table_) {
      if (FindFlag(other.AllFlags(), name) != nullptr) owners.push_back("'furrow " + other.name + "'");
    }
    std::string message = "unknown flag --" + EscapeName(name);
    if (!owners.empty()) message += ": that is a flag of " + JoinWords(owners);
    return Status::InvalidArgument(message + DidYouMean(nearest));
  }

  Status SetFlag(const Flag& flag, const std::string& text) {
    const Status s = CheckAndSet(flag, text);
    return s.ok() ? s : s.WithContext("--" + flag.name + "=" + EscapeName(text));
  }

  Status CheckAndSet(const Flag& flag, const std::string& text) {
    std::string& known = invocation_.texts[flag.name];
    known = flag.repeats && !known.empty() ? known + ":" + text : text;
    switch (flag.type) {
      case FlagType::kBool: return SetBool(flag, text);
      case FlagType::kText:
        if (text.size() <= flag.most) return Status::Ok();
        return Status::InvalidArgument("at most " + FormatCount(flag.most) + " bytes are allowed");
      case FlagType::kChoice:
        if (std::find(flag.values.begin(), flag.values.end(), text) != flag.values.end()) return Status::Ok();
        return Status::InvalidArgument(JoinWords(flag.values) + " is allowed" + DidYouMean(Nearest(text, flag.values)));
      case FlagType::kCount:
      case FlagType::kSize: break;
    }
    FURROW_ASSIGN_OR_RETURN(const uint64_t value, flag.type == FlagType::kSize ? ParseSize(text) : ParseCount(text));
    if (value < flag.least || value > flag.most) {
      return Status::InvalidArgument("from " + LimitText(flag, flag.least) + " to " + LimitText(flag, flag.most) +
                                     " is allowed");
    }
    invocation_.numbers[flag.name] = value;
    return Status::Ok();
  }

  Status SetBool(const Flag& flag, const std::string& text) {
    const bool yes = text == "true" || text == "1" || text == "yes";
    if (!yes && text != "false" && text != "0" && text != "no") {
      return Status::InvalidArgument("true or false is allowed");
    }
    invocation_.numbers[flag.name] = yes ? 1 : 0;
    if (flag.name == "help") invocation_.help = yes;
    return Status::Ok();
  }

  // The words that are no flags: the URI first, if the command takes one, then its arguments.
  Status TakePlain(const std::vector<std::string>& plain, const std::string& default_uri) {
    const Command& command = *invocation_.command;
    size_t next = 0;
    if (command.passes_words) {
      if (plain.empty()) return Status::InvalidArgument("no PROGRAM given; see furrow help " + command.name);
      invocation_.arguments = plain;
      return Status::Ok();
    }
    if (command.takes_uri) {
      // Paths never begin with the scheme, so a default URI leaves no doubt about what the first word is.
      const bool given = !plain.empty() && (default_uri.empty() || plain[0].rfind("furrow:", 0) == 0);
      if (!given && default_uri.empty()) {
        return Status::InvalidArgument("no device: name one, as in furrow " + command.name +
                                       " furrow://dir:/var/tmp/zones, or set FURROW_URI");
      }
      invocation_.uri = given ? plain[next++] : default_uri;
      const Result<DeviceUri> uri = DeviceUri::Parse(invocation_.uri);
      if (!uri.ok()) return Status::InvalidArgument(uri.status().message());
    }
    for (const Argument& argument : command.arguments) {
      if (next < plain.size()) {
        invocation_.arguments.push_back(plain[next++]);
      } else if (!argument.optional) {
        return Status::InvalidArgument("no " + argument.name + " given; see furrow help " + command.name);
      }
    }
    if (next == plain.size()) return Status::Ok();
    return Status::InvalidArgument("one argument too many: '" + EscapeName(plain[next]) + "'" +
                                   (command.takes_uri ? " (URIs begin with furrow://)" : ""));
  }

  const std::vector<Command>& table_;
  const std::vector<Flag> flags_;
  Invocation invocation_;
};

}  // namespace

const Command* FindCommand(const std::vector<Command>& table, const std::string& name) {
  for (const Command& command : table) {
    if (command.name == name) return &command;
    if (std::find(command.aliases.begin(), command.aliases.end(), name) != command.aliases.end()) return &command;
  }
  return nullptr;
}

Result<Invocation> ParseCommandLine(const std::vector<Command>& table, const std::vector<std::string>& words,
                                    const std::string& default_uri) {
  if (words.empty()) return Status::InvalidArgument("no command");
  const Command* command = FindCommand(table, words[0]);
  if (command == nullptr) {
    std::vector<std::string> names;
    names.reserve(table.size());
    for (const Command& c : table) names.push_back(c.name);
    return Status::InvalidArgument("unknown command '" + EscapeName(words[0]) + "'" +
                                   DidYouMean(Nearest(words[0], names)));
  }
  Parser parser(table, *command);
  FURROW_RETURN_IF_ERROR(parser.Parse(words, default_uri));
  return parser.Take();
}

}  // namespace furrow::tools

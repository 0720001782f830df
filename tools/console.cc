// SPDX-License-Identifier: Apache-2.0
#include "tools/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iostream>

namespace furrow::tools {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// The locale's variables in their order of precedence; the first that is set decides.
bool LocaleIsUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value = Environment(name);
    if (value.empty()) continue;
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

unsigned Columns() {
  const std::string text = Environment("COLUMNS");
  const unsigned long asked = std::strtoul(text.c_str(), nullptr, 10);
  if (asked > 0 && asked <= 1000) return static_cast<unsigned>(asked);
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

}  // namespace

Console ProcessConsole() {
  Console console;
  console.in = &std::cin;
  console.out = &std::cout;
  console.err = &std::cerr;
  console.in_is_terminal = isatty(STDIN_FILENO) != 0;
  console.out_is_terminal = isatty(STDOUT_FILENO) != 0;
  console.err_is_terminal = isatty(STDERR_FILENO) != 0;
  console.utf8 = LocaleIsUtf8();
  console.color = console.out_is_terminal && Environment("NO_COLOR").empty() && Environment("TERM") != "dumb";
  console.columns = Columns();
  console.default_uri = Environment("FURROW_URI");
  return console;
}

}  // namespace furrow::tools

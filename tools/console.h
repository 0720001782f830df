// SPDX-License-Identifier: Apache-2.0
//
// Console: where a command reads and writes, and what that place can show. Made once by main, or by
// a test with string streams. Single-threaded.
#pragma once

#include <iosfwd>
#include <string>

namespace furrow::tools {

struct Console {
  std::istream* in = nullptr;
  std::ostream* out = nullptr;  // data
  std::ostream* err = nullptr;  // messages, questions, plans
  bool in_is_terminal = false;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool utf8 = false;   // the locale's encoding
  bool color = false;  // a colour terminal, and NO_COLOR is not set
  unsigned columns = 80;
  std::string default_uri;  // FURROW_URI; empty: none
};

// How text reports are drawn.
struct TextStyle {
  unsigned width = 80;  // columns
  bool utf8 = true;
  bool color = false;
};

// The console of this process: standard streams, FURROW_URI, LC_ALL/LC_CTYPE/LANG, NO_COLOR, TERM, COLUMNS.
Console ProcessConsole();

}  // namespace furrow::tools

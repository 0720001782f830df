// SPDX-License-Identifier: Apache-2.0
#include "tools/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <ctime>
#include <numeric>

namespace furrow::tools {
namespace {

constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

struct Suffix {
  std::string_view text;  // lower case
  unsigned shift;
};
constexpr Suffix kSuffixes[] = {{"", 0},     {"b", 0},  {"k", 10},   {"kib", 10}, {"m", 20},
                                {"mib", 20}, {"g", 30}, {"gib", 30}, {"t", 40},   {"tib", 40}};

// Length of the well-formed UTF-8 sequence at the beginning of `text`, with its code point; 0: none.
size_t DecodeUtf8(std::string_view text, uint32_t* code) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  size_t length = 1;
  uint32_t least = 0;
  if (first < 0x80) {
    *code = first;
    return 1;
  }
  if ((first & 0xe0) == 0xc0) {
    length = 2, least = 0x80, *code = first & 0x1f;
  } else if ((first & 0xf0) == 0xe0) {
    length = 3, least = 0x800, *code = first & 0x0f;
  } else if ((first & 0xf8) == 0xf0) {
    length = 4, least = 0x10000, *code = first & 0x07;
  } else {
    return 0;
  }
  if (text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    *code = *code << 6 | (byte(i) & 0x3f);
  }
  const bool surrogate = *code >= 0xd800 && *code <= 0xdfff;
  return *code < least || *code > 0x10ffff || surrogate ? 0 : length;
}

// What would move the cursor, hide text or turn its direction.
bool IsUnsafe(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200b && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) || code == 0xfeff;
}

std::string EscapeCode(uint32_t code) {
  switch (code) {
    case '\n': return "\\n";
    case '\t': return "\\t";
    case '\r': return "\\r";
    case '\\': return "\\\\";
    default: return code < 0x80 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{{{:x}}}", code);
  }
}

// Levenshtein distance, with neighbours swapped counted once.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  std::iota(d[0].begin(), d[0].end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string FormatBytes(uint64_t bytes) {
  size_t unit = 0;
  uint64_t whole = bytes;
  while (unit + 1 < std::size(kUnits) && whole >= 1024) {
    whole /= 1024;
    ++unit;
  }
  const uint64_t one = uint64_t{1} << (10 * unit);
  if (bytes % one == 0) return fmt::format("{} {}", whole, kUnits[unit]);
  const double value = static_cast<double>(bytes) / static_cast<double>(one);
  if (value >= 1023.95 && unit + 1 < std::size(kUnits)) return fmt::format("1.0 {}", kUnits[unit + 1]);
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string FormatCount(uint64_t count) {
  std::string text = std::to_string(count);
  for (size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, 1, ',');
  return text;
}

std::string Plural(uint64_t count, const std::string& noun) {
  if (count == 1) return "1 " + noun;
  if (noun.back() == 'y') return FormatCount(count) + " " + noun.substr(0, noun.size() - 1) + "ies";
  return FormatCount(count) + " " + noun + "s";
}

std::string FormatShare(uint64_t part, uint64_t whole) {
  if (whole == 0) return "-";
  return fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string FormatTime(uint64_t unix_seconds) {
  const auto seconds = static_cast<std::time_t>(unix_seconds);
  std::tm parts = {};
  char text[64];
  if (gmtime_r(&seconds, &parts) == nullptr || std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%SZ", &parts) == 0) {
    return std::to_string(unix_seconds) + " s";
  }
  return text;
}

Result<uint64_t> ParseCount(std::string_view text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range) return Status::InvalidArgument("the number is too large");
  if (error != std::errc() || stopped != end) return Status::InvalidArgument("a whole number is needed, such as 64");
  return value;
}

Result<uint64_t> ParseSize(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto split = std::find_if_not(text.begin(), text.end(), is_digit);
  const size_t digits = static_cast<size_t>(split - text.begin());
  std::string unit(text.substr(digits));
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto* suffix =
      std::find_if(std::begin(kSuffixes), std::end(kSuffixes), [&](const Suffix& s) { return s.text == unit; });
  if (digits == 0 || suffix == std::end(kSuffixes)) {
    return Status::InvalidArgument(
        "a size is a whole number with KiB, MiB, GiB or TiB (or k, M, G, T, the same), such as 64MiB");
  }
  FURROW_ASSIGN_OR_RETURN(const uint64_t value, ParseCount(text.substr(0, digits)));
  if (value > (UINT64_MAX >> suffix->shift)) return Status::InvalidArgument("the size is too large");
  return value << suffix->shift;
}

std::string EscapeName(std::string_view name, bool ascii) {
  std::string out;
  while (!name.empty()) {
    uint32_t code = 0;
    const size_t length = DecodeUtf8(name, &code);
    if (length == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(name.front()));
      name.remove_prefix(1);
      continue;
    }
    if (IsUnsafe(code) || code == '\\' || (ascii && code >= 0x80)) {
      out += EscapeCode(code);
    } else {
      out += name.substr(0, length);
    }
    name.remove_prefix(length);
  }
  return out;
}

size_t TextWidth(std::string_view utf8) {
  return static_cast<size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string PadRight(std::string_view text, size_t width) {
  const size_t taken = TextWidth(text);
  return std::string(text) + std::string(width > taken ? width - taken : 0, ' ');
}

std::string PadLeft(std::string_view text, size_t width) {
  const size_t taken = TextWidth(text);
  return std::string(width > taken ? width - taken : 0, ' ') + std::string(text);
}

std::string Nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(word, candidate);
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = candidate;
  }
  if (!best.empty() || word.size() < 3) return best;
  // A beginning of a word ("ver" for "version") is near, however much is missing.
  for (const std::string& candidate : candidates) {
    if (candidate.rfind(word, 0) == 0) return candidate;
  }
  return best;
}

std::string JoinWords(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace furrow::tools

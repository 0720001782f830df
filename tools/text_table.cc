// SPDX-License-Identifier: Apache-2.0
#include "tools/text_table.h"

#include <algorithm>
#include <numeric>

#include "tools/format.h"

namespace furrow::tools {

std::vector<size_t> TextTable::Widths() const {
  std::vector<size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    if (row.size() != columns_.size()) continue;
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], TextWidth(row[i]));
  }
  return widths;
}

size_t TextTable::Width() const {
  const std::vector<size_t> widths = Widths();
  return std::accumulate(widths.begin(), widths.end(), 2 * (widths.size() - 1));
}

std::string TextTable::ToString() const {
  const std::vector<size_t> widths = Widths();
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    if (row.size() != columns_.size()) {
      line = row.front();
    } else {
      for (size_t i = 0; i < row.size(); ++i) {
        if (i > 0) line += "  ";
        line += columns_[i] == Align::kRight ? PadLeft(row[i], widths[i]) : PadRight(row[i], widths[i]);
      }
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace furrow::tools

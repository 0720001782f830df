// SPDX-License-Identifier: Apache-2.0
//
// TextTable: rows of cells, aligned in columns with two blanks between them. Value type; single-threaded.
#pragma once

#include <string>
#include <vector>

namespace furrow::tools {

enum class Align { kLeft, kRight };

class TextTable {
 public:
  explicit TextTable(std::vector<Align> columns) : columns_(std::move(columns)) {}
  // Precondition: as many cells as columns, without line ends. UTF-8; ANSI colours would count as width.
  void AddRow(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // A line between rows that is no row (not aligned).
  void AddLine(std::string line) { rows_.push_back({std::move(line)}); }
  // Columns that the widest row takes; lines that are no rows do not count.
  size_t Width() const;
  // Lines, each with its end; no blanks at the ends of lines.
  std::string ToString() const;

 private:
  std::vector<size_t> Widths() const;

  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace furrow::tools

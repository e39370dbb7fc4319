// Columns of text, aligned by the characters that a terminal shows. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace railgauge {

// A table in the making. Not thread safe.
class TextTable {
 public:
  enum class Align { kLeft, kRight };
  // A column's title; numbers are aligned at the right.
  struct Column {
    std::string title;
    Align align = Align::kRight;
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // Adds a row. CHECKs that it has as many cells as there are columns.
  void add(std::vector<std::string> cells);
  // Title line and rows, each ended by a newline, no blanks at a line's end.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace railgauge

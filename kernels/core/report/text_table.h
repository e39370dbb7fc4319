// Columns of text, aligned by the characters that a terminal shows. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace railgauge {

// A table under construction. Not thread safe.
class TextTable {
 public:
  enum class Align { kLeft, kRight };
  // A column's title and alignment; numbers align right.
  struct Column {
    std::string title;
    Align align = Align::kRight;
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // Adds a row. CHECKs that it has one cell for each column.
  void add(std::vector<std::string> cells);
  // Returns title line and rows; each line ends in a newline and has no trailing blanks.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace railgauge

// Aligned text columns for people. Widths count characters of UTF-8, cells are made printable.
#pragma once

#include <concepts>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

namespace railgauge::cli {

enum class Tone { kPlain, kGood, kBad, kDoubtful, kHeading };

struct Cell {
  std::string text;
  Tone tone = Tone::kPlain;
  Cell(std::string value, Tone colour = Tone::kPlain) : text(std::move(value)), tone(colour) {}
  Cell(const char* value) : text(value) {}
  Cell(std::string_view value) : text(value) {}
  template <std::integral Number>
  Cell(Number value) : text(std::to_string(value)) {}
  // Several words with blanks between them.
  template <std::ranges::range Words>
  requires std::same_as<std::ranges::range_value_t<Words>, std::string> Cell(const Words& words) {
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  }
};
using Row = std::vector<Cell>;
using Rows = std::vector<Row>;

// A row for each item, as `row_of` makes it.
template <class Items, class RowOf>
Rows rows_of(const Items& items, RowOf row_of) {
  Rows rows;
  for (const auto& item : items) rows.push_back(row_of(item));
  return rows;
}

struct Column {
  std::string heading;
  bool right = false;  // numbers stand right
};

// Columns from one line of headings: "NODE|COUNT>|WHY". '>' marks numbers, which stand right.
std::vector<Column> columns_of(std::string_view headings);

// From now on this process' tables are for a terminal of so many columns; 0, as at first: for none.
// A program has one terminal and says so before its first table, which no verb has to know.
void fold_tables_at(int columns);

// Lines, each ending in a newline; no trailing blanks; nothing cut. A column that is empty in every
// row is left out. On a terminal that is too narrow, columns that do not fit stand on indented
// lines below, headings and cells alike; only a cell that is wider than the terminal is left to it.
std::string render_table(const std::vector<Column>& columns, const Rows& rows, bool colour);
std::string render_table(std::string_view headings, const Rows& rows, bool colour);

// The table behind an empty line, and below `title` where there is one; "" without rows.
std::string render_section(std::string_view headings, const Rows& rows, bool colour,
                           const std::string& title = "");

// Rows of name and value without a heading line; empty values are left out.
std::string render_list(const Rows& rows, bool colour);

// `text` in the tone's colour when `colour`.
std::string toned(const std::string& text, Tone tone, bool colour);

// How an outcome, a node's or a task's state looks.
Tone tone_of(const std::string& word);
// The word in the tone that it has.
Cell state_cell(const std::string& word);

}  // namespace railgauge::cli

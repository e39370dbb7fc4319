// Aligned text columns for people. Widths count characters of UTF-8, cells are made printable.
#pragma once

#include <string>
#include <vector>

namespace railgauge::cli {

enum class Tone { kPlain, kGood, kBad, kDoubtful, kHeading };

struct Cell {
  std::string text;
  Tone tone = Tone::kPlain;
  Cell(std::string value, Tone colour = Tone::kPlain) : text(std::move(value)), tone(colour) {}
  Cell(const char* value) : text(value) {}
};

struct Column {
  std::string heading;
  bool right = false;  // numbers stand right
};

// From now on this process' tables are for a terminal of so many columns; 0, as at first: for none.
// A program has one terminal and says so before its first table, which no verb has to know.
void fold_tables_at(int columns);

// Lines, each ending in a newline; no trailing blanks; nothing cut. A column that is empty in every
// row is left out. On a terminal that is too narrow, columns that do not fit stand on indented
// lines below, headings and cells alike; only a cell that is wider than the terminal is left to it.
std::string render_table(const std::vector<Column>& columns,
                         const std::vector<std::vector<Cell>>& rows, bool colour);

// Rows of name and value without a heading line; empty values are left out.
std::string render_list(const std::vector<std::vector<Cell>>& rows, bool colour);

// `text` in the tone's colour when `colour`.
std::string toned(const std::string& text, Tone tone, bool colour);

// How an outcome, a node's or a task's state looks.
Tone tone_of(const std::string& word);

}  // namespace railgauge::cli

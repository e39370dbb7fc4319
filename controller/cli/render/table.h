// Aligned text columns for people. Widths count characters of UTF-8, cells are made printable.
#pragma once

#include <concepts>
#include <cstddef>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
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

// Makes columns from one line of headings: "NODE|COUNT>|WHY". '>' marks numbers, aligned right.
std::vector<Column> columns_of(std::string_view headings);

// Sets the number of columns of the terminal for all later tables of this process; 0, the initial
// value: no terminal. A program has one terminal and sets it before its first table, so that no
// verb has to know it.
void fold_tables_at(int columns);
bool tables_are_folded();
// Sets that lists and pages have all their lines on a terminal too (--full); false is the initial
// value.
void show_whole_tables(bool whole);
// Whether lists and pages are cut to a screen: on a terminal, unless they are to be whole.
bool tables_are_cut();

// Renders lines that end in a newline, without trailing blanks and without cutting cells. A column
// that is empty in every row is left out. On a narrow terminal, further columns continue on
// indented lines below, headings and cells alike; a cell wider than the terminal is wrapped.
std::string render_table(const std::vector<Column>& columns, const Rows& rows, bool colour);
std::string render_table(std::string_view headings, const Rows& rows, bool colour);

// The lines of a page on a terminal.
inline constexpr std::size_t kScreenLines = 60;

// How long a table of a list may get on a terminal. Files and pipes get all of it.
struct ShortTable {
  std::size_t lines = 54;  // so that a page with its other lines fits kScreenLines
  std::string_view remedy = "--full shows them";
};
// Renders as many rows as fit the terminal; the last line has the number of those that are left.
std::string render_short_table(std::string_view headings, const Rows& rows, bool colour,
                               const ShortTable& limit = {});

// Returns the rows, equal ones once at the place of the first, each with how often it is there.
std::vector<std::pair<Row, std::size_t>> counted_rows(const Rows& rows);

// Renders the table after an empty line, and below `title` if there is one; "" without rows.
std::string render_section(std::string_view headings, const Rows& rows, bool colour,
                           const std::string& title = "");

// The same for a table that is cut as by render_short_table().
std::string render_short_section(std::string_view headings, const Rows& rows, bool colour,
                                 const ShortTable& limit, const std::string& title = "");

// Renders rows of name and value without a heading line; empty values are left out.
std::string render_list(const Rows& rows, bool colour);

// Returns a text of several lines, on a terminal at most `lines` of them; then the last one has the
// number of those that are left.
std::string screenful(std::string text, const ShortTable& limit = {});

// Returns both texts as one page of at most kScreenLines lines on a terminal: the first is cut as
// by screenful(), the end stays.
std::string page_with_end(std::string text, const std::string& end);

// Returns a page of any verb for the terminal: at most kScreenLines lines as by screenful(), and
// lines without colours that are wider than it are wrapped.
std::string fitted_page(const std::string& page);

// Returns `text` as lines that fit the terminal, the further ones indented, each with a newline.
// The text is one line where there is no terminal.
std::string wrapped_line(const std::string& text, std::size_t indent = 0);

// Returns `text`, in the tone's colour if `colour`.
std::string toned(const std::string& text, Tone tone, bool colour);

// Returns the tone of an outcome, or of a node's or a task's state.
Tone tone_of(const std::string& word);
// Returns the word as a cell in its tone.
Cell state_cell(const std::string& word);

}  // namespace railgauge::cli

#include "controller/cli/render/table.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>

#include <fmt/format.h>

#include "controller/cli/render/output.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/base/result.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kIndent = 4;  // of a row's further lines
int folded_at = 0;                  // columns; 0: tables are as wide as they are
bool is_whole = false;              // no table is cut

// Characters of UTF-8. Wide characters count as one.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// The sequence of ECMA-48 for each Tone; "" for plain text.
constexpr std::array<const char*, 5> kEscapes{"", "\x1b[32m", "\x1b[31m", "\x1b[33m", "\x1b[1m"};

// Which columns stand on one line, line by line of a row.
std::vector<std::vector<std::size_t>> lines_of(const std::vector<std::size_t>& widths,
                                               int terminal_columns) {
  // The last column stays free: some terminals wrap when it is written.
  const auto room = static_cast<std::size_t>(std::max(terminal_columns - 1, 0));
  std::vector<std::vector<std::size_t>> lines(1);
  std::size_t used = 0;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] == 0) continue;
    if (room > 0 && !lines.back().empty() && used + kGap + widths[i] > room) {
      lines.emplace_back();
      used = kIndent;
    }
    used += (lines.back().empty() ? 0 : kGap) + widths[i];
    lines.back().push_back(i);
  }
  return lines;
}

}  // namespace

// Set once by main, before any other thread exists.
void fold_tables_at(int columns) { folded_at = columns; }
bool tables_are_folded() { return folded_at > 0; }
void show_whole_tables(bool whole) { is_whole = whole; }
bool tables_are_cut() { return folded_at > 0 && !is_whole; }

// Colours end with the text, so that a cut line cannot colour the next one.
std::string toned(const std::string& text, Tone tone, bool colour) {
  if (!colour || tone == Tone::kPlain || text.empty()) return text;
  return kEscapes.at(static_cast<std::size_t>(tone)) + text + "\x1b[0m";
}

// Words of outcomes, of nodes and of schedules; an unknown word is plain.
Tone tone_of(const std::string& word) {
  if (word == kPassed || word == "attached" || word == "ok" || word == "proved") return Tone::kGood;
  if (word == kFailed || word == kCrashed || word == kTimedOut || word == "lost" ||
      word == "not_proved")
    return Tone::kBad;
  if (word == kWaived || word == kCancelledOutcome || word == "paused" || word == "cancelling")
    return Tone::kDoubtful;
  return Tone::kPlain;
}

Cell state_cell(const std::string& word) { return {word, tone_of(word)}; }

namespace {

// Cuts a text into lines of at most `room` characters, at blanks and behind commas where it can.
std::vector<std::string> wrapped(const std::string& text, std::size_t room) {
  std::vector<std::string> lines;
  std::string_view rest = text;
  while (width_of(std::string(rest)) > room) {
    std::size_t bytes = 0;  // that fit
    std::size_t cut = 0;    // behind the last place to cut at
    for (std::size_t count = 0; bytes < rest.size(); ++bytes) {
      if ((static_cast<unsigned char>(rest[bytes]) & 0xC0) != 0x80 && ++count > room) break;
      if (rest[bytes] == ' ' || rest[bytes] == ',') cut = bytes + 1;
    }
    if (cut == 0) cut = bytes;
    std::string_view line = rest.substr(0, cut);
    while (line.ends_with(' ')) line.remove_suffix(1);
    lines.emplace_back(line);
    rest.remove_prefix(cut);
    while (rest.starts_with(' ')) rest.remove_prefix(1);
  }
  lines.emplace_back(rest);
  return lines;
}

// Where the columns of a table stand.
class Layout {
 public:
  Layout(const std::vector<Column>& columns, const Rows& rows)
      : columns_(columns), widths_(columns.size(), 0) {
    for (const auto& row : rows) {
      RG_CHECK(row.size() == columns.size());
      for (std::size_t i = 0; i < row.size(); ++i)
        widths_[i] = std::max(widths_[i], width_of(printable(row[i].text)));
    }
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (widths_[i] > 0 || rows.empty())
        widths_[i] = std::max(widths_[i], width_of(printable(columns[i].heading)));
    lines_ = lines_of(widths_, folded_at);
  }

  // Columns that do not fit continue on further lines of the same row.
  [[nodiscard]] std::string text_of(const Row& row, bool colour) const {
    std::string text;
    for (std::size_t number = 0; number < lines_.size(); ++number) {
      const auto& line = lines_[number];
      const std::size_t indent = number == 0 ? 0 : kIndent;
      const bool is_alone = line.size() == 1 && folded_at > 0;
      const std::string& first = row[line.empty() ? 0 : line.front()].text;
      if (is_alone && width_of(printable(first)) + indent >= static_cast<std::size_t>(folded_at))
        text += long_cell(row[line.front()], indent, colour);
      else if (const std::string cells = line_text(row, line, indent, colour);
               number == 0 || !cells.empty())
        text += cells + "\n";
    }
    return text;
  }

 private:
  // Blanks are written only in front of a cell, so that no line ends in one.
  [[nodiscard]] std::string line_text(const Row& row, const std::vector<std::size_t>& line,
                                      std::size_t indent, bool colour) const {
    std::string text;
    std::size_t owed = indent;  // blanks before the next cell
    for (const std::size_t i : line) {
      const std::string cell = printable(row[i].text);
      const std::size_t pad = widths_[i] - width_of(cell);
      owed += (i == line.front() ? 0 : kGap) + (columns_[i].right ? pad : 0);
      if (!cell.empty()) {
        text += std::string(owed, ' ') + toned(cell, row[i].tone, colour);
        owed = 0;
      }
      if (!columns_[i].right) owed += pad;
    }
    return text;
  }

  // A cell that is wider than the terminal, on lines of its own.
  static std::string long_cell(const Cell& cell, std::size_t indent, bool colour) {
    std::string text;
    const std::size_t room = static_cast<std::size_t>(std::max(folded_at, 24)) - 1 - kIndent;
    std::size_t blanks = indent;
    for (const std::string& line : wrapped(printable(cell.text), room)) {
      text += std::string(blanks, ' ') + toned(line, cell.tone, colour) + "\n";
      blanks = kIndent;
    }
    return text;
  }

  const std::vector<Column>& columns_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::size_t>> lines_;
};

// Cells and headings take the same path, so that columns stay aligned on folded lines too.
std::string heading_text(const std::vector<Column>& columns, const Layout& layout, bool colour) {
  Row headings;
  for (const Column& column : columns) headings.emplace_back(column.heading, Tone::kHeading);
  return layout.text_of(headings, colour);
}

}  // namespace

std::string screenful(std::string text, const ShortTable& limit) {
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  if (!tables_are_cut() || lines <= limit.lines) return text;
  std::size_t end = 0;
  for (std::size_t i = 0; i + 1 < limit.lines; ++i) end = text.find('\n', end) + 1;
  text.resize(end);
  return text + fmt::format("and {} more lines{}{}\n", lines - limit.lines + 1,
                            limit.remedy.empty() ? "" : "; ", limit.remedy);
}

// The end is never cut, however long it is.
std::string page_with_end(std::string text, const std::string& end) {
  const auto lines = static_cast<std::size_t>(std::ranges::count(end, '\n'));
  const std::size_t most = kScreenLines - std::min(lines, kScreenLines - 2);
  return screenful(std::move(text), {.lines = most}) + end;
}

std::string fitted_page(const std::string& page) {
  if (folded_at == 0) return page;
  std::string text;
  for (std::size_t begin = 0; begin < page.size();) {
    const std::size_t end = std::min(page.find('\n', begin), page.size());
    const std::string line = page.substr(begin, end - begin);
    // A line with colours is a table's or a heading's, which were fitted when they were made.
    const bool is_wide = width_of(line) > static_cast<std::size_t>(folded_at) &&
                         line.find('\x1b') == std::string::npos;
    const std::size_t first = line.find_first_not_of(' ');
    if (is_wide && first < static_cast<std::size_t>(folded_at) / 2)
      text += std::string(first, ' ') + wrapped_line(line.substr(first), first + kIndent);
    else
      text += line + "\n";
    begin = end + 1;
  }
  if (!page.ends_with('\n') && !text.empty()) text.pop_back();
  return screenful(std::move(text), {.lines = kScreenLines});
}

std::string wrapped_line(const std::string& text, std::size_t indent) {
  const std::string line = printable(text);
  if (folded_at == 0) return line + "\n";
  const std::size_t room = static_cast<std::size_t>(std::max(folded_at, 24)) - 1 - indent;
  std::string lines;
  for (const std::string& part : wrapped(line, room))
    lines += (lines.empty() ? "" : std::string(indent, ' ')) + part + "\n";
  return lines;
}

std::string render_table(const std::vector<Column>& columns, const Rows& rows, bool colour) {
  const Layout layout(columns, rows);
  std::string text = heading_text(columns, layout, colour);
  for (const auto& row : rows) text += layout.text_of(row, colour);
  return text;
}

std::string render_short_table(std::string_view headings, const Rows& rows, bool colour,
                               const ShortTable& limit) {
  const std::vector<Column> columns = columns_of(headings);
  const Layout layout(columns, rows);
  std::string text = heading_text(columns, layout, colour);
  const auto lines_in = [](const std::string& part) {
    return static_cast<std::size_t>(std::ranges::count(part, '\n'));
  };
  std::size_t lines = lines_in(text);
  const std::size_t most = tables_are_cut() ? limit.lines : SIZE_MAX;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string row = layout.text_of(rows[i], colour);
    const std::size_t after = i + 1 < rows.size() ? 1 : 0;  // the line that counts the rest
    if (i > 0 && lines + lines_in(row) + after > most)
      return text + fmt::format("and {} more{}{}\n", rows.size() - i,
                                limit.remedy.empty() ? "" : "; ", limit.remedy);
    text += row;
    lines += lines_in(row);
  }
  return text;
}

std::vector<Column> columns_of(std::string_view headings) {
  std::vector<Column> columns;
  for (std::string_view heading : split(headings, '|')) {
    const bool right = heading.ends_with('>');
    if (right) heading.remove_suffix(1);
    columns.push_back({std::string(heading), right});
  }
  return columns;
}

std::string render_table(std::string_view headings, const Rows& rows, bool colour) {
  return render_table(columns_of(headings), rows, colour);
}

// Colours do not distinguish rows.
std::vector<std::pair<Row, std::size_t>> counted_rows(const Rows& rows) {
  std::vector<std::pair<Row, std::size_t>> counted;
  std::map<std::vector<std::string>, std::size_t> places;
  for (const Row& row : rows) {
    std::vector<std::string> words;
    for (const Cell& cell : row) words.push_back(cell.text);
    const auto [place, is_new] = places.try_emplace(std::move(words), counted.size());
    if (is_new) counted.emplace_back(row, 0);
    ++counted[place->second].second;
  }
  return counted;
}

namespace {

// An empty line and the title.
std::string section_head(const std::string& title, bool colour) {
  return title.empty() ? "\n" : "\n" + toned(printable(title), Tone::kHeading, colour) + "\n";
}

}  // namespace

std::string render_section(std::string_view headings, const Rows& rows, bool colour,
                           const std::string& title) {
  if (rows.empty()) return "";
  return section_head(title, colour) + render_table(headings, rows, colour);
}

std::string render_short_section(std::string_view headings, const Rows& rows, bool colour,
                                 const ShortTable& limit, const std::string& title) {
  if (rows.empty()) return "";
  return section_head(title, colour) + render_short_table(headings, rows, colour, limit);
}

namespace {

constexpr std::size_t kMostNameColumns = 24;

// Names in a column, values beside it on as many lines as they need.
std::string hanging_list(const Rows& rows, std::size_t names, bool colour) {
  const std::size_t indent = names + kGap;
  const std::size_t room = static_cast<std::size_t>(std::max(folded_at, 60)) - 1 - indent;
  std::string text;
  for (const Row& row : rows) {
    const std::string name = printable(row[0].text);
    std::string before =
        toned(name, row[0].tone, colour) + std::string(indent - width_of(name), ' ');
    for (const std::string& line : wrapped(printable(row[1].text), room)) {
      text += before + toned(line, row[1].tone, colour) + "\n";
      before = std::string(indent, ' ');
    }
  }
  return text;
}

}  // namespace

// A table of two columns without its heading. On a terminal long values stay beside their names.
std::string render_list(const Rows& rows, bool colour) {
  Rows kept;
  for (const auto& row : rows) {
    RG_CHECK(row.size() == 2);
    if (!row[1].text.empty()) kept.push_back(row);
  }
  std::size_t names = 0;
  for (const Row& row : kept) names = std::max(names, width_of(printable(row[0].text)));
  if (folded_at > 0 && names <= kMostNameColumns) return hanging_list(kept, names, colour);
  const std::string table = render_table("|", kept, colour);
  return table.substr(table.find('\n') + 1);  // without the line of headings
}

}  // namespace railgauge::cli

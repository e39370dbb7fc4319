#include "controller/cli/render/table.h"

#include <algorithm>
#include <array>

#include "controller/cli/render/output.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/base/result.h"

namespace railgauge::cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kIndent = 4;  // of a row's further lines
int folded_at = 0;                  // columns; 0: tables are as wide as they are

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

// Colours end with the text, so that a cut line cannot colour the next one.
std::string toned(const std::string& text, Tone tone, bool colour) {
  if (!colour || tone == Tone::kPlain || text.empty()) return text;
  return kEscapes.at(static_cast<std::size_t>(tone)) + text + "\x1b[0m";
}

// Words of outcomes, of nodes and of schedules; an unknown word is plain.
Tone tone_of(const std::string& word) {
  if (word == kPassed || word == "attached" || word == "ok") return Tone::kGood;
  if (word == kFailed || word == kCrashed || word == kTimedOut || word == "lost") return Tone::kBad;
  if (word == kWaived || word == kCancelledOutcome || word == "paused" || word == "cancelling")
    return Tone::kDoubtful;
  return Tone::kPlain;
}

Cell state_cell(const std::string& word) { return {word, tone_of(word)}; }

// Cells and headings take the same path, so that columns stay aligned on folded lines too.
std::string render_table(const std::vector<Column>& columns, const Rows& rows, bool colour) {
  std::vector<std::size_t> widths(columns.size(), 0);
  for (const auto& row : rows) {
    RG_CHECK(row.size() == columns.size());
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], width_of(printable(row[i].text)));
  }
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (widths[i] > 0 || rows.empty())
      widths[i] = std::max(widths[i], width_of(printable(columns[i].heading)));

  // Columns that do not fit continue on further lines of the same row.
  const auto lines = lines_of(widths, folded_at);
  std::string text;
  const auto add_row = [&](const auto& cell_of) {
    for (std::size_t number = 0; number < lines.size(); ++number) {
      std::string line;
      // Blanks are written only in front of a cell, so that no line ends in one.
      std::size_t owed = number == 0 ? 0 : kIndent;  // blanks before the next cell
      for (const std::size_t i : lines[number]) {
        const auto [cell, tone] = cell_of(i);
        const std::size_t pad = widths[i] - width_of(cell);
        owed += (i == lines[number].front() ? 0 : kGap) + (columns[i].right ? pad : 0);
        if (!cell.empty()) {
          line += std::string(owed, ' ') + toned(cell, tone, colour);
          owed = 0;
        }
        if (!columns[i].right) owed += pad;
      }
      if (number == 0 || !line.empty()) text += line + "\n";
    }
  };
  add_row([&](std::size_t i) { return std::pair(printable(columns[i].heading), Tone::kHeading); });
  for (const auto& row : rows)
    add_row([&](std::size_t i) { return std::pair(printable(row[i].text), row[i].tone); });
  return text;
}

std::vector<Column> columns_of(std::string_view headings) {
  std::vector<Column> columns;
  for (const auto part : std::views::split(headings, '|')) {
    std::string_view heading(part.begin(), part.end());
    const bool right = heading.ends_with('>');
    if (right) heading.remove_suffix(1);
    columns.push_back({std::string(heading), right});
  }
  return columns;
}

std::string render_table(std::string_view headings, const Rows& rows, bool colour) {
  return render_table(columns_of(headings), rows, colour);
}

std::string render_section(std::string_view headings, const Rows& rows, bool colour,
                           const std::string& title) {
  if (rows.empty()) return "";
  return (title.empty() ? "\n" : "\n" + toned(printable(title), Tone::kHeading, colour) + "\n") +
         render_table(headings, rows, colour);
}

// A table of two columns without its heading.
std::string render_list(const Rows& rows, bool colour) {
  Rows kept;
  for (const auto& row : rows) {
    RG_CHECK(row.size() == 2);
    if (!row[1].text.empty()) kept.push_back(row);
  }
  const std::string table = render_table("|", kept, colour);
  return table.substr(table.find('\n') + 1);  // without the line of headings
}

}  // namespace railgauge::cli

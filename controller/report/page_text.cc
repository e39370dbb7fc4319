// The page as text and as Markdown.
#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "controller/report/page.h"
#include "kernels/core/text/text.h"

namespace railgauge::report {
namespace {

// Breaks a text into lines of at most `room` bytes at blanks, and behind commas of long words.
std::vector<std::string> lines_of(const std::string& text, std::size_t room) {
  std::vector<std::string> lines;
  std::string_view rest = text;
  while (rest.size() > room) {
    std::size_t cut = rest.rfind(' ', room);
    if (cut == std::string_view::npos || cut == 0) {
      const std::size_t comma = rest.rfind(',', room - 1);
      cut = comma == std::string_view::npos ? beginning_of(rest, room).size() : comma + 1;
    }
    lines.emplace_back(rest.substr(0, cut));
    rest.remove_prefix(cut);
    while (rest.starts_with(' ')) rest.remove_prefix(1);
  }
  lines.emplace_back(rest);
  return lines;
}

// Writes a text below `indent`, its first line after `begin`.
std::string indented(const std::string& begin, const std::string& text, std::size_t indent,
                     std::size_t columns) {
  std::string out = begin;
  const std::size_t room = columns > indent + 20 ? columns - indent : 20;
  bool is_first = true;
  for (const std::string& line : lines_of(printable(text), room)) {
    out += (is_first ? "" : std::string(indent, ' ')) + line + "\n";
    is_first = false;
  }
  return out;
}

// A line of dots and bars: a level below 1 is low.
std::string levels_text(const Entry& entry) {
  if (entry.before.empty() && entry.after.empty()) return "";
  std::string text = " ";
  for (const double level : entry.before) text += fmt::format(" {:.2f}", level);
  text += " |";
  for (const double level : entry.after) text += fmt::format(" {:.2f}", level);
  return text;
}

std::string left_text(std::size_t left) {
  return left == 0 ? "" : fmt::format("and {} more", left);
}

// Puts a backslash before what Markdown obeys.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : printable(text)) {
    if (std::string_view("\\`*_[]<>#|").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

constexpr std::size_t kMarkColumns = 17;  // with the blanks around a mark

std::string entry_text(const Entry& entry, std::size_t columns) {
  const std::string blanks(kMarkColumns, ' ');
  const std::string mark = "  " + printable(entry.mark);
  // A mark that is too long has a line of its own.
  const std::string begin = mark.size() + 2 <= kMarkColumns
                                ? fmt::format("{:<{}}", mark, kMarkColumns)
                                : mark + "\n" + blanks;
  std::string text = indented(begin, entry.head, kMarkColumns, columns);
  if (!entry.text.empty()) text += indented(blanks, entry.text, kMarkColumns, columns);
  if (const std::string levels = levels_text(entry); !levels.empty())
    text += indented(blanks, "run by run:" + levels, kMarkColumns, columns);
  return text;
}

}  // namespace

std::string page_text(const Page& page, std::size_t columns) {
  std::string text = indented("", page.title + ", " + page.subtitle, 0, columns);
  text += indented("", page.verdict + ": " + page.headline, 0, columns);
  for (const Section& section : page.sections) {
    text += indented(
        "\n", printable(section.title) + (section.summary.empty() ? "" : ": " + section.summary), 0,
        columns);
    for (const Entry& entry : section.entries) text += entry_text(entry, columns);
    if (section.left > 0) text += "  " + left_text(section.left) + "\n";
  }
  text += "\nNext" + std::string(page.next.empty() ? ": nothing\n" : "\n");
  for (std::size_t i = 0; i < page.next.size(); ++i) {
    const std::string number = fmt::format("  {}. ", i + 1);
    text += indented(number, page.next[i], number.size(), columns);
  }
  if (page.next_left > 0) text += "  " + left_text(page.next_left) + "\n";
  return text;
}

std::string page_markdown(const Page& page) {
  std::string text =
      fmt::format("# {}\n\n{}\n\n**{}**: {}\n", escaped(page.title), escaped(page.subtitle),
                  escaped(page.verdict), escaped(page.headline));
  for (const Section& section : page.sections) {
    text += fmt::format("\n## {}\n\n", escaped(section.title));
    if (!section.summary.empty()) text += escaped(section.summary) + "\n";
    if (!section.summary.empty() && !section.entries.empty()) text += "\n";
    for (const Entry& entry : section.entries) {
      text += fmt::format("- **{}** {}", escaped(entry.mark), escaped(entry.head));
      if (!entry.text.empty()) text += ": " + escaped(entry.text);
      if (const std::string levels = levels_text(entry); !levels.empty())
        text += fmt::format(" (`{}`)", levels.substr(2));
      text += "\n";
    }
    if (section.left > 0) text += fmt::format("- {}\n", left_text(section.left));
  }
  text += "\n## Next\n\n";
  if (page.next.empty()) text += "nothing\n";
  for (std::size_t i = 0; i < page.next.size(); ++i)
    text += fmt::format("{}. {}\n", i + 1, escaped(page.next[i]));
  if (page.next_left > 0) text += fmt::format("\n{}\n", left_text(page.next_left));
  return text;
}

}  // namespace railgauge::report

#include "kernels/core/text/help.h"

#include <algorithm>

#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

constexpr std::size_t kDescriptionColumn = 30;  // CLI11's default

// Folds one line. CLI11 writes an option as "  --name TYPE   description"; a description that
// begins on a line of its own is at the same column.
std::string folded_help_line(std::string_view line) {
  const std::string indent(line.starts_with(' ') ? kDescriptionColumn : 0, ' ');
  std::string text;
  while (line.size() + (text.empty() ? 0 : indent.size()) > kHelpColumns) {
    const std::size_t taken = text.empty() ? 0 : indent.size();
    // The blanks in front of the words are no place to cut at.
    const std::size_t first = line.find_first_not_of(' ');
    std::size_t blank = line.rfind(' ', kHelpColumns - taken);
    if (blank == std::string_view::npos || blank < first) blank = line.find(' ', first);
    if (blank == std::string_view::npos) break;
    std::string_view part = line.substr(0, blank);
    while (part.ends_with(' ')) part.remove_suffix(1);
    text += (text.empty() ? "" : indent) + std::string(part) + "\n";
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ', blank)));
  }
  return text + (text.empty() ? "" : indent) + std::string(line);
}

}  // namespace

std::string folded_help(std::string_view help) {
  std::string text;
  for (const std::string_view line : split(help, '\n'))
    text += (text.empty() ? "" : "\n") + folded_help_line(line);
  return text;
}

}  // namespace railgauge

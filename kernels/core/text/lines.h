// Cuts the text of other programs into lines and words. Never fails; pure. All results refer to the
// given text.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace railgauge {

inline constexpr std::string_view kBlanks = " \t\r\f\v";

// Returns the text without blanks at both ends.
inline std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// Splits the text at separators; an empty text yields one empty piece.
inline std::vector<std::string_view> pieces_of(std::string_view text, char between) {
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t end = text.find(between);
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

inline std::vector<std::string_view> lines_of(std::string_view text) {
  return pieces_of(text, '\n');
}

// Returns the words between blanks; none of them is empty.
inline std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(kBlanks, at)) != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    out.push_back(line.substr(at, end - at));
    at = end;
  }
  return out;
}

// Returns the line up to the first `#`.
inline std::string_view without_comment(std::string_view line) {
  return line.substr(0, line.find('#'));
}

// Returns the text between the first two quotes from `at` on; empty without a pair of quotes.
inline std::string_view quoted_in(std::string_view line, std::size_t at = 0) {
  const std::size_t open = line.find('"', at);
  if (open == std::string_view::npos) return {};
  const std::size_t close = line.find('"', open + 1);
  if (close == std::string_view::npos) return {};
  return line.substr(open + 1, close - open - 1);
}

}  // namespace railgauge

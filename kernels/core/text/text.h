// Small helpers for one-line messages to people. Pure; thread safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace railgauge {

// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`. Longer words
// than kMaxComparedWord bytes are compared by their beginnings.
std::size_t edit_distance(std::string_view a, std::string_view b);
inline constexpr std::size_t kMaxComparedWord = 64;

// `; did you mean "depth"?` for the nearest candidate, or "" when none is near: ready to be
// appended to an error.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

// The parts of the text between separators, empty ones too. They refer to the text.
std::vector<std::string_view> split(std::string_view text, char separator);
// The same where the separator ends each part, which the last one may lack: "" has none.
std::vector<std::string_view> split_lines(std::string_view text, char separator = '\n');

// Whether the text has nothing but ASCII letters, digits and the characters of `others`.
bool made_of(std::string_view text, std::string_view others);

// The first row of a table whose field has that value; nullptr where there is none.
template <class Rows, class Field, class Value>
auto row_where(const Rows& rows, Field field, const Value& value) {
  const auto found = std::ranges::find(rows, value, field);
  return found == std::ranges::end(rows) ? nullptr : &*found;
}

// Bytes of the UTF-8 character at the start of `text` (RFC 3629), 0 when there is none. Overlong
// forms, surrogates and values above U+10FFFF are none.
std::size_t utf8_length(std::string_view text);
// The text's beginning of at most so many bytes, not ending in the middle of a character.
std::string_view beginning_of(std::string_view text, std::size_t most_bytes);

// The text with "?" for each byte that is no part of valid UTF-8. Every text of others (stderr of a
// child, words of a user) passes here before it becomes a message's string field: protobuf refuses
// to parse other bytes.
std::string valid_utf8(std::string_view text);

// The word in double quotes, fit for one line and for a message. Control characters and bytes that
// are no UTF-8 become "?"; more than kMaxQuoted bytes are cut, marked with "...".
std::string in_quotes(std::string_view word);
inline constexpr std::size_t kMaxQuoted = 80;

// `text` with control characters replaced by "?": text of a node, a library or a peer cannot steer
// a terminal or forge a log line. Bytes of UTF-8 pass.
std::string printable(std::string_view text);

// `word` as one word of a POSIX shell: unchanged where no character is special, else in single
// quotes.
std::string shell_quoted(std::string_view word);

// The first `most` words and the number of the others: "a, b, c and 2 more".
std::string some_of(std::span<const std::string> words, std::size_t most);
// "Connection refused (errno 111)".
std::string errno_words(int error);

// The words as a choice: "a, b or c".
std::string one_of(std::span<const std::string> words);

}  // namespace railgauge

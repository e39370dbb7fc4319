// Small helpers for one-line messages to people. Pure; thread safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace railgauge {

// Counts the insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
// Only the first kMaxComparedWord bytes of each word are compared.
std::size_t edit_distance(std::string_view a, std::string_view b);
inline constexpr std::size_t kMaxComparedWord = 64;

// Returns `; did you mean "depth"?` for the nearest candidate, ready to be appended to an error, or
// "" when none is near. A candidate of several words, as "latency_ns", is near to its beginning and
// its end too.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

// Splits the text at separators, empty parts included. The parts refer to the text.
std::vector<std::string_view> split(std::string_view text, char separator);
// Splits the text into parts that each end in the separator, optional after the last; "" yields
// none.
std::vector<std::string_view> split_lines(std::string_view text, char separator = '\n');

// Reports whether the text consists of ASCII letters, digits and characters of `others` only.
bool made_of(std::string_view text, std::string_view others);

// Returns the first row of a table whose field equals `value`; nullptr when there is none.
template <class Rows, class Field, class Value>
auto row_where(const Rows& rows, Field field, const Value& value) {
  const auto found = std::ranges::find(rows, value, field);
  return found == std::ranges::end(rows) ? nullptr : &*found;
}

// Returns the length in bytes of the UTF-8 character at the start of `text` (RFC 3629), or 0 when
// there is none. Overlong forms, surrogates and values above U+10FFFF count as none.
std::size_t utf8_length(std::string_view text);
// Returns the longest beginning of at most `most_bytes` bytes that does not end inside a character.
std::string_view beginning_of(std::string_view text, std::size_t most_bytes);

// Returns the position of the first byte outside valid UTF-8; absent when there is none.
std::optional<std::size_t> first_outside_utf8(std::string_view text);

// Returns the text with "?" for each byte outside valid UTF-8. All foreign text (stderr of a child,
// words of a user) passes here before it enters a message's string field: protobuf refuses to parse
// other bytes.
std::string valid_utf8(std::string_view text);

// Returns the word in double quotes, safe for one line and for a message: as printable() writes it,
// with "?" for invalid UTF-8. Text beyond kMaxQuoted bytes is cut and marked with "...".
std::string in_quotes(std::string_view word);
inline constexpr std::size_t kMaxQuoted = 80;

// Reports whether a terminal or an editor obeys the character instead of showing it: C0, DEL, C1,
// line and paragraph separators, and the marks that turn the direction of writing.
bool steers(char32_t character);
// Returns the character at the start of `utf8`, which is `length` = utf8_length(utf8) > 0 bytes.
char32_t character_of(std::string_view utf8, std::size_t length);

// Returns `text` as one line of visible characters, so that text of a node, a library or a peer can
// neither steer a terminal nor forge a line of a log or table. Characters that steer are written as
// \n, \r, \t, \x1b or \u202e, bytes outside UTF-8 as \xff; all others pass. The result is valid
// UTF-8, and printable() leaves it as it is.
std::string printable(std::string_view text);
// Does the same but keeps newlines and tabs, for text of several lines.
std::string printable_lines(std::string_view text);

// Returns `word` as one word of a POSIX shell: unchanged without special characters, else in single
// quotes.
std::string shell_quoted(std::string_view word);

// Returns the first `most` words and the number of the rest: "a, b, c and 2 more".
std::string some_of(std::span<const std::string> words, std::size_t most);
// Returns the system's text and the number: "Connection refused (errno 111)".
std::string errno_words(int error);

// Returns the words as a choice: "a, b or c".
std::string one_of(std::span<const std::string> words);

}  // namespace railgauge

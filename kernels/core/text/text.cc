// Words for messages: likeness, quoting and scrubbing.
#include "kernels/core/text/text.h"

#include <algorithm>
#include <array>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace railgauge {
// The second byte decides on overlong forms, surrogates and values that are too large.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  if ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F)) return 0;
  if ((lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F)) return 0;
  return length;
}

// Continuation bytes are 10xxxxxx; a character has at most three after its first.
std::string_view beginning_of(std::string_view text, std::size_t most_bytes) {
  std::size_t length = std::min(text.size(), most_bytes);
  for (int i = 0; i < 3 && length > 0 && length < text.size() && (text[length] & 0xc0) == 0x80; ++i)
    --length;
  return text.substr(0, length);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size(); begin += parts.back().size() + 1)
    parts.push_back(text.substr(begin, text.find(separator, begin) - begin));
  return parts;
}

bool made_of(std::string_view text, std::string_view others) {
  return std::ranges::all_of(text, [others](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           others.find(c) != std::string_view::npos;
  });
}

std::vector<std::string_view> split_lines(std::string_view text, char separator) {
  std::vector<std::string_view> parts = split(text, separator);
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

std::string errno_words(int error) {
  return fmt::format("{} (errno {})", std::generic_category().message(error), error);
}

// Optimal string alignment (Damerau): three rows of the table suffice.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kMaxComparedWord);
  b = b.substr(0, kMaxComparedWord);
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

namespace {

constexpr std::size_t kLeastPart = 3;  // letters of a word that is compared with parts

// The steps to the whole candidate, or one more than those to a part of it: its beginning up to a
// separator of words, or its end behind one. A word that begins the candidate is one step away.
std::size_t steps_to(std::string_view word, std::string_view candidate) {
  std::size_t least = edit_distance(word, candidate);
  if (word.size() < kLeastPart) return least;
  if (candidate.starts_with(word)) least = std::min<std::size_t>(least, 1);
  candidate = candidate.substr(0, kMaxComparedWord);
  for (std::size_t at = candidate.find_first_of("_.-"); at != std::string_view::npos;
       at = candidate.find_first_of("_.-", at + 1))
    for (const std::string_view part : {candidate.substr(0, at), candidate.substr(at + 1)})
      if (part.size() >= kLeastPart) least = std::min(least, 1 + edit_distance(word, part));
  return least;
}

// How many bytes at their ends are the same.
std::size_t common_end(std::string_view a, std::string_view b) {
  std::size_t bytes = 0;
  while (bytes < std::min(a.size(), b.size()) && a[a.size() - 1 - bytes] == b[b.size() - 1 - bytes])
    ++bytes;
  return bytes;
}

}  // namespace

// A distance above a third of the word is not a typing error. Among equally near candidates the one
// with the same end is meant: gpu0017 by gpu00017, not gpu0001.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const std::string* nearest = nullptr;
  std::size_t best = std::max<std::size_t>(1, word.size() / 3) + 1;  // further is no typing error
  std::size_t best_end = 0;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = steps_to(word, candidate);
    if (distance > best || distance >= candidate.size()) continue;
    const std::size_t end = common_end(word, candidate);
    if (distance == best && (nearest == nullptr || end <= best_end)) continue;
    best = distance;
    best_end = end;
    nearest = &candidate;
  }
  return nearest == nullptr ? std::string() : fmt::format("; did you mean \"{}\"?", *nearest);
}

std::optional<std::size_t> first_outside_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0)
      out.push_back('?');
    else
      out.append(text.substr(0, length));
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return out;
}

std::string in_quotes(std::string_view word) {
  const std::string_view shown = beginning_of(word, kMaxQuoted);
  return fmt::format("\"{}{}\"", printable(valid_utf8(shown)),
                     shown.size() < word.size() ? "..." : "");
}

std::string some_of(std::span<const std::string> words, std::size_t most) {
  std::string out;
  for (const std::string& word : words.first(std::min(words.size(), most)))
    out += (out.empty() ? "" : ", ") + word;
  return words.size() > most ? fmt::format("{} and {} more", out, words.size() - most) : out;
}

std::string one_of(std::span<const std::string> words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

bool steers(char32_t character) {
  struct Range {
    char32_t first;
    char32_t last;
  };
  constexpr std::array kRanges{
      Range{0x00, 0x1F},     Range{0x7F, 0x9F},
      Range{0x061C, 0x061C}, Range{0x200E, 0x200F},  // marks of direction
      Range{0x2028, 0x202E},                         // separators, embeddings, overrides
      Range{0x2066, 0x206F},                         // isolates, and shapes that are deprecated
  };
  return std::ranges::any_of(kRanges, [character](const Range& range) {
    return character >= range.first && character <= range.last;
  });
}

// The lead byte of a longer form has 7 - length bits of the value.
char32_t character_of(std::string_view utf8, std::size_t length) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(utf8[i]); };
  if (length == 1) return byte(0);
  char32_t value = byte(0) & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) value = value << 6U | (byte(i) & 0x3FU);
  return value;
}

namespace {

void append_visible(char32_t character, std::string& out) {
  constexpr std::u32string_view kShort = U"\n\r\t";
  constexpr std::string_view kLetters = "nrt";
  if (const std::size_t at = kShort.find(character); at != std::u32string_view::npos)
    out.append(1, '\\').append(1, kLetters[at]);
  else if (character < 0x80)
    out += fmt::format("\\x{:02x}", static_cast<unsigned>(character));
  else
    out += fmt::format("\\u{:04x}", static_cast<unsigned>(character));
}

std::string visible(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    } else if (const char32_t character = character_of(text, length);
               steers(character) && kept.find(text.front()) == std::string_view::npos) {
      append_visible(character, out);
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return visible(text, ""); }

std::string printable_lines(std::string_view text) { return visible(text, "\n\t"); }

// A single quote ends the quoting, is escaped, and begins it again (POSIX shell, 2.2.2).
std::string shell_quoted(std::string_view word) {
  if (!word.empty() && made_of(word, "_-./:=@%+,")) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted + "'";
}

}  // namespace railgauge

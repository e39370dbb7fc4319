// Words for messages: likeness, quoting and scrubbing.
#include "kernels/core/text/text.h"

#include <algorithm>
#include <cctype>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace railgauge {
namespace {

// Bytes of the UTF-8 character at the start of `text` (RFC 3629); 0 when there is none. Overlong
// forms, surrogates and values above U+10FFFF are none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned>(static_cast<unsigned char>(text[i])) : 0U;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
  const unsigned first = byte(0);
  if (first < 0x80U) return 1;
  if (first >= 0xc2U && first <= 0xdfU) return continues(1) ? 2 : 0;
  if (first >= 0xe0U && first <= 0xefU) {
    const bool overlong = first == 0xe0U && byte(1) < 0xa0U;
    const bool surrogate = first == 0xedU && byte(1) > 0x9fU;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0U && first <= 0xf4U) {
    const bool overlong = first == 0xf0U && byte(1) < 0x90U;
    const bool above = first == 0xf4U && byte(1) > 0x8fU;
    return continues(1) && continues(2) && continues(3) && !overlong && !above ? 4 : 0;
  }
  return 0;
}

}  // namespace

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

// A word that begins a candidate counts as one step away. Further than a third of the word is no
// typing error.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  constexpr std::size_t kMinPrefix = 3;
  const std::string* nearest = nullptr;
  std::size_t best = std::max<std::size_t>(1, word.size() / 3) + 1;  // further is no typing error
  for (const std::string& candidate : candidates) {
    const bool begins = word.size() >= kMinPrefix && candidate.starts_with(word);
    const std::size_t distance = begins ? 1 : edit_distance(word, candidate);
    if (distance >= best || distance >= candidate.size()) continue;
    best = distance;
    nearest = &candidate;
  }
  return nearest == nullptr ? std::string() : fmt::format("; did you mean \"{}\"?", *nearest);
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0)
      out.push_back('?');
    else
      out.append(text.substr(0, length));
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return out;
}

// Cuts between characters: a character has at most three bytes after its first.
std::string in_quotes(std::string_view word) {
  std::size_t length = std::min(word.size(), kMaxQuoted);
  // Not in the middle of a character, which has at most three bytes after its first.
  for (int i = 0; i < 3 && length < word.size() && (word[length] & 0xc0) == 0x80; ++i) --length;
  std::string out = valid_utf8(word.substr(0, length));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20U || c == 0x7f) c = '?';
  return fmt::format("\"{}{}\"", out, length < word.size() ? "..." : "");
}

std::string one_of(std::span<const std::string> words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

std::string printable(std::string_view text) {
  std::string safe(text);
  std::ranges::replace_if(
      safe, [](unsigned char c) { return c < 0x20 || c == 0x7F; }, '?');
  return safe;
}

// A single quote ends the quoting, is escaped, and begins it again (POSIX shell, 2.2.2).
std::string shell_quoted(std::string_view word) {
  constexpr std::string_view kPlain = "_-./:=@%+,";
  const bool plain = !word.empty() && std::ranges::all_of(word, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           kPlain.find(c) != std::string_view::npos;
  });
  if (plain) return std::string(word);
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

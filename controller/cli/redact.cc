#include "controller/cli/redact.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

namespace railgauge::cli {
namespace {

constexpr std::string_view kLeftOut = "(left out)";
constexpr std::array<std::string_view, 6> kSecretWords{"secret",     "passw",   "token",
                                                       "credential", "api_key", "private_key"};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_token(char c) { return is_word(c) || c == '.' || c == '-' || c == ':'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

std::string lower(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return small;
}

// From "-----BEGIN" to the end of the matching line of "-----END".
std::string without_pem(std::string text) {
  for (std::size_t begin = 0; (begin = text.find("-----BEGIN", begin)) != std::string::npos;) {
    const std::size_t end = text.find("-----END", begin);
    const std::size_t close = end == std::string::npos ? end : text.find("-----", end + 8);
    text.replace(begin, close == std::string::npos ? close : close + 5 - begin, kLeftOut);
    begin += kLeftOut.size();
  }
  return text;
}

// Where the value begins that belongs to the name around `at`: behind "=", ":" and quotes.
std::size_t value_behind(std::string_view text, std::size_t at) {
  while (at < text.size() && is_word(text[at])) ++at;
  const std::size_t name_end = at;
  while (at < text.size() && (text[at] == '"' || text[at] == ' ')) ++at;
  if (at == text.size() || (text[at] != '=' && text[at] != ':')) return name_end;
  ++at;
  while (at < text.size() && (text[at] == '"' || text[at] == ' ')) ++at;
  return at;
}

bool is_ipv4(std::string_view piece) {
  return std::ranges::count(piece, '.') == 3 && piece.size() >= 7 && is_digit(piece.front()) &&
         is_digit(piece.back()) && piece.find("..") == std::string_view::npos &&
         std::ranges::all_of(piece, [](char c) { return is_digit(c) || c == '.'; });
}

// IPv6 addresses, GUIDs and MAC addresses. A PCI address has a dot, a time two colons.
bool is_colon_address(std::string_view token) {
  const auto colons = std::ranges::count(token, ':');
  return (colons >= 3 || (colons >= 2 && token.find("::") != std::string_view::npos)) &&
         std::ranges::all_of(token, [](char c) { return is_hex(c) || c == ':'; });
}

}  // namespace

std::string without_secrets(std::string_view text) {
  std::string clean = without_pem(std::string(text));
  for (const std::string_view word : kSecretWords) {
    std::string small = lower(clean);
    for (std::size_t at = 0; (at = small.find(word, at)) != std::string::npos;) {
      const std::size_t value = value_behind(clean, at);
      const std::size_t end = std::min(clean.find_first_of("\",;\n\\", value), clean.size());
      at = value;
      if (value == end || (clean[value - 1] != '"' && clean[value - 1] != '=' &&
                           clean[value - 1] != ':' && clean[value - 1] != ' '))
        continue;
      clean.replace(value, end - value, kLeftOut);
      small = lower(clean);
      at += kLeftOut.size();
    }
  }
  return clean;
}

void Redactor::learn(std::string_view kind, std::string_view name) {
  if (!name.empty()) number(kind, name);
}

const std::string& Redactor::number(std::string_view kind, std::string_view name) {
  const auto known = words_.find(name);
  if (known != words_.end()) return known->second;
  const int count = ++counts_[std::string(kind)];
  return words_.emplace(std::string(name), fmt::format("{}-{}", kind, count)).first->second;
}

std::string Redactor::apply(std::string_view text) {
  std::string redacted;
  redacted.reserve(text.size());
  for (std::size_t begin = 0; begin < text.size();) {
    if (!is_token(text[begin])) {
      redacted += text[begin++];
      continue;
    }
    const auto stop =
        std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(), is_token);
    const auto end = static_cast<std::size_t>(stop - text.begin());
    redacted += word_for(text.substr(begin, end - begin));
    begin = end;
  }
  return redacted;
}

// Whole first ("gpu-1.rack:x" may be a name), then what colons part: "192.0.2.1:7443", "n1:4".
std::string Redactor::word_for(std::string_view token) {
  if (const auto known = words_.find(token); known != words_.end()) return known->second;
  if (is_colon_address(token)) return number("address", token);
  std::string joined;
  for (std::size_t begin = 0; begin <= token.size();) {
    const std::size_t end = std::min(token.find(':', begin), token.size());
    joined += piece_for(token.substr(begin, end - begin));
    if (end < token.size()) joined += ':';
    begin = end + 1;
  }
  return joined;
}

// A known name may have a domain behind it, or the end of a sentence.
std::string Redactor::piece_for(std::string_view piece) {
  const std::size_t last = piece.find_last_not_of(".-");
  const std::string_view core = piece.substr(0, last == std::string_view::npos ? 0 : last + 1);
  const std::string tail(piece.substr(core.size()));
  if (is_ipv4(core)) return number("address", core) + tail;
  if (const auto known = words_.find(core); known != words_.end()) return known->second + tail;
  if (const auto host = words_.find(core.substr(0, core.find('.'))); host != words_.end())
    return host->second + tail;
  return std::string(piece);
}

}  // namespace railgauge::cli

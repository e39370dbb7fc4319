#include "controller/cli/redact.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

namespace railgauge::cli {
namespace {

bool is_token(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_.-:").find(c) != std::string_view::npos;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

std::string lower(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return small;
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

void Redactor::learn(std::string_view kind, std::string_view name) {
  if (name.empty()) return;
  const std::string word = number(kind, name);
  // People leave the domain out. A name that is a number without it says nothing.
  const std::string_view host = name.substr(0, name.find('.'));
  if (kind == "node" && !host.empty() && !std::ranges::all_of(host, is_digit))
    words_.emplace(lower(host), word);
}

const std::string& Redactor::number(std::string_view kind, std::string_view name) {
  if (const std::string* known = find(name)) return *known;
  const int count = ++counts_[std::string(kind)];
  return words_.emplace(lower(name), fmt::format("{}-{}", kind, count)).first->second;
}

const std::string* Redactor::find(std::string_view name) const {
  const auto known = words_.find(lower(name));
  return known == words_.end() ? nullptr : &known->second;
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
  if (const std::string* known = find(token)) return *known;
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
  if (const std::string* known = find(core)) return *known + tail;
  if (const std::string* host = find(core.substr(0, core.find('.')))) return *host + tail;
  return std::string(piece);
}

}  // namespace railgauge::cli

#include "controller/cli/bundle/redact.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "kernels/core/text/lines.h"

namespace railgauge::cli {
namespace {

bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
// Where the parts of a token begin and end: "log_gpu001-ib0.txt".
bool is_joint(char c) { return std::string_view("_.-:").find(c) != std::string_view::npos; }
// Letters, digits and the joints of names and addresses: one run of them is one token.
bool is_token(char c) { return is_alnum(c) || is_joint(c); }
// Without the locale, as are all tests of characters here.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

// Names are compared in lower case, since people and tools write them in both.
std::string lower(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return small;
}

// Four groups of digits with a dot between them. The ranges are not checked: a version with four
// parts is replaced too, which does no harm.
bool is_ipv4(std::string_view piece) {
  return std::ranges::count(piece, '.') == 3 && piece.size() >= 7 && is_digit(piece.front()) &&
         is_digit(piece.back()) && piece.find("..") == std::string_view::npos &&
         std::ranges::all_of(piece, [](char c) { return is_digit(c) || c == '.'; });
}

// IPv6 addresses, GUIDs and MAC addresses. A PCI address has two colons, a time as well.
bool is_colon_address(std::string_view token) {
  const auto colons = std::ranges::count(token, ':');
  return (colons >= 3 || (colons >= 2 && token.find("::") != std::string_view::npos)) &&
         std::ranges::all_of(token, [](char c) { return is_hex(c) || c == ':'; });
}

// The address that begins at `begin`, without the colon that ends a sentence; "" for none. An
// address that ends in IPv4 ("::ffff:192.0.2.1") is none here: its parts are separated by colons.
std::string_view address_at(std::string_view token, std::size_t begin) {
  std::size_t end = begin;
  while (end < token.size() && (is_hex(token[end]) || token[end] == ':')) ++end;
  const bool goes_on = end < token.size() &&
                       (is_alnum(token[end]) ||
                        (token[end] == '.' && end + 1 < token.size() && is_digit(token[end + 1])));
  std::string_view run = token.substr(begin, end - begin);
  if (run.ends_with(':') && !run.ends_with("::")) run.remove_suffix(1);
  return !goes_on && is_colon_address(run) ? run : std::string_view();
}

// A letter or a number alone is part of many words.
bool says_something(std::string_view part) {
  return part.size() > 1 && !std::ranges::all_of(part, is_digit);
}
// Reports whether the name is one token. Other names ("Ada Lovelace") are searched as phrases.
bool is_word(std::string_view name) { return std::ranges::all_of(name, is_token); }

}  // namespace

// Gives the name its word and adds the other forms in which it appears: without its domain, and for
// an address without colons and with 0x.
void Redactor::learn(std::string_view kind, std::string_view name) {
  // A switch may be called "1", as every other figure is.
  if (name.empty() || (kind == "leaf" && !says_something(name))) return;
  const std::string word = number(kind, name);
  if (!is_word(name)) phrases_.emplace(lower(name), word);
  // People leave the domain out. A name that is a number without it says nothing.
  const std::string_view host = name.substr(0, name.find_first_of(".@"));
  const bool has_host = kind == "node" || kind == "person";
  if (has_host && !host.empty() && is_word(host) && !std::ranges::all_of(host, is_digit))
    words_.emplace(lower(host), word);
  // A GUID is also written as one hexadecimal number.
  if (!is_colon_address(name)) return;
  std::string digits = lower(name);
  std::erase(digits, ':');
  words_.emplace(digits, word);
  words_.emplace("0x" + digits, word);
}

// The word of a name; a new name gets the next number of its kind.
const std::string& Redactor::number(std::string_view kind, std::string_view name) {
  if (const std::string* known = find(name)) return *known;
  const int count = ++counts_[std::string(kind)];
  return words_.emplace(lower(name), fmt::format("{}-{}", kind, count)).first->second;
}

// Null for a name that was not learnt.
const std::string* Redactor::find(std::string_view name) const {
  const auto known = words_.find(lower(name));
  return known == words_.end() ? nullptr : &known->second;
}

// Phrases first, because tokens would cut them; then token by token, with the text between the
// tokens unchanged.
std::string Redactor::apply(std::string_view given) {
  const std::string text = without_phrases(given);
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
    redacted += word_for(std::string_view(text).substr(begin, end - begin));
    begin = end;
  }
  return redacted;
}

// Names that no token has: "Ada Lovelace", "ada@fabric.example".
std::string Redactor::without_phrases(std::string_view text) const {
  std::string clean(text);
  for (const auto& [phrase, word] : phrases_) {
    const std::string small = lower(clean);
    std::string out;
    std::size_t copied = 0;
    for (std::size_t at = 0; (at = small.find(phrase, at)) != std::string::npos;) {
      const std::size_t end = at + phrase.size();
      const bool whole =
          (at == 0 || !is_alnum(small[at - 1])) && (end == small.size() || !is_alnum(small[end]));
      if (whole) {
        out.append(clean, copied, at - copied).append(word);
        copied = end;
      }
      at = end;
    }
    if (copied > 0) clean = out.append(clean, copied);
  }
  return clean;
}

// Whole first ("gpu-1.rack:x" may be a name), then an address in it ("gid:fe80::1."), then what
// colons part: "192.0.2.1:7443", "n1:4".
std::string Redactor::word_for(std::string_view token) {
  if (const std::string* known = find(token)) return *known;
  for (std::size_t begin = 0; begin < token.size(); ++begin) {
    if (begin > 0 && token[begin - 1] != ':') continue;
    const std::string_view address = address_at(token, begin);
    if (address.empty()) continue;
    return parts_for(token.substr(0, begin)) + number("address", address) +
           word_for(token.substr(begin + address.size()));
  }
  return parts_for(token);
}

// Replaces each part between colons on its own.
std::string Redactor::parts_for(std::string_view token) {
  std::string joined;
  for (const std::string_view piece : pieces_of(token, ':'))
    joined += (piece.data() == token.data() ? "" : ":") + piece_for(piece);
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
  return inside_of(core) + tail;
}

// A known name between joints, the longest first: "gpu001-ib0", "log_gpu001.txt".
std::string Redactor::inside_of(std::string_view piece) const {
  std::string out;
  for (std::size_t begin = 0; begin < piece.size();) {
    std::size_t after = begin;
    // The longest known name that ends at a joint.
    for (std::size_t end = piece.size(); end > begin && after == begin; --end) {
      const bool ends = end == piece.size() || is_joint(piece[end]);
      const std::string_view part = piece.substr(begin, end - begin);
      const std::string* known = ends && says_something(part) ? find(part) : nullptr;
      if (known == nullptr) continue;
      out += *known;
      after = end;
    }
    while (after < piece.size() && (after == begin || !is_joint(piece[after - 1])))
      out += piece[after++];
    begin = after;
  }
  return out;
}

namespace {

constexpr std::string_view kLeftOut = "(left out)";
// Anywhere in a name, without its underscores and dashes.
constexpr std::array<std::string_view, 12> kWords{
    "secret",  "passw",      "passphrase", "token",     "credential",    "apikey",
    "authkey", "privatekey", "accesskey",  "sharedkey", "authorization", "encryptionkey"};
// As a whole part of a name: "pass" is also in "passed".
constexpr std::array<std::string_view, 5> kParts{"psk", "pwd", "pass", "pw", "auth"};
constexpr std::string_view kBlanks = " \t";

// Characters of a name such as API_KEY or --access-key.
bool is_name(char c) { return is_alnum(c) || c == '_' || c == '-'; }
bool is_blank(char c) { return kBlanks.find(c) != std::string_view::npos; }

// Reports whether the name says that its value is a secret, by its letters in lower case: a word of
// kWords anywhere, or a word of kParts as one part between underscores or dashes.
bool is_secret(std::string_view name) {
  std::string joined = lower(name);
  std::ranges::replace(joined, '-', '_');
  for (const std::string_view part : pieces_of(joined, '_'))
    if (std::ranges::find(kParts, part) != kParts.end()) return true;
  std::erase(joined, '_');
  return std::ranges::any_of(
      kWords, [&](std::string_view word) { return joined.find(word) != std::string::npos; });
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

// "https://user:word@host": removes the part before the @.
std::string without_users(std::string text) {
  for (std::size_t at = 0; (at = text.find("://", at)) != std::string::npos;) {
    at += 3;
    const std::size_t end = std::min(text.find_first_of("/ \t\n\"'?#<>", at), text.size());
    const std::size_t sign = text.substr(at, end - at).rfind('@');
    if (sign == std::string::npos || sign == 0) continue;
    text.replace(at, sign, kLeftOut);
    at += kLeftOut.size();
  }
  return text;
}

// Goes through a text once, from name to name.
class Cleaner {
 public:
  explicit Cleaner(std::string_view text) : text_(text) {}

  std::string clean() {
    while (at_ < text_.size()) {
      if (!is_name(text_[at_])) {
        copy_to(at_ + 1);
        continue;
      }
      const std::size_t begin = at_;
      std::size_t end = begin;
      while (end < text_.size() && is_name(text_[end])) ++end;
      copy_to(end);
      pass_value(text_.substr(begin, end - begin));
    }
    return std::move(out_);
  }

 private:
  // The character at `at`; a zero byte behind the end, which matches nothing.
  [[nodiscard]] char peek(std::size_t at) const { return at < text_.size() ? text_[at] : '\0'; }
  // Copies the text up to `end` unchanged.
  void copy_to(std::size_t end) {
    out_ += text_.substr(at_, end - at_);
    at_ = end;
  }
  [[nodiscard]] std::size_t behind_blanks(std::size_t at) const {
    while (is_blank(peek(at))) ++at;
    return at;
  }
  // The length of a quotation mark there, with the backslashes before it; 0: none.
  [[nodiscard]] std::size_t quote_at(std::size_t at) const {
    std::size_t end = at;
    while (peek(end) == '\\') ++end;
    return peek(end) == '"' || peek(end) == '\'' ? end + 1 - at : 0;
  }

  // Behind the name: leaves out what is its value, if it is a secret's.
  void pass_value(std::string_view name) {
    if (is_bearer(name)) return leave_out(behind_blanks(at_));
    if (!is_secret(name)) return;
    std::size_t sign = at_ + quote_at(at_);  // the name's own closing one
    sign = behind_blanks(sign);
    // "name=value", "name: value", "name := value", "name => value".
    if (peek(sign) == '=' || peek(sign) == ':') {
      ++sign;
      if (peek(sign) == '=' || peek(sign) == '>') ++sign;
      return leave_out(behind_blanks(sign));
    }
    const std::size_t value = behind_blanks(at_);
    // "--token value": the next word, unless it is another flag.
    const bool is_flag = name.starts_with('-') && value > at_ && peek(value) != '-';
    if (is_flag) leave_out_word(value);
  }

  // "Bearer" before something that is no word of a sentence.
  [[nodiscard]] bool is_bearer(std::string_view name) const {
    constexpr std::size_t kLong = 16;
    constexpr std::string_view kBearer = "bearer";
    if (lower(name) != kBearer) return false;
    const std::size_t begin = behind_blanks(at_);
    const std::size_t end = std::min(text_.find_first_of(" \t\n\"\\", begin), text_.size());
    const std::string_view word = text_.substr(begin, end - begin);
    return begin > at_ && (word.size() >= kLong || std::ranges::any_of(word, [](unsigned char c) {
                             return std::isdigit(c) != 0;
                           }));
  }

  // Leaves out the value that begins at `value`, quoted or not.
  void leave_out(std::size_t value) {
    if (const std::size_t quote = quote_at(value); quote > 0) return leave_out_quoted(value, quote);
    std::size_t end = value;
    while (end < text_.size() && !ends_value(end)) ++end;
    replace(value, end);
  }
  // Up to the same mark with the same backslashes before it: more of them are inside the value.
  void leave_out_quoted(std::size_t value, std::size_t quote) {
    const std::string_view mark = text_.substr(value, quote);
    const std::size_t begin = value + quote;
    std::size_t end = begin;
    while ((end = text_.find(mark, end)) != std::string_view::npos && text_[end - 1] == '\\' &&
           end > begin)
      end += quote;
    replace(begin, std::min(end, text_.size()));
  }
  // Leaves out one word, as the value of a flag on a command line.
  void leave_out_word(std::size_t value) {
    if (const std::size_t quote = quote_at(value); quote > 0) return leave_out_quoted(value, quote);
    replace(value, std::min(text_.find_first_of(" \t\n\"'\\", value), text_.size()));
  }
  // A value without quotation marks continues through blanks and commas, unless the text behind
  // looks like the next name.
  [[nodiscard]] bool ends_value(std::size_t at) const {
    const char c = text_[at];
    if (c == '\n' || c == '"' || c == '\'' || c == '\\' || c == '}') return true;
    if (c != ',' && c != ';' && c != '&' && !is_blank(c)) return false;
    std::size_t next = behind_blanks(at + 1);
    if (next >= text_.size() || peek(next) == '-' || (c == ';' && next > at + 1)) return true;
    const std::size_t name = next;
    while (is_name(peek(next))) ++next;
    return next > name && (peek(next) == '=' || peek(next) == ':');
  }
  // Writes the mark in place of the bytes from `begin` to `end`. An empty value stays empty.
  void replace(std::size_t begin, std::size_t end) {
    copy_to(begin);
    if (end > begin) out_ += kLeftOut;
    at_ = end;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

// PEM blocks and URLs first: their secrets have no name in front of them.
std::string without_secrets(std::string_view text) {
  const std::string clean = without_users(without_pem(std::string(text)));
  return Cleaner(clean).clean();
}

}  // namespace railgauge::cli

#include "controller/cli/bundle/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace railgauge::cli {
namespace {

constexpr std::string_view kLeftOut = "(left out)";
// Anywhere in a name, without its underscores and dashes.
constexpr std::array<std::string_view, 12> kWords{
    "secret",  "passw",      "passphrase", "token",     "credential",    "apikey",
    "authkey", "privatekey", "accesskey",  "sharedkey", "authorization", "encryptionkey"};
// As a whole part of a name: "pass" stands in "passed".
constexpr std::array<std::string_view, 5> kParts{"psk", "pwd", "pass", "pw", "auth"};
constexpr std::string_view kBlanks = " \t";

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}
bool is_blank(char c) { return kBlanks.find(c) != std::string_view::npos; }

bool is_secret(std::string_view name) {
  std::string joined;
  std::string part;
  bool found = false;
  const auto end_part = [&] {
    found = found || std::ranges::find(kParts, part) != kParts.end();
    part.clear();
  };
  for (const char c : name) {
    if (c == '_' || c == '-') {
      end_part();
      continue;
    }
    const char small = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    joined += small;
    part += small;
  }
  end_part();
  return found || std::ranges::any_of(kWords, [&](std::string_view word) {
           return joined.find(word) != std::string::npos;
         });
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

// "https://user:word@host": what stands before the @ goes.
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
  [[nodiscard]] char peek(std::size_t at) const { return at < text_.size() ? text_[at] : '\0'; }
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
    if (peek(sign) == '=' || peek(sign) == ':') {
      ++sign;
      if (peek(sign) == '=' || peek(sign) == '>') ++sign;
      return leave_out(behind_blanks(sign));
    }
    const std::size_t value = behind_blanks(at_);
    const bool is_flag = name.starts_with('-') && value > at_ && peek(value) != '-';
    if (is_flag) leave_out_word(value);
  }

  // "Bearer" before something that is no word of a sentence.
  [[nodiscard]] bool is_bearer(std::string_view name) const {
    constexpr std::size_t kLong = 16;
    constexpr std::string_view kBearer = "bearer";
    if (!std::ranges::equal(name, kBearer, [](unsigned char a, char b) {
          return static_cast<char>(std::tolower(a)) == b;
        }))
      return false;
    const std::size_t begin = behind_blanks(at_);
    const std::size_t end = std::min(text_.find_first_of(" \t\n\"\\", begin), text_.size());
    const std::string_view word = text_.substr(begin, end - begin);
    return begin > at_ && (word.size() >= kLong || std::ranges::any_of(word, [](unsigned char c) {
                             return std::isdigit(c) != 0;
                           }));
  }

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
  void leave_out_word(std::size_t value) {
    if (const std::size_t quote = quote_at(value); quote > 0) return leave_out_quoted(value, quote);
    replace(value, std::min(text_.find_first_of(" \t\n\"'\\", value), text_.size()));
  }
  // A value without quotation marks goes on through blanks and commas, unless what follows looks
  // like the next name.
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

std::string without_secrets(std::string_view text) {
  const std::string clean = without_users(without_pem(std::string(text)));
  return Cleaner(clean).clean();
}

}  // namespace railgauge::cli

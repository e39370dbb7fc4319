#include "controller/mirror/pq/url.h"

#include <array>

namespace railgauge::pq {
namespace {

constexpr std::array<std::string_view, 2> kSchemes{"postgres://", "postgresql://"};

// The part behind the scheme; empty for another scheme.
std::string_view behind_scheme(std::string_view url) {
  for (const std::string_view scheme : kSchemes)
    if (url.starts_with(scheme)) return url.substr(scheme.size());
  return {};
}

bool has_scheme(std::string_view url) {
  for (const std::string_view scheme : kSchemes)
    if (url.starts_with(scheme)) return true;
  return false;
}

// Without the percent signs of a URL.
std::string plain(std::string_view text) {
  const auto digit = [](char letter) {
    if (letter >= '0' && letter <= '9') return letter - '0';
    const char small = static_cast<char>(letter | 0x20);
    return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_coded =
        text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0;
    out += is_coded ? static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2])) : text[i];
    if (is_coded) i += 2;
  }
  return out;
}

bool has_password(std::string_view url) {
  const std::string_view rest = behind_scheme(url);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
  const std::size_t at = authority.rfind('@');
  if (at != std::string_view::npos && authority.substr(0, at).find(':') != std::string_view::npos)
    return true;
  const std::size_t question = rest.find('?');
  if (question == std::string_view::npos) return false;
  const std::string parameters = plain(rest.substr(question));
  return parameters.find("?password=") != std::string_view::npos ||
         parameters.find("&password=") != std::string_view::npos ||
         parameters.find("sslpassword=") != std::string_view::npos;
}

}  // namespace

Status check_url(std::string_view url) {
  if (!has_scheme(url))
    return invalid("database address: it has to begin with postgres:// or postgresql://");
  if (has_password(url))
    return invalid(
        "database address: it contains a password, which every user of this host could read; put "
        "the password in a file with mode 0600 and name it: "
        "postgres://USER@HOST/NAME?passfile=FILE");
  return {};
}

std::string shown_url(std::string_view url) { return std::string(url.substr(0, url.find('?'))); }

}  // namespace railgauge::pq

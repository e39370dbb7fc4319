#include "controller/console/answers.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "controller/api/code_word.h"
#include "controller/api/contract.h"
#include "kernels/core/text/json.h"

namespace railgauge::console {
namespace {

constexpr std::string_view kCookie = "railgauge_session_";

// Digits behind the last colon of "127.0.0.1:7480".
std::string port_digits(const std::string& host) {
  const std::size_t colon = host.rfind(':');
  if (colon == std::string::npos) return "";
  const std::string digits = host.substr(colon + 1);
  return digits.size() <= 5 &&
                 std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })
             ? digits
             : "";
}

}  // namespace

std::string header_of(const http::Request& request, const std::string& name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? "" : found->second;
}

// The nearest status of HTTP; what has none is an error of the server.
int status_of(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
    case Code::kOutOfRange:
      return 400;
    case Code::kUnauthenticated:
      return 401;
    case Code::kPermissionDenied:
      return 403;
    case Code::kNotFound:
      return 404;
    case Code::kFailedPrecondition:
    case Code::kAborted:
      return 409;
    case Code::kResourceExhausted:
      return 429;
    case Code::kUnavailable:
      return 503;
    case Code::kDeadlineExceeded:
      return 504;
    default:
      return 500;
  }
}

http::Answer error_answer(const Error& error) {
  http::Answer answer{
      .status = status_of(error.code),
      .type = "application/json",
      .body = fmt::format(R"({{"schema_version":{},"error":{{"code":"{}","message":{}}}}})",
                          kSchemaVersion, api::code_word(error.code), json_string(error.message))};
  answer.headers.emplace_back("Cache-Control", "no-store");
  if (error.code == Code::kResourceExhausted) answer.headers.emplace_back("Retry-After", "2");
  return answer;
}

http::Answer text_answer(int status, std::string_view text) {
  http::Answer answer{.status = status, .body = std::string(text)};
  answer.headers.emplace_back("Cache-Control", "no-store");
  return answer;
}

// The port is in the name: two consoles of one host share a jar.
std::string cookie_name(const http::Request& request) {
  return fmt::format("{}{}", kCookie, port_digits(header_of(request, "host")));
}

std::string cookie_of(const http::Request& request) {
  const std::string wanted = cookie_name(request) + "=";
  const std::string all = header_of(request, "cookie");
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find(';', at), all.size());
    std::string_view one = std::string_view(all).substr(at, end - at);
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (one.starts_with(wanted)) return std::string(one.substr(wanted.size()));
    at = end + 1;
  }
  return "";
}

// Without the port, and without the brackets of an IPv6 address.
std::string host_of(std::string_view host) {
  if (const std::size_t colon = host.rfind(':');
      colon != std::string_view::npos && !host.ends_with(']'))
    host = host.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return std::string(host);
}

http::Answer json_answer(std::string text) {
  http::Answer answer{.type = "application/json", .body = std::move(text)};
  answer.headers.emplace_back("Cache-Control", "no-store");
  return answer;
}

http::Answer method_answer(std::string_view allowed) {
  http::Answer answer = text_answer(405, fmt::format("this path has {} alone\n", allowed));
  answer.headers.emplace_back("Allow", std::string(allowed));
  return answer;
}

}  // namespace railgauge::console

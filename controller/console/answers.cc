#include "controller/console/answers.h"

#include <utility>

#include <fmt/format.h>

#include "controller/api/code_word.h"
#include "controller/api/contract.h"
#include "kernels/core/text/json.h"

namespace railgauge::console {
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

// No cookie: a browser sends a host's cookies to all of its ports, and each port may be another
// user's. A page's own storage is of one port.
std::string session_of(const http::Request& request) {
  return header_of(request, "x-railgauge-session");
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

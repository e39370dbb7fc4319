#include "controller/console/console.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "controller/api/code_word.h"
#include "controller/api/contract.h"
#include "controller/api/synthetic_mark.h"
#include "controller/console/open_api.h"
#include "controller/console/query.h"
#include "controller/http/local_host.h"
#include "kernels/core/text/json.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"

namespace railgauge::console {
namespace {

constexpr std::string_view kApi = "/api/v1/";
constexpr std::string_view kCookie = "railgauge_session_";
// An answer of more bytes is refused: a browser would not be happier with it.
constexpr std::size_t kMostAnswerText = 32U << 20U;

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kHeaders{{
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src "
     "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Permissions-Policy", "camera=(), geolocation=(), microphone=()"},
}};

constexpr std::string_view kHowToOpen =
    "Nobody is signed in here, or the session has ended.\n\n"
    "On the controller's host, `railgauge console` prints a URL that opens the console once.\n";
constexpr std::string_view kNoPages =
    "The console's pages are not installed with this controller: it was built without Node.js.\n"
    "Its read-only interface is there: /api/v1/openapi.json describes it.\n";

std::string header_of(const http::Request& request, const std::string& name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? "" : found->second;
}

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

// Digits behind the last colon of "127.0.0.1:7480"; a browser keeps one cookie for all ports of a
// host, and each controller has its own.
std::string port_digits(const std::string& host) {
  const std::size_t colon = host.rfind(':');
  if (colon == std::string::npos) return "";
  const std::string digits = host.substr(colon + 1);
  return digits.size() <= 5 &&
                 std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })
             ? digits
             : "";
}

std::string cookie_name(const http::Request& request) {
  return fmt::format("{}{}", kCookie, port_digits(header_of(request, "host")));
}

// The cookie's value; "" without one.
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

// The host of "127.0.0.1:7480" and "[::1]:7480", without the brackets.
std::string host_of(std::string_view host) {
  if (const std::size_t colon = host.rfind(':');
      colon != std::string_view::npos && !host.ends_with(']'))
    host = host.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return std::string(host);
}

}  // namespace

Console::Console(Options options)
    : options_(std::move(options)),
      files_(read_page_files(options_.folder)),
      reader_(options_.connect) {}

Result<api::ConsoleTicket> Console::ticket_for(Visitor visitor, const std::string& origin) {
  const double now = options_.now_unix();
  const std::string ticket = sessions_.issue(std::move(visitor), now);
  if (ticket.empty()) return fail(Code::kInternal, "console: the system has no random bytes");
  api::ConsoleTicket answer;
  answer.set_schema_version(kSchemaVersion);
  answer.set_url(fmt::format("{}/login?ticket={}", origin, ticket));
  answer.set_expires_at(rfc3339(now + Sessions::kTicketSeconds));
  return answer;
}

// A page of another site whose name leads to this host, or that sends requests here, is refused
// before anything is looked up.
Status Console::check_origin(const http::Request& request) const {
  const std::string host = header_of(request, "host");
  if (options_.is_local && !http::is_loopback(host_of(host)))
    return fail(
        Code::kPermissionDenied,
        fmt::format("host {}: this port is for the names of the local host", in_quotes(host)));
  const std::string site = header_of(request, "sec-fetch-site");
  const bool is_navigation = header_of(request, "sec-fetch-mode") == "navigate";
  if (!site.empty() && site != "same-origin" && site != "none" && !is_navigation)
    return fail(Code::kPermissionDenied, "a page of another site sent this request");
  return {};
}

Result<Console::Guest> Console::guest_of(const http::Request& request) {
  if (!request.user.empty())
    return Guest{.visitor = {.who = request.user, .role = "viewer"}, .ends_unix = std::nullopt};
  if (!request.certificate.empty())
    return Guest{.visitor = RG_TRY(options_.holder(request)), .ends_unix = std::nullopt};
  const auto session = sessions_.find(cookie_of(request), options_.now_unix());
  if (!session) return fail(Code::kUnauthenticated, "no session, or it has ended");
  if (Status holds = check_certificate(session->visitor); !holds) {
    sessions_.end(cookie_of(request));
    return tl::unexpected(holds.error());
  }
  return Guest{.visitor = session->visitor, .ends_unix = session->ends_unix};
}

Status Console::check_certificate(const Visitor& visitor) const {
  if (visitor.serial.empty()) return {};
  if (options_.is_revoked && options_.is_revoked(visitor))
    return fail(Code::kUnauthenticated,
                fmt::format("the session has ended: the certificate that opened it, serial {}, is "
                            "revoked",
                            visitor.serial));
  if (visitor.until_unix > 0 && options_.now_unix() >= visitor.until_unix)
    return fail(Code::kUnauthenticated,
                "the session has ended, as has the certificate that opened it");
  return {};
}

http::Answer Console::answer(const http::Request& request) {
  http::Answer answer = [&] {
    const bool is_api = request.path.starts_with(kApi);
    if (const Status fits = check_origin(request); !fits)
      return is_api ? error_answer(fits.error()) : text_answer(403, fits.error().message + "\n");
    if (request.path == "/login") return log_in(request);
    const Result<Guest> guest = guest_of(request);
    if (!guest)
      return is_api ? error_answer(guest.error())
                    : text_answer(status_of(guest.error().code),
                                  guest.error().code == Code::kUnauthenticated
                                      ? std::string(kHowToOpen)
                                      : guest.error().message + "\n");
    if (request.path == "/logout") return log_out(request);
    return answer_guest(request, *guest);
  }();
  for (const auto& [name, value] : kHeaders) answer.headers.emplace_back(name, value);
  return answer;
}

// The cookie is strict, so a redirect that began with a link on another site lacks it; a
// page of ours that loads the next one by itself starts a request of this site.
http::Answer Console::log_in(const http::Request& request) {
  if (request.method != "GET") return text_answer(405, "only GET\n");
  const auto ticket = request.query.find("ticket");
  const auto secret = ticket == request.query.end()
                          ? std::nullopt
                          : sessions_.redeem(ticket->second, options_.now_unix());
  if (!secret)
    return text_answer(401, fmt::format("This URL was used, or has ended.\n\n{}", kHowToOpen));
  http::Answer answer{
      .type = "text/html; charset=utf-8",
      .body =
          "<!doctype html><html lang=\"en\"><head><title>Railgauge</title><meta "
          "http-equiv=\"refresh\" content=\"0;url=/\"></head><body><p><a href=\"/\">Open the "
          "console</a></p></body></html>\n"};
  answer.headers.emplace_back("Cache-Control", "no-store");
  answer.headers.emplace_back(
      "Set-Cookie", fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={:.0f}{}",
                                cookie_name(request), *secret, Sessions::kLongestSeconds,
                                options_.has_tls ? "; Secure" : ""));
  return answer;
}

http::Answer Console::log_out(const http::Request& request) {
  if (request.method != "POST" || header_of(request, "sec-fetch-site") == "none")
    return text_answer(405, "only POST, from the console\n");
  sessions_.end(cookie_of(request));
  http::Answer answer = text_answer(200, "The session has ended.\n");
  answer.headers.emplace_back(
      "Set-Cookie",
      fmt::format("{}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0", cookie_name(request)));
  return answer;
}

http::Answer Console::answer_guest(const http::Request& request, const Guest& guest) {
  if (request.method != "GET" && request.method != "HEAD") {
    http::Answer answer = text_answer(405, "the console is read-only: GET and HEAD\n");
    answer.headers.emplace_back("Allow", "GET, HEAD");
    return answer;
  }
  return request.path.starts_with(kApi) ? answer_api(request, guest) : page(request.path);
}

// Names of built files change with their contents, so that a browser may keep them.
http::Answer Console::page(const std::string& path) const {
  if (!has_pages()) return text_answer(path == "/" ? 200 : 404, kNoPages);
  const auto found = files_.find(path == "/" ? "/index.html" : path);
  if (found == files_.end()) return text_answer(404, "there is no such page\n");
  http::Answer answer{.type = found->second.type, .body = found->second.text};
  answer.headers.emplace_back("Cache-Control", path.starts_with("/assets/")
                                                   ? "private, max-age=31536000, immutable"
                                                   : "no-store");
  return answer;
}

http::Answer Console::answer_api(const http::Request& request, const Guest& guest) {
  const std::string_view rest = std::string_view(request.path).substr(kApi.size());
  const Result<std::string> text = [&]() -> Result<std::string> {
    if (rest == "openapi.json") return open_api(routes(), options_.version);
    if (rest != "session") return read(request);
    api::ConsoleSession session;
    session.set_schema_version(kSchemaVersion);
    session.set_who(guest.visitor.who);
    session.set_role(guest.visitor.role);
    session.set_read_only(true);
    if (guest.ends_unix) session.set_ends_at(rfc3339(*guest.ends_unix));
    session.set_version(options_.version);
    return to_json(session, JsonLayout::kCompact);
  }();
  if (!text) return error_answer(text.error());
  const bool is_marked = options_.is_synthetic && options_.is_synthetic() && rest != "openapi.json";
  http::Answer answer{.type = "application/json",
                      .body = is_marked ? api::marked_synthetic(*text) : *text};
  answer.headers.emplace_back("Cache-Control", "no-store");
  return answer;
}

Result<std::string> Console::read(const http::Request& request) {
  std::string field;
  std::string value;
  const Route* route = find_route(request.path, field, value);
  if (route == nullptr)
    return fail(Code::kNotFound, fmt::format("{}: there is no such path; {}openapi.json lists them",
                                             in_quotes(request.path), kApi));
  Query query = request.query;
  if (!field.empty()) query.emplace(field, value);
  const std::unique_ptr<google::protobuf::Message> wanted(route->request().New());
  const std::unique_ptr<google::protobuf::Message> answer(route->answer().New());
  RG_TRY_OK(fill_request(query, *wanted));
  RG_TRY_OK(route->read(reader_, *wanted, *answer));
  const auto too_much = [](std::size_t bytes) {
    return fail(Code::kInvalidArgument, fmt::format("the answer has {} bytes, more than {}: ask "
                                                    "for less",
                                                    bytes, kMostAnswerText));
  };
  // The text is several times as long as the message, so most of those too long are never made.
  if (answer->ByteSizeLong() > kMostAnswerText) return too_much(answer->ByteSizeLong());
  std::string text = to_json(*answer, JsonLayout::kCompact);
  if (text.size() > kMostAnswerText) return too_much(text.size());
  return text;
}

}  // namespace railgauge::console

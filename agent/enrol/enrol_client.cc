#include "agent/enrol/enrol_client.h"

#include <cmath>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "controller/api/controller_list.h"
#include "controller/http/call.h"
#include "controller/trust/identity_uri.h"
#include "controller/trust/signing_request.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge::agent {
namespace {

constexpr double kAnswerSeconds = 40;  // the controller may wait 30 s for its authority's lock

// The kind of an error by the controller's status; anything unknown may be better later.
Code code_of(int status) {
  switch (status) {
    case 400:
    case 413:
      return Code::kInvalidArgument;
    case 401:
      return Code::kUnauthenticated;
    case 403:
      return Code::kPermissionDenied;
    case 409:
      return Code::kAlreadyExists;
    case 429:
      return Code::kResourceExhausted;
    default:
      return Code::kUnavailable;
  }
}

// Words that help against an error of the call itself.
std::string_view help_for(Code code) {
  switch (code) {
    case Code::kPermissionDenied:
      return "; the controller is to be named as its certificate does";
    case Code::kFailedPrecondition:
      return "";  // the caller knows the clock
    default:
      return "; is --enroll-listen set on the controller, and the port open?";
  }
}

// The answer's body, or an error.
Result<http::Reply> ask(const EnrolServer& server, const http::CallRequest& request) {
  auto reply = http::call(server.url(), request);
  if (!reply)
    return fail(
        reply.error().code == Code::kFailedPrecondition ? reply.error().code : Code::kUnavailable,
        fmt::format("{}{}", reply.error().message, help_for(reply.error().code)));
  if (reply->status == 200 || reply->status == 201) return reply;
  const std::string line(reply->body.substr(0, reply->body.find('\n')));
  constexpr std::size_t kMostBytes = 512;
  return fail(code_of(reply->status),
              line.empty() ? fmt::format("{}: HTTP status {}", server.url(), reply->status)
                           : printable(beginning_of(line, kMostBytes)));
}

// A header that is an integer of these bounds; absent for any other text, since anybody may have
// answered.
std::optional<std::int64_t> integer_in(const http::Reply& reply, const std::string& header,
                                       std::int64_t least, std::int64_t most) {
  const auto found = reply.headers.find(header);
  if (found == reply.headers.end()) return std::nullopt;
  const auto number = parse_integer(found->second);
  if (!number || *number < least || *number > most) return std::nullopt;
  return *number;
}

// The clock of whoever answered, unix seconds.
std::optional<double> time_in(const http::Reply& reply) {
  constexpr std::int64_t kLastSecond = 253'402'300'799;  // of the year 9999: RFC 3339 ends there
  const auto seconds = integer_in(reply, "railgauge-time", 0, kLastSecond);
  if (!seconds) return std::nullopt;
  return static_cast<double>(*seconds);
}

}  // namespace

std::string EnrolServer::url() const { return fmt::format("https://{}:{}", host, port); }

std::string EnrolServer::with_port(int of_agents) const {
  return fmt::format("{}:{}", host, of_agents);
}

Result<EnrolServer> parse_enrol_server(const std::string& text) {
  const auto wrong = [&] {
    return fail(Code::kInvalidArgument,
                fmt::format("--controller {}: HOST or HOST:PORT of the controller's enrolment port "
                            "is needed, such as ctl.example",
                            in_quotes(text)));
  };
  EnrolServer server{.host = text};
  const std::size_t bracket = text.rfind(']');
  const std::size_t colon = text.rfind(':');
  const bool has_port =
      colon != std::string::npos &&
      (bracket == std::string::npos ? text.find(':') == colon : colon == bracket + 1);
  if (has_port) {
    constexpr std::int64_t kMostPort = 65'535;
    const auto port = parse_integer(text.substr(colon + 1));
    if (!port || *port < 1 || *port > kMostPort) return wrong();
    server = {.host = text.substr(0, colon), .port = static_cast<int>(*port)};
  }
  const bool is_address = server.host.starts_with('[') && server.host.ends_with(']');
  if (server.host.empty() || !made_of(server.host, is_address ? "[]:." : ".-_")) return wrong();
  return server;
}

Result<std::vector<EnrolServer>> parse_enrol_servers(const std::string& text) {
  std::vector<EnrolServer> servers;
  for (const std::string& part : api::controllers_of(text))
    servers.push_back(RG_TRY(parse_enrol_server(part)));
  if (servers.empty()) return tl::unexpected(parse_enrol_server(text).error());
  return servers;
}

// The fingerprint proves the body alone: headers come over a connection that nothing vouches for.
Result<Authority> ask_authority(const EnrolServer& server, const trust::EnrolmentToken& token) {
  const http::Reply reply = RG_TRY(ask(server, {.path = "/v1/authority", .checks_server = false}));
  const auto fingerprint = trust::fingerprint_of(reply.body);
  if (!fingerprint)
    return fail(Code::kUnavailable,
                fmt::format("{}: its answer is no certificate; is this the enrolment port of a "
                            "controller?",
                            server.url()));
  if (*fingerprint != token.fingerprint)
    return fail(Code::kPermissionDenied,
                fmt::format("{}: its authority has the fingerprint {}, the token expects {}; the "
                            "token is of another controller, or somebody answers in its place",
                            server.url(), *fingerprint, token.fingerprint));
  return Authority{.certificate = reply.body, .claimed_time = time_in(reply)};
}

// A clock that is so wrong that TLS fails has no proved time to be compared with. Both times are
// shown then, and whoever invents one gets nothing but this error.
Result<int> ask_agent_port(const EnrolServer& server, const std::string& ca_file, double now_unix,
                           std::optional<double> claimed_time) {
  const auto reply = ask(server, {.path = "/v1/authority", .ca_file = ca_file});
  if (!reply && reply.error().code == Code::kFailedPrecondition)
    return fail(
        reply.error().code,
        fmt::format(
            "{}, {}{}; set the clock, as by chronyc makestep, or renew the "
            "controller's certificate",
            reply.error().message, rfc3339(now_unix),
            claimed_time ? fmt::format(", while {} answers there", rfc3339(*claimed_time)) : ""));
  if (!reply) return tl::unexpected(reply.error());
  const auto its_time = time_in(*reply);
  if (its_time && std::abs(*its_time - now_unix) > kMostSkewSeconds)
    return fail(
        Code::kFailedPrecondition,
        fmt::format("this node's clock is {:.0f} s {} the controller's; set it, as by "
                    "chronyc makestep",
                    std::abs(*its_time - now_unix), *its_time > now_unix ? "behind" : "ahead of"));
  constexpr std::int64_t kMostPort = 65'535;
  const auto port = integer_in(*reply, "railgauge-port", 1, kMostPort);
  if (!port)
    return fail(Code::kUnavailable,
                fmt::format("{}: its answer names no port for agents", server.url()));
  return static_cast<int>(*port);
}

// The token goes over a connection that the authority vouches for, and to nobody else.
Result<std::string> ask_certificate(const EnrolServer& server, const std::string& ca_file,
                                    const trust::EnrolmentToken& token,
                                    const std::string& request) {
  return RG_TRY(ask(server, {.method = "POST",
                             .path = "/v1/enrol",
                             .headers = {{"Authorization", "Bearer " + trust::text_of(token)}},
                             .body = request,
                             .content_type = "application/x-pem-file",
                             .ca_file = ca_file,
                             .seconds = kAnswerSeconds}))
      .body;
}

// There is no body: the certificate and TLS say all.
Result<std::string> ask_renewal(const EnrolServer& server, const trust::PemFiles& files) {
  return RG_TRY(ask(server, {.method = "POST",
                             .path = "/v1/renew",
                             .ca_file = files.authority,
                             .certificate_file = files.certificate,
                             .key_file = files.key,
                             .seconds = kAnswerSeconds}))
      .body;
}

Result<std::string> ask_renewal(const std::vector<EnrolServer>& servers,
                                const trust::PemFiles& files) {
  Result<std::string> answer = fail(Code::kUnavailable, "no controller is named");
  for (const EnrolServer& server : servers) {
    answer = ask_renewal(server, files);
    if (answer || answer.error().code != Code::kUnavailable) break;
  }
  return answer;
}

std::string node_of(const trust::Certificate& certificate) {
  const auto identity = trust::identity_in(certificate.uris);
  return identity && *identity && (*identity)->role == "agent" ? (*identity)->name : "";
}

}  // namespace railgauge::agent

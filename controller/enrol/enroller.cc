#include "controller/enrol/enroller.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/enrol/token_rules.h"
#include "controller/trust/authority/authority.h"
#include "controller/trust/authority/issue.h"
#include "controller/trust/enrolment_token.h"
#include "controller/trust/identity_uri.h"

namespace railgauge::enrol {
namespace {

// RFC 6750, but for the answer to a missing token: no client of ours can be asked for one.
constexpr std::string_view kBearer = "Bearer ";
constexpr const char* kPemType = "application/x-pem-file";

// HTTP's word for an error. Errors of the store and of the folder are the controller's own.
int status_of(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
      return 400;
    case Code::kUnauthenticated:
      return 401;
    case Code::kPermissionDenied:
    case Code::kFailedPrecondition:
      return 403;
    case Code::kAlreadyExists:
      return 409;
    case Code::kResourceExhausted:
      return 429;
    default:
      return 503;
  }
}

// One line, which the node prints.
http::Answer refusal(int status, const std::string& text) {
  return {.status = status, .body = text + "\n"};
}

// "ipv4:192.0.2.1:7" to "ipv4:192.0.2.1"; of IPv6 the first 64 bits, since who has one address of a
// network has all.
std::string source_of_address(const std::string& address) {
  const std::string host = address.substr(0, address.rfind(':'));
  constexpr std::string_view kBegin = "ipv6:%5B";
  constexpr std::string_view kEnd = "%5D";
  if (!host.starts_with(kBegin) || !host.ends_with(kEnd)) return host;
  const std::string text = host.substr(kBegin.size(), host.size() - kBegin.size() - kEnd.size());
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  if (::inet_pton(AF_INET6, text.substr(0, text.find('%')).c_str(), bytes.data()) != 1) return host;
  std::string network = "ipv6/64:";
  for (std::size_t i = 0; i < bytes.size() / 2; ++i) network += fmt::format("{:02x}", bytes[i]);
  return network;
}

// The token of the header. Its text is in no message.
Result<trust::EnrolmentToken> token_in(const http::Request& request) {
  const auto header = request.headers.find("authorization");
  if (header == request.headers.end() || !header->second.starts_with(kBearer))
    return fail(Code::kUnauthenticated,
                "no token; the header Authorization: Bearer TOKEN is needed");
  auto token = trust::parse_enrolment_token(header->second.substr(kBearer.size()));
  if (token) return token;
  return fail(Code::kUnauthenticated, token.error().message);
}

}  // namespace

// Paths and methods are compared whole: nothing else is served here, /healthz of the server apart.
http::Answer Enroller::answer(const http::Request& request) {
  struct Path {
    std::string_view path;
    std::string_view method;
  };
  constexpr std::array kPaths{Path{"/v1/authority", "GET"}, Path{"/v1/enrol", "POST"},
                              Path{"/v1/renew", "POST"}};
  const auto path = std::ranges::find(kPaths, request.path, &Path::path);
  if (path == kPaths.end()) return refusal(404, "only /v1/authority, /v1/enrol and /v1/renew");
  if (path->method != request.method) {
    http::Answer wrong = refusal(405, fmt::format("only {}", path->method));
    wrong.headers.emplace_back("Allow", std::string(path->method));
    return wrong;
  }
  if (path->path == "/v1/authority")
    return with_headers({.status = 200, .type = kPemType, .body = options_.authority});
  return with_headers(path->path == "/v1/enrol" ? enrol(request) : renew(request));
}

// The clock shows a node why certificates look wrong to it; the port is for its settings.
http::Answer Enroller::with_headers(http::Answer answer) const {
  answer.headers.emplace_back(kPortHeader, std::to_string(options_.agent_port));
  answer.headers.emplace_back(kTimeHeader, fmt::format("{:.0f}", options_.now_unix()));
  answer.headers.emplace_back("Cache-Control", "no-store");
  return answer;
}

// A source whose tokens were not taken waits; one that has a good token is not slowed by it, unless
// it shares its address with a guesser.
http::Answer Enroller::enrol(const http::Request& request) {
  Ask ask{.act = {.caller = {.who = "unknown", .role = "no role", .address = request.address},
                  .rpc = "Enrolment.Enrol",
                  .subject = ""},
          .source = source_of_address(request.address)};
  const std::lock_guard lock(mutex_);
  const double now = options_.now_unix();
  if (!refusals_.may(ask.source, now)) {
    http::Answer wait =
        refusal(429, "too many tokens from this address were refused; wait a minute");
    wait.headers.emplace_back("Retry-After", "60");
    return wait;
  }
  const auto made = enrol_node(request, ask);
  constexpr int kFirstOfOurs = 429;  // from here on it is no guess of the peer
  if (!made && status_of(made.error().code) < kFirstOfOurs) refusals_.take(ask.source, now);
  return finish(made, ask);
}

// Without the allowance of refusals: TLS has checked the certificate before.
http::Answer Enroller::renew(const http::Request& request) {
  Ask ask{.act = {.caller = {.who = "unknown", .role = "no role", .address = request.address},
                  .rpc = "Enrolment.Renew",
                  .subject = ""},
          .source = source_of_address(request.address)};
  const std::lock_guard lock(mutex_);
  return finish(renew_node(request, ask), ask);
}

// Refusals of strangers are rows as long as there are few; the log and the events follow the rows.
http::Answer Enroller::finish(const Result<std::string>& made, const Ask& ask) {
  if (made) return {.status = 201, .type = kPemType, .body = *made};
  const Error& error = made.error();
  if (ask.has_row || log_.refused_stranger(ask.act, error)) {
    spdlog::warn("{} of {} refused: {}", ask.act.rpc, ask.act.caller.address, error.message);
    options_.note("enrolment_refused",
                  fmt::format("{} ({}): {}", ask.act.rpc, ask.act.caller.address, error.message));
  }
  return refusal(status_of(error.code), error.message);
}

// The secret first: a request is read, and its signature checked, for holders of a token alone.
Result<std::string> Enroller::enrol_node(const http::Request& request, Ask& ask) {
  const trust::EnrolmentToken given = RG_TRY(token_in(request));
  const auto token = RG_TRY(store_.read(store::read_token, given.id));
  RG_TRY_OK(check_secret(token, given.secret));
  // Who asks is known by the token alone. The name is a claim until the token's rules allow it.
  ask.act.caller.who = fmt::format("token {}", given.id);
  ask.act.subject = ask.act.caller.who;
  const trust::SigningRequest asked = RG_TRY(trust::read_request(request.body));
  ask.act.subject = fmt::format("claimed node {}, token {}", asked.name, given.id);
  return use_token(*token, asked, ask, options_.now_unix());
}

// All that may refuse comes before the use is counted, the audit row before the certificate, and
// the use before the certificate: a crash in between costs a use, which the same key may repeat.
Result<std::string> Enroller::use_token(const store::TokenRow& token,
                                        const trust::SigningRequest& asked, Ask& ask, double now) {
  const store::TokenUse use{.token_id = token.token_id,
                            .name = asked.name,
                            .key_sha256 = asked.key_sha256,
                            .address = ask.source,
                            .at = now};
  // The key is in the row, so that another node with the same token and name is another use.
  const auto first_use = RG_TRY(store_.read(store::read_token_use, use));
  RG_TRY_OK(check_use(token, asked.name, first_use, now));
  // A node repeats a call whose answer was lost. Each makes a certificate.
  if (first_use && !renewals_.may(asked.name, now))
    return fail(Code::kResourceExhausted,
                fmt::format("node {}: too many calls with this token within an hour", asked.name));
  if (first_use) renewals_.take(asked.name, now);
  const trust::EnrolOrder order{.name = asked.name,
                                .public_key = asked.public_key,
                                .hosts = hosts_of(asked.name),
                                .days = options_.days,
                                .replaces = token.replaces,
                                .repeats_since = first_use};
  // A node that has a certificate of another authority is in no index, but attached.
  RG_TRY_OK(trust::check_enrol(options_.folder, order, now));
  if (!token.replaces && !first_use && options_.is_attached(asked.name))
    return fail(
        Code::kAlreadyExists,
        fmt::format("node {}: it is attached with another certificate; a token of railgauge "
                    "tokens create --nodes {} --replace replaces it",
                    asked.name, asked.name));
  ask.act.subject = fmt::format("node {}, token {}", asked.name, token.token_id);
  const auto row = RG_TRY(log_.begin(ask.act));
  ask.has_row = true;
  // The node may ask for this key: from here on a fault is the authority's own, such as a folder
  // that it may not write, and the node repeats the call as it is.
  const auto make = [&]() -> Result<trust::Enrolled> {
    RG_TRY_OK(store_.write(store::write_token_use, use));
    auto enrolled = trust::enrol(options_.folder, order, now);
    if (!enrolled && enrolled.error().code == Code::kPermissionDenied)
      return fail(Code::kUnavailable, enrolled.error().message);
    return enrolled;
  };
  const auto made = make();
  log_.end(row, ask.act, made ? Status() : tl::unexpected(made.error()));
  if (!made) return tl::unexpected(made.error());
  options_.note("node_enrolled",
                fmt::format("node {} got a certificate, serial {}, by token {}{}", asked.name,
                            made->serial, token.token_id,
                            made->revoked.empty() ? ""
                                                  : fmt::format("; {} earlier ones are revoked",
                                                                made->revoked.size())));
  spdlog::info("node {}: enrolled by token {}, serial {}", asked.name, token.token_id,
               made->serial);
  return made->certificate;
}

// The revocation list may be newer than the index, as with a list from elsewhere: both count.
Result<std::string> Enroller::renew_node(const http::Request& request, Ask& ask) {
  // TLS took only certificates of the authority that are not over; roles and revocation are ours.
  if (request.certificate.empty())
    return fail(Code::kUnauthenticated,
                "a renewal needs the node's certificate; a token enrols a node without one");
  const trust::Certificate held = RG_TRY(trust::parse_certificate(request.certificate));
  const auto identity = RG_TRY(trust::identity_in(held.uris));
  const std::string name = identity ? identity->name : held.subject;
  ask.act.caller.who = name;
  ask.act.subject = fmt::format("node {}, serial {}", name, held.id.serial);
  // A certificate of the same key may be revoked in the list alone.
  for (const std::string& serial : RG_TRY(trust::serials_of_key(options_.folder, held.id.serial)))
    if (options_.is_revoked({.issuer = held.id.issuer, .serial = serial}))
      return fail(
          Code::kPermissionDenied,
          fmt::format("node {}: certificate, serial {}: it is revoked; a new token enrols the "
                      "node again",
                      name, serial));
  const double now = options_.now_unix();
  if (!renewals_.may(name, now))
    return fail(Code::kResourceExhausted,
                fmt::format("node {}: too many renewals within an hour", name));
  renewals_.take(name, now);
  const auto row = RG_TRY(log_.begin(ask.act));
  ask.has_row = true;
  const auto make = [&]() -> Result<trust::Enrolled> {
    auto made =
        RG_TRY(trust::renew_enrolled(options_.folder, request.certificate, options_.days, now));
    const std::string key = RG_TRY(trust::key_of_certificate(made.certificate));
    RG_TRY_OK(store_.write(store::write_renewal,
                           store::TokenUse{.name = name,
                                           .key_sha256 = RG_TRY(trust::key_digest_of(key)),
                                           .address = ask.source,
                                           .at = now}));
    return made;
  };
  const auto made = make();
  log_.end(row, ask.act, made ? Status() : tl::unexpected(made.error()));
  if (!made) return tl::unexpected(made.error());
  options_.note("certificate_renewed",
                fmt::format("node {} renewed its certificate, serial {}", name, made->serial));
  return made->certificate;
}

// A name that is no host name is in the URI alone, and so is one of the controller, in any case of
// letters.
std::vector<std::string> Enroller::hosts_of(const std::string& name) const {
  const auto host = trust::alternative_name("DNS:" + name);
  const auto is_ours = [&](const std::string& own) {
    return std::ranges::equal(own, *host, [](unsigned char one, unsigned char other) {
      return std::tolower(one) == std::tolower(other);
    });
  };
  if (!host || std::ranges::any_of(options_.own_hosts, is_ours)) return {};
  return {*host};
}

}  // namespace railgauge::enrol

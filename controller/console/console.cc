#include "controller/console/console.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/api/archive_mark.h"
#include "controller/api/contract.h"
#include "controller/api/synthetic_mark.h"
#include "controller/console/answers.h"
#include "controller/console/open_api.h"
#include "controller/console/query.h"
#include "controller/http/local_host.h"
#include "kernels/core/text/json.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"

namespace railgauge::console {
namespace {

constexpr std::string_view kApi = "/api/v1/";
constexpr std::string_view kAssetsBegin = "assets-";
constexpr std::string_view kInterface = "/api/v1/openapi.json";
constexpr std::string_view kLive = "/api/v1/live/runs";
constexpr std::string_view kJsonType = "application/json";
constexpr int kFirstError = 400;  // of HTTP
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

constexpr std::string_view kTlsAlone = "max-age=15552000";  // 180 days

constexpr std::string_view kHowToOpen =
    "On the controller's host, `railgauge console` prints a URL that opens the console once.\n";
// The page keeps the session's secret where pages of this port alone can read it. Whoever held the
// port before may have left files, workers and texts in the browser: all go, but for the texts that
// the visitor's own views are, which are links to pages of this port at worst.
constexpr std::string_view kEnter =
    "const given = document.querySelector('meta[name=\"railgauge-session\"]').content;\n"
    "const kept = ['railgauge-views', 'theme'].map((name) => [name, localStorage.getItem(name)]);\n"
    "try {\n"
    "  const answer = await fetch('/forget', {method: 'POST', headers: {'X-Railgauge-Session': "
    "given}});\n"
    "  for (const [name, text] of kept) if (text !== null) localStorage.setItem(name, text);\n"
    "  if (answer.ok) localStorage.setItem('railgauge-session', given);\n"
    "  location.replace('/');\n"
    "} catch {\n"
    "  document.body.textContent = 'The controller did not answer. Run `railgauge console` again "
    "for a new URL.';\n"
    "}\n";
constexpr std::string_view kNoPages =
    "The console's pages are not installed with this controller: it was built without Node.js.\n"
    "Its interface is there: /api/v1/openapi.json describes it.\n";

// The built pages, and the script that begins a session.
PageFiles pages_in(const std::string& folder, const std::string& assets) {
  if (assets == kAssetsBegin) return {};  // the system gave no random bits for the name
  PageFiles files = read_page_files(folder);
  files["/assets/enter.js"] = {.type = "text/javascript; charset=utf-8",
                               .text = std::string(kEnter)};
  return with_assets_in(std::move(files), assets);
}

// As long for every wrong text of the right length, so that nobody guesses it byte by byte.
bool is_same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    different |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return different == 0;
}

Status check_token(std::string_view given, std::string_view wanted) {
  if (wanted.empty())
    return fail(Code::kPermissionDenied,
                "this password may only read; a session of `railgauge console`, a certificate of "
                "an operator or a user of --console-operators may act");
  if (!is_same_secret(given, wanted))
    return fail(Code::kPermissionDenied,
                "x-railgauge-token: it is missing, or of another session; /api/v1/actions has it");
  return {};
}

bool is_json(std::string_view content_type) {
  return content_type == kJsonType || content_type.starts_with(std::string(kJsonType) + ";");
}

// The answer as text.
Result<std::string> text_of(const google::protobuf::Message& answer) {
  const auto too_much = [](std::size_t bytes) {
    return fail(Code::kInvalidArgument, fmt::format("the answer has {} bytes, more than {}: ask "
                                                    "for less",
                                                    bytes, kMostAnswerText));
  };
  // The text is several times as long as the message, so most of those too long are never made.
  if (answer.ByteSizeLong() > kMostAnswerText) return too_much(answer.ByteSizeLong());
  std::string text = to_json(answer, JsonLayout::kCompact);
  if (text.size() > kMostAnswerText) return too_much(text.size());
  return text;
}

}  // namespace

Console::Console(Options options)
    : options_(std::move(options)),
      assets_(fmt::format("{}{}", kAssetsBegin, new_secret())),
      files_(pages_in(options_.folder, assets_)),
      reader_(options_.connect, options_.writes),
      doer_(options_.connect),
      feed_(options_.connect, reader_, options_.watcher,
            [this](std::string text) { return marked(std::move(text)); }) {}

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
    return fail(Code::kPermissionDenied,
                fmt::format("a page of another site sent this request, origin {}",
                            in_quotes(header_of(request, "origin"))));
  return {};
}

Result<Console::Guest> Console::guest_of(const http::Request& request) {
  if (!request.user.empty()) return guest_by_password(request.user);
  if (!request.certificate.empty()) return guest_by_certificate(request);
  // A page that nobody touches reads all the same, and must not live by that.
  const bool is_used = header_of(request, "x-railgauge-unattended").empty();
  const auto session = sessions_.find(session_of(request), options_.now_unix(), is_used);
  if (!session)
    return fail(Code::kUnauthenticated,
                "no session, or it has ended; `railgauge console` prints a URL that begins one");
  if (Status holds = check_certificate(session->visitor); !holds) {
    sessions_.end(session_of(request));
    return tl::unexpected(holds.error());
  }
  RG_TRY_OK(check_member(session->visitor));
  return Guest{.visitor = session->visitor,
               .ends_unix = session->ends_unix,
               .token = session->token,
               .person = person_of(session->visitor)};
}

Console::Guest Console::guest_by_password(const std::string& user) {
  const bool may_act = options_.may_act && options_.may_act(user);
  Guest guest{.visitor = {.who = user, .role = may_act ? "operator" : "viewer"},
              .ends_unix = std::nullopt,
              .person = "password " + user};
  if (may_act) guest.token = sessions_.token_of(guest.visitor, options_.now_unix());
  return guest;
}

Result<Console::Guest> Console::guest_by_certificate(const http::Request& request) {
  Guest guest{.visitor = RG_TRY(options_.holder(request)), .ends_unix = std::nullopt};
  guest.person = person_of(guest.visitor);
  guest.token = sessions_.token_of(guest.visitor, options_.now_unix());
  return guest;
}

// For a page that follows something: asking prolongs no session.
bool Console::is_still_here(const http::Request& request, const Visitor& visitor) {
  if (!request.user.empty()) return !request.is_known || request.is_known();
  if (!request.certificate.empty()) return static_cast<bool>(options_.holder(request));
  return sessions_.holds(session_of(request), options_.now_unix()) && check_certificate(visitor) &&
         check_member(visitor);
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

// The session stays: a user who is let in again needs no other.
Status Console::check_member(const Visitor& visitor) const {
  return visitor.is_user && options_.check_user ? options_.check_user(visitor.who) : Status();
}

http::Answer Console::answer(const http::Request& request) {
  const Asked asked = request.method == "POST" ? find_action(request.path) : Asked();
  http::Answer answer = asked.action != nullptr ? act(request, asked) : answer_visitor(request);
  if (answer.status >= kFirstError && answer.type == kJsonType)
    answer.body = marked(std::move(answer.body));
  for (const auto& [name, value] : kHeaders) answer.headers.emplace_back(name, value);
  // A tunnel's "localhost" is a name of many hosts, so that a port of this host alone has none.
  if (options_.has_tls && !options_.is_local)
    answer.headers.emplace_back("Strict-Transport-Security", kTlsAlone);
  return answer;
}

http::Answer Console::answer_visitor(const http::Request& request) {
  const bool is_api = request.path.starts_with(kApi);
  if (const Status fits = check_origin(request); !fits)
    return is_api ? error_answer(fits.error()) : text_answer(403, fits.error().message + "\n");
  if (request.path == "/login") return log_in(request);
  if (request.path == "/logout") return log_out(request);
  if (request.path == "/forget") return forget(request);
  if (!is_api) return page(request);
  if (request.path == kInterface) return describe_interface(request);
  const Result<Guest> guest = guest_of(request);
  return guest ? answer_guest(request, *guest) : error_answer(guest.error());
}

// Describes what there is, without data, so that it needs no session.
http::Answer Console::describe_interface(const http::Request& request) const {
  if (request.method != "GET" && request.method != "HEAD") return method_answer("GET, HEAD");
  return json_answer(open_api(routes(), actions(), options_.version));
}

// The secret is in a page that nothing keeps, and in no URL. A link of another page signs nobody
// in: its ticket would be of somebody else, who would read in the trail what this visitor does.
http::Answer Console::log_in(const http::Request& request) {
  if (request.method != "GET") return text_answer(405, "only GET\n");
  if (const std::string site = header_of(request, "sec-fetch-site");
      !site.empty() && site != "none" && site != "same-origin")
    return text_answer(403,
                       "A page of another site led here. Copy the URL into the address bar, if it "
                       "is your own.\n");
  const auto ticket = request.query.find("ticket");
  const auto secret = ticket == request.query.end()
                          ? std::nullopt
                          : sessions_.redeem(ticket->second, options_.now_unix());
  if (!secret)
    return text_answer(401, fmt::format("This URL was used, or has ended.\n\n{}", kHowToOpen));
  if (const auto session = sessions_.find(*secret, options_.now_unix()); session && options_.begun)
    options_.begun(session->visitor, request.address);
  http::Answer answer{
      .type = "text/html; charset=utf-8",
      .body = fmt::format(
          "<!doctype html><html lang=\"en\"><head><title>Railgauge</title><meta "
          "name=\"railgauge-session\" content=\"{}\"><script type=\"module\" "
          "src=\"/{}/enter.js\"></script>"
          "</head><body><noscript>The console needs JavaScript.</noscript></body></html>\n",
          *secret, assets_)};
  answer.headers.emplace_back("Cache-Control", "no-store");
  answer.headers.emplace_back("Clear-Site-Data", R"("cache")");
  return answer;
}

// For the script that begins a session. No page of another site has the session's secret.
http::Answer Console::forget(const http::Request& request) {
  if (request.method != "POST") return method_answer("POST");
  if (!sessions_.holds(session_of(request), options_.now_unix()))
    return error_answer({Code::kUnauthenticated, "no session, or it has ended"});
  http::Answer answer = text_answer(200, "forgotten\n");
  answer.headers.emplace_back("Clear-Site-Data", R"("cache", "storage")");
  return answer;
}

// Whoever may no longer read may still end the session.
http::Answer Console::log_out(const http::Request& request) {
  if (request.method != "POST" || header_of(request, "sec-fetch-site") == "none")
    return text_answer(405, "only POST, from the console\n");
  const std::string session = session_of(request);
  if (!sessions_.holds(session, options_.now_unix()))
    return error_answer({Code::kUnauthenticated, "no session, or it has ended"});
  sessions_.end(session);
  return text_answer(200, "The session has ended.\n");
}

http::Answer Console::answer_guest(const http::Request& request, const Guest& guest) {
  if (request.method != "GET" && request.method != "HEAD") return method_answer("GET, HEAD");
  const bool is_live = request.path == kLive || request.path.starts_with(std::string(kLive) + "/");
  if (is_live) return request.method == "GET" ? follow(request, guest) : method_answer("GET");
  std::string field;
  std::string value;
  const bool is_read = find_route(request.path, field, value) != nullptr;
  if (!is_read && find_action(request.path).action != nullptr) return method_answer("POST");
  return answer_api(request, guest);
}

// The pages are the same for everybody and hold no data, so that they need no session. Names of
// built files change with their contents, so that a browser may keep them.
http::Answer Console::page(const http::Request& request) const {
  const std::string& path = request.path;
  if (request.method != "GET" && request.method != "HEAD") return method_answer("GET, HEAD");
  const auto found = files_.find(path == "/" ? "/index.html" : path);
  if (found == files_.end())
    return has_pages() ? text_answer(404, "there is no such page\n")
                       : text_answer(path == "/" ? 200 : 404, kNoPages);
  http::Answer answer{.type = found->second.type, .body = found->second.text};
  answer.headers.emplace_back("Cache-Control", path.starts_with("/" + assets_ + "/")
                                                   ? "private, max-age=31536000, immutable"
                                                   : "no-store");
  return answer;
}

http::Answer Console::answer_api(const http::Request& request, const Guest& guest) {
  const std::string_view rest = std::string_view(request.path).substr(kApi.size());
  const Result<std::string> text = [&]() -> Result<std::string> {
    if (rest == "actions") return list_actions(guest);
    if (rest != "session") return read(request, guest);
    api::ConsoleSession session;
    session.set_schema_version(kSchemaVersion);
    session.set_who(guest.visitor.who);
    session.set_role(guest.visitor.role);
    session.set_read_only(guest.token.empty() ||
                          std::ranges::none_of(actions(), [&](const Action& action) {
                            return options_.may(guest.visitor, action);
                          }));
    if (guest.ends_unix) session.set_ends_at(rfc3339(*guest.ends_unix));
    session.set_version(options_.version);
    session.set_now(rfc3339(options_.now_unix()));
    if (const auto lag = options_.archive_lag ? options_.archive_lag() : std::nullopt)
      session.set_archive_lag_seconds(*lag);
    return to_json(session, JsonLayout::kCompact);
  }();
  if (!text) return error_answer(text.error());
  return json_answer(marked(*text));
}

std::string Console::marked(std::string text) const {
  const std::string_view kind = options_.data_kind ? options_.data_kind() : "";
  return kind.empty() ? text : api::marked(std::move(text), kind);
}

Result<std::string> Console::read(const http::Request& request, const Guest& guest) {
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
  Asking asking{.is_gone = request.is_gone};
  if (route->is_as_visitor) asking.caller = options_.introduce(guest.visitor, request.address);
  const Status done = route->read(reader_, asking, *wanted, *answer);
  // A call that did not begin is refused from now on, and its name is forgotten.
  if (route->is_as_visitor) options_.has_begun(asking.caller);
  if (!done) return tl::unexpected(done.error());
  return text_of(*answer);
}

std::string Console::list_actions(const Guest& guest) const {
  std::vector<std::string> all;
  for (const Action& action : actions())
    all.push_back(fmt::format(R"({{"path":"{}","call":"{}","summary":{},"allowed":{}}})",
                              action.path, name_of(action), json_string(action.summary),
                              !guest.token.empty() && options_.may(guest.visitor, action)));
  return fmt::format(R"({{"schema_version":{},"token":{},"actions":[{}]}})", kSchemaVersion,
                     json_string(guest.token), fmt::join(all, ","));
}

// The stream ends with what let the guest in, and after kFollowSeconds in any case.
http::Answer Console::follow(const http::Request& request, const Guest& guest) {
  const std::string run_id =
      request.path.size() > kLive.size() ? request.path.substr(kLive.size() + 1) : "";
  auto followed = feed_.follow(guest.person, run_id);
  if (!followed) return error_answer(followed.error());
  http::Answer answer{.type = "text/event-stream"};
  answer.headers.emplace_back("Cache-Control", "no-store");
  const double end = options_.now_unix() + kFollowSeconds;
  const std::shared_ptr<RunFeed::Follower> follower = std::move(*followed);
  answer.parts = [=, this, visitor = guest.visitor]() -> std::optional<std::string> {
    if (options_.now_unix() >= end || !is_still_here(request, visitor)) return std::nullopt;
    return follower->next();
  };
  return answer;
}

// A page of another site may not send this origin, nor JSON, and has no token.
Status Console::check_page(const http::Request& request) const {
  const std::string origin = header_of(request, "origin");
  const std::string site = header_of(request, "sec-fetch-site");
  const std::string own =
      fmt::format("{}://{}", options_.has_tls ? "https" : "http", header_of(request, "host"));
  if (origin != own || (!site.empty() && site != "same-origin"))
    return fail(Code::kPermissionDenied,
                fmt::format("origin {}: only the console's own pages may act", in_quotes(origin)));
  return {};
}

http::Answer Console::act(const http::Request& request, const Asked& asked) {
  const Result<Guest> guest = guest_of(request);
  const auto refuse = [&](const Error& error, int status = 0, bool is_foreign = false) {
    options_.refused(guest && !is_foreign ? &guest->visitor : nullptr, request.address,
                     *asked.action, request.path, error);
    http::Answer answer = error_answer(error);
    if (status != 0) answer.status = status;
    return answer;
  };
  // A browser adds a certificate to whatever any page sends: that is no act of its holder.
  for (const Status& fits : {check_origin(request), check_page(request)})
    if (!fits) return refuse(fits.error(), 0, true);
  if (!guest) return refuse(guest.error());
  if (const Status sent = check_token(header_of(request, "x-railgauge-token"), guest->token); !sent)
    return refuse(sent.error());
  constexpr int kUnsupportedType = 415;
  if (!is_json(header_of(request, "content-type")))
    return refuse({Code::kInvalidArgument, "content-type: application/json is needed"},
                  kUnsupportedType);
  const std::unique_ptr<google::protobuf::Message> wanted(asked.action->request().New());
  const std::unique_ptr<google::protobuf::Message> done(asked.action->answer().New());
  if (const Status filled = fill_from_json(request.body, asked.field, asked.value, *wanted);
      !filled)
    return refuse(filled.error());
  const std::string caller = options_.introduce(guest->visitor, request.address);
  const Result<bool> carried = carry_out(doer_, *asked.action, caller, *wanted, *done);
  // The services keep what they have seen.
  if (!carried)
    return options_.has_begun(caller) ? error_answer(carried.error()) : refuse(carried.error());
  Result<std::string> text = text_of(*done);
  http::Answer answer = text ? json_answer(marked(std::move(*text))) : error_answer(text.error());
  // The change is made all the same: that is no error.
  if (!*carried) answer.headers.emplace_back(api::kArchiveHeader, api::kArchiveBehind);
  return answer;
}

}  // namespace railgauge::console

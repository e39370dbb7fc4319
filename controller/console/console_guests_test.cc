// The console alone, with a clock, guests and services of the test: who is let in, for how long,
// and what is kept of refused actions.
#include "controller/console/console.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "controller/testing/console_bench.h"

namespace railgauge::console {
namespace {

using testing::HasSubstr;

class ConsoleGuests : public testing_agent::ConsoleServer {
 protected:
  struct Refused {
    std::string who{};  // "nobody" for none
    Error reason{};
  };
  // Its services are those at `target`.
  Console& open_console(const std::string& target = "unix:/nowhere/controller.sock") {
    return console_.emplace(Console::Options{
        .connect =
            [target] { return grpc::CreateChannel(target, grpc::InsecureChannelCredentials()); },
        .data_kind = [this] { return std::string_view(kind_); },
        .now_unix = [this] { return now_; },
        .holder = [](const http::Request&) -> Result<Visitor> {
          return Visitor{.who = "cora", .role = "operator", .issuer = "ca", .serial = "1"};
        },
        .check_user = [this](const std::string& user) -> Status {
          if (user != gone_) return {};
          return fail(Code::kPermissionDenied, user + ": in no group that may");
        },
        .introduce = [](const Visitor&, const std::string&) { return std::string("visitor"); },
        .has_begun = [this](const std::string&) { return has_begun_; },
        .may = [](const Visitor&, const Action&) { return true; },
        .refused =
            [this](const Visitor* visitor, const std::string&, const Action&, const std::string&,
                   const Error& reason) {
              refused_.push_back({visitor == nullptr ? "nobody" : visitor->who, reason});
            }});
  }
  http::Request asking(const std::string& path) {
    return {.method = "GET",
            .path = path,
            .headers = {{"host", "127.0.0.1:7480"}, {"x-railgauge-session", secret_}}};
  }
  void sign_in_as(const std::string& who) {
    const auto ticket =
        console_->ticket_for({.who = who, .role = "any role", .is_user = true}, "http://x");
    ASSERT_TRUE(ticket);
    http::Request login = asking("/login");
    login.query.emplace("ticket", ticket->url().substr(ticket->url().find('=') + 1));
    secret_ = secret_in(console_->answer(login).body);
    ASSERT_FALSE(secret_.empty());
  }
  // An action as the console's own page sends it.
  http::Request acting_on(const std::string& path) {
    http::Request request = asking(path);
    const std::string listed = console_->answer(asking("/api/v1/actions")).body;
    const std::size_t at = listed.find(R"("token":")") + 9;
    request.method = "POST";
    request.headers["origin"] = "http://127.0.0.1:7480";
    request.headers["content-type"] = "application/json";
    request.headers["x-railgauge-token"] = listed.substr(at, listed.find('"', at) - at);
    request.body = "{}";
    return request;
  }

  double now_ = 1'000'000;
  std::string kind_;
  std::string gone_;  // who has left the group
  bool has_begun_ = false;
  std::string secret_;
  std::vector<Refused> refused_;
  std::optional<Console> console_;
};

TEST_F(ConsoleGuests, AUserWhoLeftTheGroupNeitherActsNorReadsUntilTheyAreBack) {
  Console& console = open_console();
  sign_in_as("ann");
  const http::Request act = acting_on("/api/v1/nodes/n1/resume");
  EXPECT_EQ(console.answer(asking("/api/v1/session")).status, 200);
  gone_ = "ann";
  EXPECT_EQ(console.answer(act).status, 403);
  ASSERT_EQ(refused_.size(), 1U);
  EXPECT_THAT(refused_[0].reason.message, HasSubstr("ann: in no group that may"));
  EXPECT_EQ(console.answer(asking("/api/v1/session")).status, 403);
  gone_ = "bob";
  EXPECT_EQ(console.answer(asking("/api/v1/session")).status, 200);
}

TEST_F(ConsoleGuests, AUserWhoLeftTheGroupMayStillSignOut) {
  Console& console = open_console();
  sign_in_as("ann");
  gone_ = "ann";
  http::Request out = asking("/logout");
  out.method = "POST";
  EXPECT_EQ(console.answer(out).status, 200);
  gone_ = "";
  EXPECT_EQ(console.answer(asking("/api/v1/session")).status, 401);
  EXPECT_EQ(console.answer(out).status, 401) << "there is no session any more";
}

// A certificate has its own end; no group of the host gave it.
TEST_F(ConsoleGuests, TheGroupIsForUsersOfTheHostAlone) {
  Console& console = open_console();
  gone_ = "cora";
  http::Request request = asking("/api/v1/session");
  request.certificate = "PEM";
  EXPECT_EQ(console.answer(request).status, 200);
}

TEST_F(ConsoleGuests, AnActionThatNoServiceSawIsKeptByTheConsole) {
  Console& console = open_console();
  sign_in_as("ann");
  EXPECT_EQ(console.answer(acting_on("/api/v1/nodes/n1/resume")).status, 503);
  ASSERT_EQ(refused_.size(), 1U) << "nobody else has a row of it";
  EXPECT_EQ(refused_[0].who, "ann");
  EXPECT_EQ(refused_[0].reason.code, Code::kUnavailable);
  has_begun_ = true;
  EXPECT_EQ(console.answer(acting_on("/api/v1/nodes/n1/resume")).status, 503);
  EXPECT_EQ(refused_.size(), 1U) << "the services have a row of it";
}

// The browser adds the certificate, whoever asks.
TEST_F(ConsoleGuests, APageOfAnotherOriginIsNobodyAndItsOriginIsKept) {
  Console& console = open_console();
  http::Request request{.method = "POST",
                        .path = "/api/v1/nodes/n1/resume",
                        .headers = {{"host", "127.0.0.1:7480"},
                                    {"origin", "https://evil.example"},
                                    {"content-type", "application/json"}},
                        .certificate = "PEM",
                        .body = "{}"};
  EXPECT_EQ(console.answer(request).status, 403);
  request.headers["sec-fetch-site"] = "cross-site";
  EXPECT_EQ(console.answer(request).status, 403);
  request.headers = {{"host", "127.0.0.1:7480"}, {"origin", "http://127.0.0.1:7480"}};
  EXPECT_EQ(console.answer(request).status, 403);
  ASSERT_EQ(refused_.size(), 3U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(refused_[i].who, "nobody");
    EXPECT_THAT(refused_[i].reason.message, HasSubstr("https://evil.example"));
  }
  EXPECT_EQ(refused_[2].who, "cora") << "its own page, without the token";
}

TEST_F(ConsoleGuests, ErrorsHaveTheMarkToo) {
  Console& console = open_console();
  sign_in_as("ann");
  for (const char* kind : {"synthetic", "unknown"}) {
    kind_ = kind;
    const std::string end = fmt::format(R"(,"data_kind":"{}"}})", kind);
    http::Request stranger = asking("/api/v1/session");
    stranger.headers.erase("x-railgauge-session");
    for (const http::Request& request :
         {asking("/api/v1/session"), asking("/api/v1/nothing"), asking("/api/v1/nodes"),
          asking("/api/v1/live/runs"), acting_on("/api/v1/nodes/n1/resume"), stranger})
      EXPECT_THAT(console.answer(request).body, testing::EndsWith(end)) << request.path;
  }
  kind_ = "";
  EXPECT_THAT(console.answer(asking("/api/v1/nothing")).body, testing::EndsWith("\"}}"));
}

// So that a page is asked again who it is.
TEST_F(ConsoleGuests, AStreamEndsAfterAWhile) {
  start();
  Console& console = open_console(bench_.target());
  sign_in_as("ann");
  const auto begin = [&] { return console.answer(asking("/api/v1/live/runs")); };
  const http::Answer first = begin();
  ASSERT_TRUE(first.parts) << first.body;
  EXPECT_THAT(first.parts().value_or(""), HasSubstr("event: state"));
  now_ += Console::kFollowSeconds - 1;
  EXPECT_TRUE(first.parts());
  now_ += 1;
  EXPECT_FALSE(first.parts());
  const http::Answer later = begin();
  ASSERT_TRUE(later.parts) << "the page comes again: " << later.body;
  gone_ = "ann";
  EXPECT_FALSE(later.parts()) << "who left follows nothing";
  console.stop();
}

TEST_F(ConsoleGuests, AStreamEndsWithThePasswordThatBeganIt) {
  start();
  Console& console = open_console(bench_.target());
  bool is_known = true;
  http::Request request = asking("/api/v1/live/runs");
  request.user = "ann";
  request.is_known = [&is_known] { return is_known; };
  const http::Answer answer = console.answer(request);
  ASSERT_TRUE(answer.parts) << answer.body;
  EXPECT_TRUE(answer.parts());
  is_known = false;
  EXPECT_FALSE(answer.parts());
  console.stop();
}

TEST_F(ConsoleGuests, ASessionSaysTheTimeByWhichAllOthersAre) {
  open_console();
  sign_in_as("ann");
  EXPECT_THAT(console_->answer(asking("/api/v1/session")).body,
              HasSubstr(R"("now":"1970-01-12T13:46:40)"));
}

TEST_F(ConsoleGuests, BrowsersKeepToTlsBeyondLoopbackAlone) {
  const auto header_of_page = [](bool is_local, bool has_tls) {
    Console console({.is_local = is_local, .has_tls = has_tls, .now_unix = [] { return 0.0; }});
    for (const auto& [name, value] :
         console.answer({.method = "GET", .path = "/", .headers = {{"host", "localhost"}}}).headers)
      if (name == "Strict-Transport-Security") return value;
    return std::string("none");
  };
  EXPECT_EQ(header_of_page(false, true), "max-age=15552000");
  EXPECT_EQ(header_of_page(true, true), "none") << "localhost is a name of many hosts";
  EXPECT_EQ(header_of_page(true, false), "none");
}

}  // namespace
}  // namespace railgauge::console

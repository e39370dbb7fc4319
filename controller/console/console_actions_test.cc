// Actions of the console on a whole controller over real HTTP: who may make them, from which page,
// and what the audit trail says.
#include <google/protobuf/descriptor.h>

#include <chrono>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/api/archive_mark.h"
#include "controller/api/on_behalf.h"
#include "controller/audit/refusals.h"
#include "controller/console/actions.h"
#include "controller/console/console.h"
#include "controller/http/http_testing.h"
#include "controller/rpc/rights.h"
#include "controller/testing/console_bench.h"

namespace railgauge::console {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using testing_agent::Certificates;
using testing_agent::connection;
using testing_agent::Script;
using testing_agent::ScriptedAgent;
using testing_agent::welcome;

class ConsoleActions : public testing_agent::ConsoleServer {
 protected:
  // The action's path, for something that is not there.
  static std::string path_of(const Action& action) {
    std::string path(action.path);
    const std::size_t open = path.find('{');
    if (open != std::string::npos) path.replace(open, path.find('}') - open + 1, "none");
    return path;
  }
  void expect_nobody_started_anything() {
    grpc::ClientContext context;
    api::RunList runs;
    ASSERT_TRUE(bench_.stub_->ListRuns(&context, {}, &runs).ok());
    EXPECT_EQ(runs.runs_size(), 0);
  }
  // Starts, and pauses n1 for a visitor. The answer may have to wait for the archive.
  void pause_n1() {
    start();
    client_->set_read_timeout(std::chrono::seconds(60));
    agent_.emplace(bench_.agent("n1"));
    ASSERT_TRUE(welcome(*agent_));
    session_ = sign_in();
    paused_.emplace(
        post("/api/v1/nodes/n1/pause", acting(session_), R"({"reason":"DIMM","for_seconds":60})"));
    ASSERT_TRUE(*paused_);
    EXPECT_EQ((*paused_)->status, 200) << (*paused_)->body;
  }

  std::optional<ScriptedAgent> agent_;
  httplib::Headers session_;
  std::optional<httplib::Result> paused_;
};

// The descriptors are those that reflection shows.
TEST_F(ConsoleActions, EachIsAWriteOfTheTableOfRightsWithItsMessages) {
  std::set<std::string> names;
  for (const Action& action : actions()) {
    const rpc::Right* right = rpc::find_right(action.service, action.method);
    ASSERT_NE(right, nullptr) << action.path;
    EXPECT_TRUE(rpc::is_write(right->access)) << action.path;
    const auto* service = google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
        std::string(action.service));
    ASSERT_NE(service, nullptr) << action.path;
    const auto* method = service->FindMethodByName(std::string(action.method));
    ASSERT_NE(method, nullptr) << action.path;
    EXPECT_EQ(method->input_type(), action.request().GetDescriptor()) << action.path;
    EXPECT_EQ(method->output_type(), action.answer().GetDescriptor()) << action.path;
    EXPECT_FALSE(method->server_streaming()) << action.path;
    EXPECT_TRUE(names.insert(name_of(action)).second) << "two paths of one call";
  }
}

TEST_F(ConsoleActions, EachIsForThoseWhomTheTableOfRightsLetsAndForNobodyElse) {
  serve_certificates();
  start();
  const std::map<auth::Role, httplib::Headers> people{
      {auth::Role::kOperator, sign_in_with("ann", "operator")},
      {auth::Role::kViewer, sign_in_with("vic", "viewer")},
      {auth::Role::kAny, sign_in()}};
  for (const auto& [role, session] : people) {
    const httplib::Headers headers = acting(session);
    const auto listed = client_->Get("/api/v1/actions", session);
    ASSERT_TRUE(listed);
    std::size_t refused = 0;
    for (const Action& action : actions()) {
      const rpc::Right* right = rpc::find_right(action.service, action.method);
      const bool may = static_cast<bool>(rpc::check_access({.role = role}, right->access));
      EXPECT_EQ(may, role != auth::Role::kViewer) << "all of them are for operators";
      const auto answer = post(path_of(action), headers);
      ASSERT_TRUE(answer) << action.path;
      EXPECT_EQ(answer->status == 403, !may) << action.path << answer->status << answer->body;
      EXPECT_NE(answer->status, 200) << action.path << ": it is about nothing that is there";
      EXPECT_THAT(listed->body, HasSubstr(fmt::format(R"("path":"{}","call":"{}")", action.path,
                                                      name_of(action))));
      // A peer has few rows of refusals that are alike.
      if (!may && ++refused > audit::Refusals::kRows) continue;
      const api::AuditEntry row = newest_of(name_of(action), auth::name_of(role));
      EXPECT_EQ(row.role(), auth::name_of(role)) << action.path;
      EXPECT_THAT(row.address(), StartsWith("ipv4:127.0.0.1:")) << action.path;
      EXPECT_EQ(row.refused(), !may) << action.path << row.outcome() << row.reason();
      if (role != auth::Role::kAny) {
        EXPECT_EQ(row.who(), role == auth::Role::kViewer ? "vic" : "ann") << action.path;
      }
    }
    EXPECT_THAT(listed->body, HasSubstr(role == auth::Role::kViewer ? R"("allowed":false)"
                                                                    : R"("allowed":true)"));
  }
  expect_nobody_started_anything();
}

TEST_F(ConsoleActions, AreCarriedOutAndInTheTrailAsThoseOfTheCommandLine) {
  serve_certificates();
  start();
  ScriptedAgent a(bench_.agent("n1", Script::kHang));
  ScriptedAgent b(bench_.agent("n2", Script::kHang));
  ASSERT_TRUE(welcome(a) && welcome(b));
  const httplib::Headers headers = acting(sign_in_with("ann", "operator"));
  const auto started =
      post("/api/v1/runs", headers, R"({"suite":{"name":"pairs"},"node_set":"n1,n2"})");
  ASSERT_TRUE(started);
  ASSERT_EQ(started->status, 200) << started->body;
  EXPECT_THAT(started->body, HasSubstr(R"("requested_by":"ann")"));
  api::AuditEntry row = newest_of("Control.StartRun");
  EXPECT_EQ(row.who(), "ann");
  EXPECT_EQ(row.role(), "operator");
  EXPECT_EQ(row.outcome(), "ok");
  EXPECT_THAT(row.subject(), HasSubstr("node_set=n1,n2"));
  const std::size_t at = started->body.find("\"run_id\":\"") + 10;
  const std::string run_id = started->body.substr(at, started->body.find('"', at) - at);
  const auto cancelled = post("/api/v1/runs/" + run_id + "/cancel", headers, "");
  ASSERT_TRUE(cancelled);
  EXPECT_EQ(cancelled->status, 200) << cancelled->body;
  EXPECT_THAT(bench_.end_of(run_id).run().reason(), HasSubstr("cancelled by ann"));
  EXPECT_EQ(newest_of("Control.CancelRun").subject(), run_id);
  const auto paused =
      post("/api/v1/nodes/n2/pause", headers, R"({"reason":"DIMM","for_seconds":60})");
  ASSERT_TRUE(paused);
  EXPECT_EQ(paused->status, 200) << paused->body;
  EXPECT_THAT(paused->body, HasSubstr(R"("reason":"DIMM","who":"ann")"));
  EXPECT_THAT(newest_of("Control.PauseNodes").subject(), HasSubstr("node_set=n2 reason=DIMM"));
  EXPECT_EQ(post("/api/v1/nodes/n2/resume", headers)->status, 200);
}

// Answers to people wait for the archive, which is away here, and come with its mark all the same.
TEST_F(ConsoleActions, SayThatTheArchiveMayLackWhatTheyChanged) {
  bench_.config_.mirror = {.url = "postgres://railgauge@/absent?host=/nowhere", .site = "east"};
  bench_.config_.acknowledges_by_mirror = true;
  ASSERT_NO_FATAL_FAILURE(pause_n1());
  EXPECT_EQ((*paused_)->get_header_value(api::kArchiveHeader), api::kArchiveBehind);
  const auto about = client_->Get("/api/v1/session", session_);
  ASSERT_TRUE(about);
  EXPECT_THAT(about->body, HasSubstr(R"("archive_lag_seconds":)"));
  EXPECT_THAT(about->body, testing::Not(HasSubstr(R"("archive_lag_seconds":null)")));
  EXPECT_THAT(about->body, testing::Not(HasSubstr(R"("archive_lag_seconds":0,)")));
}

TEST_F(ConsoleActions, WithoutAnArchiveHaveNoMarkOfIt) {
  ASSERT_NO_FATAL_FAILURE(pause_n1());
  EXPECT_FALSE((*paused_)->has_header(api::kArchiveHeader));
  const auto about = client_->Get("/api/v1/session", session_);
  ASSERT_TRUE(about);
  EXPECT_THAT(about->body, HasSubstr(R"("archive_lag_seconds":null)"));
}

TEST_F(ConsoleActions, AreForTheConsolesOwnPagesAlone) {
  start();
  const httplib::Headers session = sign_in();
  const httplib::Headers right = acting(session);
  const std::string token = token_of(session);
  const auto with = [&](const std::string& own, const std::string& sent) {
    httplib::Headers headers = session;
    if (!own.empty()) headers.emplace("Origin", own);
    if (!sent.empty()) headers.emplace("X-Railgauge-Token", sent);
    return headers;
  };
  const auto refusal_of = [&](const httplib::Headers& headers) {
    const auto answer = post("/api/v1/nodes/n1/resume", headers);
    return answer ? fmt::format("{} {}", answer->status, answer->body) : "no answer";
  };
  EXPECT_THAT(refusal_of(with(origin(), "")), HasSubstr("x-railgauge-token: it is missing"));
  EXPECT_THAT(refusal_of(with(origin(), std::string(token.size(), 'a'))), StartsWith("403"));
  EXPECT_THAT(refusal_of(with(origin(), token + "0")), StartsWith("403"));
  const std::string other = token_of(sign_in());
  EXPECT_NE(other, token);
  EXPECT_THAT(refusal_of(with(origin(), other)), StartsWith("403")) << "another session's token";
  for (const char* elsewhere : {"", "null", "https://evil.example", "http://127.0.0.1:1"})
    EXPECT_THAT(refusal_of(with(elsewhere, token)), HasSubstr("only the console's own pages"))
        << elsewhere;
  EXPECT_THAT(refusal_of(with("https" + origin().substr(4), token)), StartsWith("403"));
  httplib::Headers cross = right;
  cross.emplace("Sec-Fetch-Site", "cross-site");
  cross.emplace("Sec-Fetch-Mode", "navigate");
  EXPECT_THAT(refusal_of(cross), StartsWith("403"));
  EXPECT_EQ(newest_of("Control.ResumeNodes").outcome(), "permission_denied");
  EXPECT_TRUE(newest_of("Control.ResumeNodes").refused());
  EXPECT_THAT(newest_of("Control.ResumeNodes").subject(), HasSubstr("/api/v1/nodes/n1/resume"));
  // Whoever sent it, it was not the visitor.
  EXPECT_EQ(newest_of("Control.ResumeNodes", "no known role").who(), "unknown");
}

TEST_F(ConsoleActions, NeedASessionThatHolds) {
  start();
  const httplib::Headers session = sign_in();
  const httplib::Headers headers = acting(session);
  EXPECT_EQ(client_->Post("/logout", session, "", "text/plain")->status, 200);
  const auto late = post("/api/v1/runs", headers, R"({"suite":{"name":"pairs"}})");
  ASSERT_TRUE(late);
  EXPECT_EQ(late->status, 401) << late->body;
  const api::AuditEntry row = newest_of("Control.StartRun");
  EXPECT_EQ(row.who(), "unknown");
  EXPECT_THAT(row.address(), StartsWith("ipv4:127.0.0.1:"));
  EXPECT_EQ(row.outcome(), "unauthenticated");
  EXPECT_TRUE(row.refused());
  expect_nobody_started_anything();
}

TEST_F(ConsoleActions, AreNoReadsAndHaveTheirBounds) {
  start();
  const httplib::Headers session = sign_in();
  const httplib::Headers headers = acting(session);
  for (const char* path :
       {"/api/v1/runs/r/cancel", "/api/v1/nodes/n1/pause", "/api/v1/findings/f/steps"}) {
    const auto read = client_->Get(path, headers);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->status, 405) << path;
    EXPECT_EQ(read->get_header_value("Allow"), "POST") << path;
  }
  EXPECT_EQ(post("/api/v1/openapi.json", headers)->status, 405);
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded", "application/jsonx"})
    EXPECT_EQ(client_->Post("/api/v1/nodes/n1/pause", headers, "{}", type)->status, 415) << type;
  for (const char* body :
       {"{", "[]", R"({"colour":"red"})", R"({"node_set":"n2"})", R"({"reason":[1]})"}) {
    const auto answer = post("/api/v1/nodes/n1/pause", headers, body);
    ASSERT_TRUE(answer) << body;
    EXPECT_EQ(answer->status, 400) << body << answer->body;
    EXPECT_THAT(answer->body, StartsWith(R"({"schema_version":1,"error":{"code":")")) << body;
  }
  EXPECT_EQ(newest_of("Control.PauseNodes").outcome(), "invalid_argument");
  const auto large = post("/api/v1/runs", headers, std::string(Console::kMostBodyBytes + 1, ' '));
  ASSERT_TRUE(large);
  EXPECT_EQ(large->status, 413);
  EXPECT_EQ(newest_of("console.post").subject(), "/api/v1/runs");
  expect_nobody_started_anything();
}

// Certificates are sent by a browser whichever page asks, so they need the token too.
TEST_F(ConsoleActions, OfACertificateNeedItsTokenAndAPasswordHasNone) {
  serve_certificates();
  certificates_->sign("ann", "/CN=ann/OU=operator");
  certificates_->sign("vic", "/CN=vic/OU=viewer");
  bench_.config_.console_web_config = bench_.path("web.yaml");
  const std::string tls =
      "tls_server_config: {cert_file: pki/controller.crt, key_file: pki/controller.key";
  const auto act = [&](const std::string& name, const httplib::Headers& more, bool with_token) {
    const std::string base = bench_.path("pki/" + name);
    httplib::SSLClient client("127.0.0.1", bench_.server_->console_port(),
                              name.empty() ? "" : base + ".crt", name.empty() ? "" : base + ".key");
    client.enable_server_certificate_verification(false);
    httplib::Headers headers = more;
    headers.emplace("Origin", fmt::format("https://127.0.0.1:{}", bench_.server_->console_port()));
    const auto listed = client.Get("/api/v1/actions", more);
    const std::size_t at = listed ? listed->body.find(R"("token":")") + 9 : 0;
    const std::string token =
        listed ? listed->body.substr(at, listed->body.find('"', at) - at) : "";
    if (with_token) headers.emplace("X-Railgauge-Token", token);
    const auto answer = client.Post("/api/v1/nodes/n1/resume", headers, "{}", "application/json");
    return answer ? fmt::format("{} {}", answer->status, answer->body) : "no answer";
  };
  bench_.write("web.yaml",
               tls + ", client_ca_file: pki/ca.crt, client_auth_type: VerifyClientCertIfGiven}\n");
  start();
  EXPECT_THAT(act("ann", {}, false), HasSubstr("x-railgauge-token"));
  EXPECT_THAT(act("ann", {}, true), StartsWith("400")) << "no such node: the service was asked";
  EXPECT_EQ(newest_of("Control.ResumeNodes", "operator").who(), "ann");
  EXPECT_THAT(act("vic", {}, true), StartsWith("403"));
  bench_.stop();
  // Another authority, whose word for a role counts for reading alone.
  std::filesystem::create_directories(bench_.path("company"));
  const Certificates company(bench_.path("company"));
  company.sign("eve", "/CN=eve/OU=operator");
  for (const char* ending : {".crt", ".key"})
    std::filesystem::copy_file(bench_.path(std::string("company/eve") + ending),
                               bench_.path(std::string("pki/eve") + ending));
  bench_.write("web.yaml", tls +
                               ", client_ca_file: company/ca.crt, client_auth_type: "
                               "VerifyClientCertIfGiven}\n");
  bench_.start();
  EXPECT_THAT(act("eve", {}, true), StartsWith("403"));
  bench_.stop();
  bench_.write("web.yaml",
               tls + "}\nbasic_auth_users: {ann: \"" + http::hash_of("pass", 4) + "\"}\n");
  bench_.start();
  EXPECT_THAT(act("", {{"Authorization", http::basic("ann:pass")}}, true),
              HasSubstr("this password may only read"));
}

// A browser sends a password, too, whichever page asks.
TEST_F(ConsoleActions, OfAPasswordAreForTheOperatorsAmongItsUsersAndNeedTheToken) {
  std::filesystem::create_directories(bench_.path("pki"));
  const Certificates certificates(bench_.path("pki"));
  bench_.config_.console_web_config = bench_.path("web.yaml");
  bench_.config_.console_operators = {"ann"};
  bench_.write("web.yaml",
               "tls_server_config: {cert_file: pki/controller.crt, key_file: "
               "pki/controller.key}\nbasic_auth_users: {ann: \"" +
                   http::hash_of("pass", 4) + "\", bob: \"" + http::hash_of("word", 4) + "\"}\n");
  start();
  const auto act = [&](const std::string& login, bool with_token, const std::string& site = "") {
    httplib::SSLClient client("127.0.0.1", bench_.server_->console_port());
    client.enable_server_certificate_verification(false);
    httplib::Headers headers{{"Authorization", http::basic(login)}};
    const auto listed = client.Get("/api/v1/actions", headers);
    const std::size_t at = listed ? listed->body.find(R"("token":")") + 9 : 0;
    if (with_token)
      headers.emplace("X-Railgauge-Token",
                      listed->body.substr(at, listed->body.find('"', at) - at));
    headers.emplace(
        "Origin",
        site.empty() ? fmt::format("https://127.0.0.1:{}", bench_.server_->console_port()) : site);
    const auto answer = client.Post("/api/v1/nodes/n1/resume", headers, "{}", "application/json");
    return answer ? fmt::format("{} {}", answer->status, answer->body) : "no answer";
  };
  EXPECT_THAT(act("ann:pass", false), HasSubstr("x-railgauge-token"));
  EXPECT_THAT(act("ann:pass", true, "https://evil.example"), StartsWith("403"));
  EXPECT_THAT(act("ann:pass", true), StartsWith("400")) << "no such node: the service was asked";
  EXPECT_EQ(newest_of("Control.ResumeNodes", "operator").who(), "ann");
  EXPECT_THAT(act("bob:word", true), HasSubstr("this password may only read"));
  EXPECT_THAT(act("ann:word", true), StartsWith("401"));
}

// The services take the name of another person from the console alone.
TEST_F(ConsoleActions, NobodyFromOutsideSpeaksForAVisitor) {
  serve_certificates();
  start();
  const httplib::Headers session = sign_in();
  const auto acted = post("/api/v1/nodes/n1/resume", acting(session));
  ASSERT_TRUE(acted);
  EXPECT_EQ(acted->status, 400) << acted->body;  // the first visitor's name is still known
  certificates_->sign("vic", "/CN=vic/OU=viewer");
  const auto stub = api::Control::NewStub(connection(
      fmt::format("127.0.0.1:{}", bench_.server_->tcp_port()), certificates_->of("vic")));
  for (const char* name : {"console visitor 1", "unknown", "fd:1"}) {
    grpc::ClientContext context;
    context.AddMetadata(api::kOnBehalfOf, name);
    api::NodeList nodes;
    const grpc::Status status = stub->ResumeNodes(&context, {}, &nodes);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << name;
  }
  EXPECT_EQ(newest_of("Control.ResumeNodes", "viewer").who(), "vic");
}

}  // namespace
}  // namespace railgauge::console

// The console's port of a whole controller over real HTTP.
#include <httplib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/api/console.grpc.pb.h"
#include "controller/http/http_testing.h"
#include "controller/testing/certificates.h"
#include "controller/testing/console_bench.h"

namespace railgauge {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using testing_agent::Certificates;
using testing_agent::ConsoleServer;
using testing_agent::ScriptedAgent;
using testing_agent::welcome;

TEST_F(ConsoleServer, NobodyReadsWithoutASession) {
  start();
  for (const char* path : {"/api/v1/nodes", "/api/v1/session", "/api/v1/actions",
                           "/api/v1/live/runs", "/api/v1/nothing", "/login", "/login?ticket=no"}) {
    const auto answer = client_->Get(path);
    ASSERT_TRUE(answer) << path;
    EXPECT_EQ(answer->status, 401) << path;
    EXPECT_THAT(answer->body, HasSubstr("railgauge console")) << path;
  }
  EXPECT_EQ(client_->Post("/logout", "", "text/plain")->status, 401);
  for (const char* path : {"/metrics", "/%2e%2e/secret.key", "/secret.key", "/../secret.key"})
    EXPECT_EQ(client_->Get(path)->status, 404) << path;
  EXPECT_EQ(client_->Get("/healthz")->status, 200);
  EXPECT_EQ(client_->Get("/api/v1/openapi.json")->status, 200) << "it describes and holds no data";
  EXPECT_EQ(client_->Post("/api/v1/openapi.json", "", "text/plain")->status, 405);
}

// Its files are those of the package, which everybody has.
TEST_F(ConsoleServer, ThePagesThemselvesAreForEverybodyAndOnlyRead) {
  start();
  const std::string page = client_->Get("/")->body;
  EXPECT_THAT(page, StartsWith("<!doctype html><title>console</title>"));
  const auto script = client_->Get(script_of(page));
  EXPECT_EQ(script->get_header_value("Content-Type"), "text/javascript; charset=utf-8");
  EXPECT_THAT(script->get_header_value("Cache-Control"), HasSubstr("immutable"));
  EXPECT_EQ(client_->Get("/")->get_header_value("Cache-Control"), "no-store");
  EXPECT_EQ(client_->Post("/", "", "text/plain")->status, 405);
  EXPECT_EQ(client_->Get("/", {{"Host", "rebound.example:7480"}})->status, 403);
}

// Whoever holds the port while the controller is down may fill the browser's cache with files of
// any name that it can guess.
TEST_F(ConsoleServer, NobodyGuessesTheNamesOfItsScripts) {
  start();
  const auto entered = client_->Get(login());
  for (const std::string& page : {entered->body, client_->Get("/")->body}) {
    EXPECT_THAT(script_of(page), testing::MatchesRegex("/assets-[0-9a-f]{64}/[a-z]*.js")) << page;
    EXPECT_EQ(client_->Get(script_of(page))->status, 200);
  }
  for (const char* guessed : {"/assets/a.js", "/assets/enter.js", "/enter.js", "/assets-/a.js"})
    EXPECT_EQ(client_->Get(guessed)->status, 404) << guessed;
  EXPECT_EQ(entered->get_header_value("Clear-Site-Data"), R"("cache")");
  EXPECT_THAT(client_->Get(script_of(entered->body))->body, HasSubstr("fetch('/forget'"));
  const httplib::Headers session{{"X-Railgauge-Session", secret_in(entered->body)}};
  const auto forgotten = client_->Post("/forget", session, "", "text/plain");
  EXPECT_EQ(forgotten->status, 200);
  EXPECT_EQ(forgotten->get_header_value("Clear-Site-Data"), R"("cache", "storage")");
  EXPECT_EQ(client_->Get("/forget", session)->status, 405);
  const auto foreign = client_->Post("/forget", "", "text/plain");
  EXPECT_EQ(foreign->status, 401) << "a page of another site";
  EXPECT_FALSE(foreign->has_header("Clear-Site-Data"));
}

// Its ticket would be of somebody else, for whom the visitor would act.
TEST_F(ConsoleServer, ALinkOfAnotherPageSignsNobodyIn) {
  start();
  const std::string path = login();
  for (const char* site : {"cross-site", "same-site", "anything"}) {
    const auto led = client_->Get(path, {{"Sec-Fetch-Site", site}, {"Sec-Fetch-Mode", "navigate"}});
    EXPECT_EQ(led->status, 403) << site;
    EXPECT_EQ(secret_in(led->body), "") << site;
  }
  EXPECT_EQ(client_->Get(path, {{"Sec-Fetch-Site", "none"}})->status, 200)
      << "the ticket was not used up";
}

// A browser sends a host's cookies to all of its ports, and another user may serve one of these.
TEST_F(ConsoleServer, NothingThatABrowserSendsByItselfLetsIn) {
  start();
  const auto answer = client_->Get(login());
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->has_header("Set-Cookie"));
  EXPECT_EQ(answer->get_header_value("Cache-Control"), "no-store");
  const std::string secret = secret_in(answer->body);
  ASSERT_FALSE(secret.empty());
  const std::string port = std::to_string(bench_.server_->console_port());
  for (const std::string& cookie : {"railgauge_session_" + port + "=" + secret,
                                    "railgauge-session=" + secret, "X-Railgauge-Session=" + secret})
    for (const char* path : {"/api/v1/session", "/api/v1/actions", "/api/v1/live/runs"})
      EXPECT_EQ(client_->Get(path, {{"Cookie", cookie}})->status, 401) << path << cookie;
  for (const char* path : {"/api/v1/session?session=", "/api/v1/session?railgauge-session="})
    EXPECT_EQ(client_->Get(path + secret)->status, 401) << "nor by a URL";
  const auto entered = client_->Get("/api/v1/session", {{"X-Railgauge-Session", secret}});
  EXPECT_EQ(entered->status, 200) << entered->body;
  const auto script = client_->Get(script_of(answer->body));
  ASSERT_TRUE(script);
  EXPECT_EQ(script->get_header_value("Content-Type"), "text/javascript; charset=utf-8");
  EXPECT_THAT(script->body, HasSubstr("localStorage.setItem('railgauge-session'"));
}

TEST_F(ConsoleServer, ATicketLetsItsHolderInOnce) {
  start();
  const std::string path = login();
  const auto head = client_->Head(path);
  EXPECT_EQ(head->status, 405) << "a probe of the URL must not use it up";
  const auto first = client_->Get(path);
  ASSERT_TRUE(first);
  EXPECT_EQ(client_->Get(path)->status, 401);
  const httplib::Headers headers{{"X-Railgauge-Session", secret_in(first->body)}};
  const auto session = client_->Get("/api/v1/session", headers);
  EXPECT_THAT(session->body, HasSubstr(R"("role":"any role","read_only":false)"));
  EXPECT_EQ(client_->Post("/logout", headers, "", "text/plain")->status, 200);
  EXPECT_EQ(client_->Get("/api/v1/session", headers)->status, 401);
}

TEST_F(ConsoleServer, AnswersAreTheServicesAsJson) {
  start();
  ScriptedAgent agent(bench_.agent("n<1>"));
  ScriptedAgent other(bench_.agent("n2"));
  ASSERT_TRUE(welcome(other));
  const httplib::Headers headers = sign_in();
  const auto nodes = client_->Get("/api/v1/nodes", headers);
  ASSERT_TRUE(nodes);
  EXPECT_EQ(nodes->status, 200);
  EXPECT_EQ(nodes->get_header_value("Content-Type"), "application/json");
  EXPECT_THAT(nodes->body, StartsWith(R"({"schema_version":1,"nodes":[)"));
  EXPECT_THAT(nodes->body, HasSubstr(R"("name":"n2")"));
  for (const char* path : {"/api/v1/nodes/n2?with_facts=true", "/api/v1/suites", "/api/v1/runs",
                           "/api/v1/series", "/api/v1/findings", "/api/v1/upgrades",
                           "/api/v1/baselines", "/api/v1/schedules", "/api/v1/openapi.json"}) {
    const auto answer = client_->Get(path, headers);
    ASSERT_TRUE(answer) << path;
    EXPECT_EQ(answer->status, 200) << path << answer->body;
  }
}

TEST_F(ConsoleServer, EachAnswerSaysWhetherAllDataIsSynthetic) {
  const std::vector<std::string> paths{"/api/v1/session", "/api/v1/nodes", "/api/v1/findings"};
  const auto marked = [&] {
    std::size_t count = 0;
    const httplib::Headers headers = sign_in();
    for (const std::string& path : paths)
      count += client_->Get(path, headers)->body.ends_with(R"(,"data_kind":"synthetic"})") ? 1 : 0;
    return count;
  };
  start();
  EXPECT_EQ(marked(), 0U);
  bench_.stop();
  bench_.config_.synthetic = true;
  start();
  EXPECT_EQ(marked(), paths.size());
}

TEST_F(ConsoleServer, WrongRequestsAreRefusedInOneLine) {
  start();
  const httplib::Headers headers = sign_in();
  const std::map<std::string, std::pair<int, std::string>> cases{
      {"/api/v1/runs/no-such-run", {0, "no-such-run"}},
      {"/api/v1/series/history?series_id=4711", {0, "4711"}},
      {"/api/v1/points?limit=10000000", {400, "from 0 to 10000"}},
      {"/api/v1/runs?colour=red", {400, "unknown parameter"}},
      {"/api/v1/nothing", {404, "there is no such path"}},
      {"/api/v1/runs/a/b/c", {404, "there is no such path"}}};
  for (const auto& [path, expected] : cases) {
    const auto answer = client_->Get(path, headers);
    ASSERT_TRUE(answer) << path;
    if (expected.first != 0) {
      EXPECT_EQ(answer->status, expected.first) << path;
    }
    EXPECT_GE(answer->status, 400) << path;
    EXPECT_LT(answer->status, 500) << path;
    EXPECT_THAT(answer->body, StartsWith(R"({"schema_version":1,"error":{"code":")")) << path;
    EXPECT_THAT(answer->body, HasSubstr(expected.second)) << path;
  }
}

TEST_F(ConsoleServer, OnlyReadsAndOnlyFromItsOwnPages) {
  start();
  const httplib::Headers headers = sign_in();
  const auto with = [&](const char* name, const char* value) {
    httplib::Headers all = headers;
    all.emplace(name, value);
    return all;
  };
  EXPECT_EQ(client_->Post("/api/v1/nodes", headers, "{}", "application/json")->status, 405);
  EXPECT_EQ(client_->Delete("/api/v1/nodes", headers)->status, 405);
  EXPECT_EQ(client_->Get("/api/v1/nodes", with("Sec-Fetch-Site", "cross-site"))->status, 403);
  EXPECT_EQ(client_->Get("/api/v1/nodes", with("Sec-Fetch-Site", "same-origin"))->status, 200);
  EXPECT_EQ(client_->Get("/api/v1/nodes", with("Host", "rebound.example:7480"))->status, 403)
      << "another site's name that leads here";
  EXPECT_EQ(client_->Get("/api/v1/nodes", with("Host", "127.rebound.example:7480"))->status, 403)
      << "nor one that begins as an address does";
  for (const char* own : {"127.0.0.1", "localhost", "[::1]"}) {
    const std::string host = fmt::format("{}:{}", own, bench_.server_->console_port());
    EXPECT_EQ(client_->Get("/api/v1/nodes", with("Host", host.c_str()))->status, 200) << host;
  }
}

TEST_F(ConsoleServer, EveryAnswerHasTheHeadersOfAPageThatTrustsNobody) {
  start();
  const httplib::Headers headers = sign_in();
  const std::string script = script_of(client_->Get("/")->body);
  for (const std::string& path :
       {std::string("/"), std::string("/api/v1/nodes"), std::string("/api/v1/nothing"), script}) {
    const auto answer = client_->Get(path, headers);
    ASSERT_TRUE(answer);
    EXPECT_THAT(answer->get_header_value("Content-Security-Policy"),
                StartsWith("default-src 'none'; script-src 'self'"));
    EXPECT_EQ(answer->get_header_value("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(answer->get_header_value("X-Frame-Options"), "DENY");
    EXPECT_EQ(answer->get_header_value("Referrer-Policy"), "no-referrer");
    EXPECT_FALSE(answer->has_header("Access-Control-Allow-Origin"));
  }
}

TEST_F(ConsoleServer, WithoutPagesItSaysSoAndAnswersStill) {
  bench_.config_.console_folder = bench_.path("none");
  start();
  const httplib::Headers headers = sign_in();
  EXPECT_THAT(client_->Get("/", headers)->body, HasSubstr("built without Node.js"));
  EXPECT_EQ(client_->Get("/api/v1/nodes", headers)->status, 200);
}

TEST_F(ConsoleServer, WithoutItsPortThereIsNoTicket) {
  bench_.config_.console_listen = "";
  bench_.start();
  api::ConsoleTicket ticket;
  const grpc::Status status = open(ticket);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("--console-listen"));
}

TEST_F(ConsoleServer, BeyondLoopbackItWantsCertificatesOrPasswords) {
  bench_.config_.console_listen = "0.0.0.0:0";
  const auto plain = Server::start(bench_.config_);
  ASSERT_FALSE(plain);
  EXPECT_THAT(plain.error().message, HasSubstr("--console-web-config-file"));
  bench_.config_.console_web_config = bench_.path("web.yaml");
  bench_.write("web.yaml", "basic_auth_users: {ann: \"" + http::hash_of("pass", 4) + "\"}\n");
  const auto open_text = Server::start(bench_.config_);
  ASSERT_FALSE(open_text) << "passwords would travel in the clear";
  EXPECT_THAT(open_text.error().message, HasSubstr("tls_server_config"));
}

TEST_F(ConsoleServer, APasswordOrAViewersCertificateReads) {
  std::filesystem::create_directories(bench_.path("pki"));
  const Certificates certificates(bench_.path("pki"));
  certificates.sign("vic", "/CN=vic/OU=viewer");
  certificates.sign("n1", "/CN=n1/OU=agent");
  const auto serve_with = [&](const std::string& more) {
    bench_.write("web.yaml",
                 "tls_server_config: {cert_file: pki/controller.crt, key_file: "
                 "pki/controller.key" +
                     more);
    bench_.config_.console_web_config = bench_.path("web.yaml");
    bench_.start();
  };
  const auto get = [&](const std::string& name, const httplib::Headers& headers) {
    const std::string base = bench_.path("pki/" + name);
    httplib::SSLClient client("127.0.0.1", bench_.server_->console_port(),
                              name.empty() ? "" : base + ".crt", name.empty() ? "" : base + ".key");
    client.enable_server_certificate_verification(false);
    const auto answer = client.Get("/api/v1/session", headers);
    return answer ? std::to_string(answer->status) + " " + answer->body : "no answer";
  };
  serve_with("}\nbasic_auth_users: {ann: \"" + http::hash_of("pass", 4) + "\"}\n");
  EXPECT_THAT(get("", {}), StartsWith("401"));
  EXPECT_THAT(get("", {{"Authorization", http::basic("ann:wrong")}}), StartsWith("401"));
  EXPECT_THAT(get("", {{"Authorization", http::basic("ann:pass")}}),
              HasSubstr(R"("who":"ann","role":"viewer","read_only":true)"));
  bench_.stop();
  serve_with(", client_ca_file: pki/ca.crt, client_auth_type: VerifyClientCertIfGiven}\n");
  EXPECT_THAT(get("", {}), StartsWith("401"));
  EXPECT_THAT(get("vic", {}), HasSubstr(R"("who":"vic","role":"viewer")"));
  EXPECT_THAT(get("n1", {}), StartsWith("403")) << "an agent reads no console";
}

// The URL and the session are no certificates, but they have no more than the one that asked for
// them.
TEST_F(ConsoleServer, ASessionEndsWithTheCertificateThatOpenedIt) {
  std::filesystem::create_directories(bench_.path("pki"));
  const Certificates certificates(bench_.path("pki"));
  certificates.revoke("");
  bench_.config_.tcp = certificates.tcp();
  bench_.config_.tcp.tls_crl = certificates.crl();
  start();
  const auto sign_in_as = [&](const std::string& name) -> httplib::Headers {
    certificates.sign(name, fmt::format("/CN={}/OU=viewer", name));
    const auto stub = api::Console::NewStub(testing_agent::connection(
        fmt::format("127.0.0.1:{}", bench_.server_->tcp_port()), certificates.of(name)));
    grpc::ClientContext context;
    api::ConsoleTicket ticket;
    const grpc::Status status = stub->OpenConsole(&context, {}, &ticket);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return sign_in_at(path_of(ticket));
  };
  const httplib::Headers ann = sign_in_as("ann");
  const httplib::Headers bob = sign_in_as("bob");
  EXPECT_EQ(client_->Get("/api/v1/session", ann)->status, 200);
  certificates.revoke("ann");
  bench_.server_->reload_tls();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  auto ended = client_->Get("/api/v1/session", ann);
  for (; ended->status == 200 && std::chrono::steady_clock::now() < end;
       ended = client_->Get("/api/v1/session", ann))
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(ended->status, 401);
  EXPECT_THAT(ended->body, HasSubstr("is revoked"));
  EXPECT_THAT(client_->Get("/api/v1/session", ann)->body, HasSubstr("no session"));
  EXPECT_EQ(client_->Get("/api/v1/session", bob)->status, 200);
}

}  // namespace
}  // namespace railgauge

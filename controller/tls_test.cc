// Mutual TLS over a real loopback port, with certificates of deploy/pki.sh: who gets in as what,
// and how long.
#include "controller/tls.h"

#include <httplib.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <list>
#include <map>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/api/event_kinds.h"
#include "controller/testing/server_bench.h"
#include "controller/trust/authority/authority.h"
#include "kernels/core/text/lines.h"

namespace railgauge {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_agent::ScriptedAgent;
using testing_agent::ServerBench;
using testing_agent::welcome;

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class TlsTest : public testing::Test {
 protected:
  void SetUp() override {
    pki("ca .");
    pki("controller . localhost 127.0.0.1");
    bench_.config_.tcp = {.listen = "127.0.0.1:0",
                          .tls_cert = bench_.path("controller.crt"),
                          .tls_key = bench_.path("controller.key"),
                          .tls_ca = bench_.path("ca.crt"),
                          .tls_crl = bench_.path("crl.pem")};
    bench_.fleet_options_.hello_seconds = 60;
    bench_.start();
    target_ = fmt::format("127.0.0.1:{}", bench_.server_->tcp_port());
  }
  // Every event of a port with certificates is of a kind that --kind knows before one is stored.
  void TearDown() override {
    bench_.stop();
    const auto store = store::Store::open({.path = bench_.config_.database});
    ASSERT_TRUE(store) << store.error().message;
    const auto kinds = words_of(api::kEventKinds);
    const auto events = (*store)->list_events(1'000);
    for (const auto& event : events.value_or(std::vector<store::EventRow>{}))
      EXPECT_NE(std::ranges::find(kinds, event.kind), kinds.end()) << event.kind;
  }
  // Runs in the bench's folder; "." is it.
  void shell(const std::string& command) {
    const std::string log = bench_.path("log");
    const int status = std::system(fmt::format("({}) >{} 2>&1", command, log).c_str());
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << command << "\n" << read(log);
  }
  void pki(const std::string& arguments) {
    const std::string script = std::filesystem::absolute("deploy/pki.sh").string();
    shell(fmt::format("cd {} && {} {}", bench_.path(""), script, arguments));
  }
  // A certificate of our authority with a subject that pki.sh would not write.
  void sign(const std::string& base, const std::string& subject, const std::string& names = "") {
    std::ofstream(bench_.path("ext")) << (names.empty() ? "" : "subjectAltName=" + names);
    shell(fmt::format(
        "cd {0} && openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "
        "{1}.key -subj '{2}' -out {1}.req && openssl x509 -req -in {1}.req -CA ca.crt -CAkey "
        "ca.key "
        "-CAcreateserial -days 2 -extfile ext -out {1}.crt",
        bench_.path(""), base, subject));
  }
  std::shared_ptr<grpc::ChannelCredentials> credentials(const std::string& base) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = read(bench_.path("ca.crt"));
    if (!base.empty()) {
      options.pem_private_key = read(bench_.path(base + ".key"));
      options.pem_cert_chain = read(bench_.path(base + ".crt"));
    }
    return grpc::SslCredentials(options);
  }
  testing_agent::AgentOptions agent(const std::string& name, const std::string& base) {
    testing_agent::AgentOptions options = bench_.agent(name);
    options.target = target_;
    options.credentials = credentials(base);
    return options;
  }
  // The serial number that the port shows to a new connection of `base`.
  std::string shown_serial(const std::string& base) {
    shell(
        fmt::format("cd {} && openssl s_client -connect {} -cert {}.crt -key {}.key </dev/null | "
                    "openssl x509 -noout -serial > serial",
                    bench_.path(""), target_, base, base));
    return read(bench_.path("serial"));
  }
  // Whether `is_so` becomes true in `seconds`.
  static bool wait_for(double seconds, const std::function<bool()>& is_so) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!is_so()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return true;
  }
  void revoke(const std::string& name) {
    const auto revoked =
        trust::revoke(bench_.path("."), name, trust::kCrlDays, fleet::unix_seconds());
    ASSERT_TRUE(revoked) << revoked.error().message;
  }
  grpc::Status list_nodes(const std::string& base) { return call(base, false); }
  grpc::Status start_run(const std::string& base) { return call(base, true); }

  ServerBench bench_;
  std::string target_;

 private:
  grpc::Status call(const std::string& base, bool write) {
    const auto stub = api::Control::NewStub(grpc::CreateChannel(target_, credentials(base)));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    api::NodeList nodes;
    api::RunSummary run;
    return write ? stub->StartRun(&context, {}, &run) : stub->ListNodes(&context, {}, &nodes);
  }
};

TEST_F(TlsTest, AnAgentMaySpeakForTheNodeInItsCertificateAndForNoOther) {
  pki("agent . n1");
  ScriptedAgent right(agent("n1", "n1"));
  EXPECT_TRUE(welcome(right));
  ScriptedAgent wrong(agent("n2", "n1"));
  ASSERT_TRUE(wrong.wait_until([](const ScriptedAgent& a) { return a.ended(); }));
  EXPECT_EQ(wrong.status().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(wrong.refused().permanent());
  EXPECT_THAT(wrong.refused().reason(),
              HasSubstr("the certificate is for n1, so it cannot speak for node n2"));
}

TEST_F(TlsTest, ACertificateWithTheIdOfAnotherNodeIsRefusedAndNodesStayAsTheyWere) {
  pki("agent . n1");
  pki("agent . n2");
  const auto listed = [this] {
    grpc::ClientContext context;
    api::NodeList nodes;
    EXPECT_TRUE(bench_.stub_->ListNodes(&context, {}, &nodes).ok());
    std::string text;
    for (const api::NodeInfo& node : nodes.nodes())
      text += fmt::format("{} {} {}; ", node.name(), node.node_id(), node.state());
    return text;
  };
  const auto refused_with_id_of_n2 = [this](const std::string& name) {
    auto options = agent(name, "n1");
    options.node_id = "id-n2";
    ScriptedAgent other(options);
    EXPECT_TRUE(other.wait_until([](const ScriptedAgent& a) { return a.ended(); }));
    EXPECT_EQ(other.status().error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_THAT(other.refused().reason(), HasSubstr("node id id-n2 belongs to node n2"));
    EXPECT_THAT(other.refused().reason(), HasSubstr("delete agent-node-id"));
  };
  {
    ScriptedAgent owner(agent("n2", "n2"));
    ASSERT_TRUE(welcome(owner));
    refused_with_id_of_n2("n1");
    refused_with_id_of_n2("n2");
    EXPECT_EQ(listed(), "n2 id-n2 attached; ");
    EXPECT_FALSE(owner.ended());
  }
  refused_with_id_of_n2("n1");
  bench_.stop();
  bench_.start();
  target_ = fmt::format("127.0.0.1:{}", bench_.server_->tcp_port());
  refused_with_id_of_n2("n1");
  EXPECT_EQ(listed(), "n2 id-n2 lost; ") << "the database knows whose it is";
  ASSERT_TRUE(
      trust::renew(bench_.path("."), {.names = {"n2"}, .new_key = true}, fleet::unix_seconds()));
  ScriptedAgent again(agent("n2", "n2"));
  EXPECT_TRUE(welcome(again));
}

TEST_F(TlsTest, ThirdStreamsOfACertificateAreRefusedUnreadAndAnotherAgentAttaches) {
  pki("agent . n1");
  pki("agent . n2");
  struct Silent {
    std::unique_ptr<api::AgentLink::Stub> stub;
    grpc::ClientContext context;
    std::thread reader;
  };
  // On connections of their own. Two of them stay, whichever they are.
  constexpr int kSilent = 10;
  std::atomic<int> ended = 0;
  std::list<Silent> silent;
  for (int i = 0; i < kSilent; ++i) {
    Silent& one = silent.emplace_back();
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    one.stub =
        api::AgentLink::NewStub(grpc::CreateCustomChannel(target_, credentials("n1"), arguments));
    one.reader = std::thread([&one, &ended] {
      const auto stream = one.stub->Attach(&one.context);
      api::ControllerMessage message;
      EXPECT_FALSE(stream->Read(&message));
      const auto code = stream->Finish().error_code();
      if (code == grpc::StatusCode::RESOURCE_EXHAUSTED) ++ended;
    });
  }
  EXPECT_TRUE(wait_for(20, [&] { return ended == kSilent - 2; })) << ended;
  const auto stub = api::AgentLink::NewStub(grpc::CreateChannel(target_, credentials("n1")));
  constexpr int kFlood = 300;
  for (int i = 0; i < kFlood; ++i) {
    grpc::ClientContext context;
    const auto third = stub->Attach(&context);
    api::ControllerMessage message;
    EXPECT_FALSE(third->Read(&message));
    const grpc::Status status = third->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << i;
    EXPECT_THAT(status.error_message(), HasSubstr("certificate n1 has 2 streams, its limit"));
  }
  ScriptedAgent other(agent("n2", "n2"));
  EXPECT_TRUE(welcome(other));
  for (Silent& one : silent) one.context.TryCancel();
  for (Silent& one : silent) one.reader.join();
  bench_.stop();
  auto store = store::Store::open({.path = bench_.config_.database});
  ASSERT_TRUE(store) << store.error().message;
  std::size_t told = 0;
  const auto events = (*store)->list_events(1'000);
  for (const store::EventRow& event : *events) told += event.kind == "node_refused" ? 1 : 0;
  EXPECT_GE(told, 1U);
  EXPECT_LE(told, 7U) << "six a minute, and their number";
}

TEST_F(TlsTest, OnlyTheUnitAgentMayAttachAndItMayNotControl) {
  pki("agent . n1");
  pki("operator . ann");
  sign("janitor", "/O=x/OU=janitor/CN=n1");
  sign("both", "/O=x/OU=agent/OU=operator/CN=n1");
  for (const char* base : {"ann", "janitor", "both"}) {
    ScriptedAgent other(agent("n1", base));
    ASSERT_TRUE(other.wait_until([](const ScriptedAgent& a) { return a.ended(); })) << base;
    EXPECT_EQ(other.status().error_code(), grpc::StatusCode::PERMISSION_DENIED) << base;
    EXPECT_THAT(other.status().error_message(), HasSubstr("an agent needs OU=agent")) << base;
  }
  for (const char* base : {"n1", "janitor", "both"})
    EXPECT_EQ(list_nodes(base).error_code(), grpc::StatusCode::PERMISSION_DENIED) << base;
}

TEST_F(TlsTest, AnOperatorMayDoAllAndAViewerOnlyLook) {
  pki("operator . ann");
  pki("viewer . bob");
  EXPECT_TRUE(list_nodes("ann").ok());
  EXPECT_TRUE(list_nodes("bob").ok());
  EXPECT_EQ(start_run("ann").error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);  // reached the suite check
  const grpc::Status refused = start_run("bob");
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(refused.error_message(),
              HasSubstr("bob: the certificate gives viewer; this needs OU=operator"));
}

TEST_F(TlsTest, WithoutACertificateOfTheAuthorityThereIsNoConnection) {
  EXPECT_EQ(list_nodes("").error_code(), grpc::StatusCode::UNAVAILABLE);
  shell(fmt::format("mkdir {}", bench_.path("other")));
  pki("ca other");
  pki("operator other eve");
  EXPECT_EQ(list_nodes("other/eve").error_code(), grpc::StatusCode::UNAVAILABLE);
  const auto plain =
      api::Control::NewStub(grpc::CreateChannel(target_, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  api::NodeList nodes;
  EXPECT_EQ(plain->ListNodes(&context, {}, &nodes).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(TlsTest, TheUriOfACertificateCountsBeforeItsSubject) {
  sign("uri", "/O=x/CN=other", "URI:railgauge://agent/n1");
  ScriptedAgent right(agent("n1", "uri"));
  EXPECT_TRUE(welcome(right));
  ScriptedAgent wrong(agent("other", "uri"));
  ASSERT_TRUE(wrong.wait_until([](const ScriptedAgent& a) { return a.ended(); }));
  EXPECT_EQ(wrong.status().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  sign("ann", "/O=x/CN=x", "URI:railgauge://operator/ann");
  EXPECT_EQ(start_run("ann").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(TlsTest, UrisThatContradictGiveNoRole) {
  const std::map<std::string, std::string> hostile{
      {"URI:railgauge://operator/a,URI:railgauge://operator/a", "several railgauge: URIs"},
      {"URI:railgauge://viewer/a,URI:railgauge://operator/a", "several railgauge: URIs"},
      {"URI:railgauge://viewer/a", "the certificate's URI says viewer, its OU operator"},
      {"URI:RAILGAUGE://operator/a", "URI"},
      {"URI:railgauge://operator/a%00b", "URI"}};
  for (const auto& [names, reason] : hostile) {
    sign("eve", "/O=x/OU=operator/CN=eve", names);
    const grpc::Status refused = list_nodes("eve");
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED) << names;
    EXPECT_THAT(refused.error_message(), HasSubstr(reason)) << names;
  }
  sign("ann", "/O=x/OU=operator/CN=ann", "URI:spiffe://cluster/x");
  EXPECT_TRUE(list_nodes("ann").ok());
}

TEST_F(TlsTest, ARenewedCertificateIsShownWhileStreamsStay) {
  pki("agent . n1");
  ScriptedAgent attached(agent("n1", "n1"));
  ASSERT_TRUE(welcome(attached));
  const std::string before = shown_serial("n1");
  // Half of a pair is no pair: the old one stays.
  shell(
      fmt::format("cd {} && cp controller.key kept && cp n1.key controller.key", bench_.path("")));
  bench_.server_->reload_tls();
  std::this_thread::sleep_for(std::chrono::duration<double>(2 * TlsKeeper::kLookSeconds));
  EXPECT_EQ(shown_serial("n1"), before);
  shell(fmt::format("cd {} && cp kept controller.key", bench_.path("")));
  ASSERT_TRUE(trust::renew(bench_.path("."), {.names = {"controller"}, .new_key = true},
                           fleet::unix_seconds()));
  bench_.server_->reload_tls();
  EXPECT_TRUE(wait_for(5, [&] { return shown_serial("n1") != before; }));
  EXPECT_FALSE(attached.ended());
  pki("viewer . bob");
  EXPECT_TRUE(list_nodes("bob").ok());
}

// The log and the events have it once; /healthz as long as it lasts.
TEST_F(TlsTest, AListThatCannotBeReadAnyMoreIsSaidUntilItCan) {
  metric::Registry series(metric::Owner::kController);
  std::atomic<int> refused = 0;
  const auto keeper = TlsKeeper::open({.pem = {.certificate = bench_.path("controller.crt"),
                                               .key = bench_.path("controller.key"),
                                               .authority = bench_.path("ca.crt")},
                                       .crl = bench_.path("crl.pem")},
                                      series, [&](const std::string& kind, const std::string&) {
                                        if (kind == "crl_refused") ++refused;
                                      });
  ASSERT_TRUE(keeper) << keeper.error().message;
  EXPECT_EQ((*keeper)->trouble(), "");
  shell(fmt::format("cd {} && mv crl.pem kept", bench_.path("")));
  EXPECT_TRUE(wait_for(10, [&] { return !(*keeper)->trouble().empty(); }));
  EXPECT_THAT((*keeper)->trouble(), HasSubstr("crl.pem"));
  EXPECT_THAT((*keeper)->trouble(), HasSubstr("the old one stays in use\n"));
  const auto healthz = [&] {
    return httplib::Client("127.0.0.1", bench_.server_->metrics_port()).Get("/healthz")->body;
  };
  EXPECT_TRUE(wait_for(10, [&] { return healthz().find("crl.pem") != std::string::npos; }));
  EXPECT_THAT(healthz(), Not(HasSubstr(bench_.path("")))) << "the port asks nobody who they are";
  std::this_thread::sleep_for(std::chrono::duration<double>(2 * TlsKeeper::kLookSeconds));
  EXPECT_EQ(refused, 1);
  shell(fmt::format("cd {} && mv kept crl.pem", bench_.path("")));
  EXPECT_TRUE(wait_for(10, [&] { return (*keeper)->trouble().empty(); }));
}

TEST_F(TlsTest, ARevokedCertificateLosesItsStreamAndItsCalls) {
  pki("agent . n1");
  pki("agent . n2");
  pki("operator . ann");
  ScriptedAgent gone(agent("n1", "n1"));
  ScriptedAgent stays(agent("n2", "n2"));
  ASSERT_TRUE(welcome(gone));
  ASSERT_TRUE(welcome(stays));
  EXPECT_TRUE(list_nodes("ann").ok());
  revoke("n1");
  revoke("ann");
  EXPECT_TRUE(gone.wait_until([](const ScriptedAgent& a) { return a.ended(); }));
  EXPECT_EQ(gone.status().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(wait_for(10, [&] { return !list_nodes("ann").ok(); }));
  EXPECT_THAT(list_nodes("ann").error_message(), HasSubstr("is revoked"));
  EXPECT_FALSE(stays.ended());
  // A list that is broken, or gone, takes nothing back.
  std::ofstream(bench_.path("crl.pem")) << "-----BEGIN X509 CRL-----\nnot base64\n";
  bench_.server_->reload_tls();
  std::this_thread::sleep_for(std::chrono::duration<double>(2 * TlsKeeper::kLookSeconds));
  EXPECT_EQ(list_nodes("ann").error_code(), grpc::StatusCode::PERMISSION_DENIED);
  shell(fmt::format("rm {}", bench_.path("crl.pem")));
  bench_.server_->reload_tls();
  std::this_thread::sleep_for(std::chrono::duration<double>(2 * TlsKeeper::kLookSeconds));
  EXPECT_EQ(list_nodes("ann").error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_FALSE(stays.ended());
}

}  // namespace
}  // namespace railgauge

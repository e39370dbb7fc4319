// Mutual TLS over a real loopback port, with certificates of deploy/pki.sh: who gets in as what.
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/testing/server_bench.h"

namespace railgauge {
namespace {

using testing::HasSubstr;
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
                          .tls_ca = bench_.path("ca.crt")};
    bench_.start();
    target_ = fmt::format("127.0.0.1:{}", bench_.server_->tcp_port());
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
  void sign(const std::string& base, const std::string& subject) {
    shell(fmt::format(
        "cd {0} && openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "
        "{1}.key -subj '{2}' -out {1}.req && openssl x509 -req -in {1}.req -CA ca.crt -CAkey "
        "ca.key "
        "-CAcreateserial -days 2 -out {1}.crt",
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

}  // namespace
}  // namespace railgauge

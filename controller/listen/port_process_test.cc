// The program's TCP port under attack: few descriptors, many agents, a broken socket, wrong sizes.
#include <grpcpp/generic/generic_stub.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <regex>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/listen/descriptors.h"
#include "controller/testing/controller_process.h"
#include "controller/testing/server_bench.h"
#include "controller/testing/tcp_client.h"
#include "kernels/core/group/framing.h"

namespace railgauge {
namespace {

using testing::HasSubstr;
using testing_agent::ScriptedAgent;
using testing_agent::ServerBench;
using testing_agent::welcome;
using testing_listen::client_hello;
using testing_listen::connect_from;
using testing_listen::send_text;
using Process = testing_agent::ControllerProcess;

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class PortTest : public testing::Test {
 protected:
  // Certificates of controller and operator, in the bench's folder.
  void make_certificates() {
    const std::string script = std::filesystem::absolute("deploy/pki.sh").string();
    const std::string command =
        fmt::format("cd {0} && {1} ca . && {1} controller . 127.0.0.1 && {1} operator . ann",
                    bench_.path(""), script);
    ASSERT_EQ(std::system(fmt::format("({}) >/dev/null 2>&1", command).c_str()), 0);
  }
  [[nodiscard]] std::vector<std::string> tls() const {
    return {"--listen=127.0.0.1:0", "--tls-cert=" + bench_.path("controller.crt"),
            "--tls-key=" + bench_.path("controller.key"), "--tls-ca=" + bench_.path("ca.crt")};
  }
  [[nodiscard]] std::shared_ptr<grpc::ChannelCredentials> operator_credentials() const {
    return grpc::SslCredentials(
        {read(bench_.path("ca.crt")), read(bench_.path("ann.key")), read(bench_.path("ann.crt"))});
  }
  // The port that the program chose.
  static int port_of(const Process& controller) {
    EXPECT_TRUE(controller.wait_until_serving()) << controller.error_text();
    std::smatch found;
    const std::string text = controller.error_text();
    if (!std::regex_search(text, found, std::regex("port ([0-9]+)"))) return 0;
    return std::stoi(found[1]);
  }
  static grpc::Status ask(const std::string& target,
                          const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto stub =
        api::Control::NewStub(grpc::CreateCustomChannel(target, credentials, arguments));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(2));
    api::VersionInfo version;
    return stub->GetVersion(&context, {}, &version);
  }

  ServerBench bench_;
};

// A peer without a certificate can do each of these.
TEST_F(PortTest, With160UnfinishedHandshakesAt128DescriptorsBothPortsAnswer) {
  make_certificates();
  const Process controller(bench_, tls(), "", rlimit{.rlim_cur = 128, .rlim_max = 128});
  const int port = port_of(controller);
  const std::string hello = client_hello();
  for (const std::string& text : {std::string(), hello.substr(0, 50), hello}) {
    std::vector<Fd> peers;
    for (int i = 0; i < 160; ++i) {
      peers.push_back(connect_from(port));
      if (!text.empty()) send_text(peers.back(), text);
      if (i % 40 != 0) continue;
      const grpc::Status local = ask(bench_.target(), grpc::InsecureChannelCredentials());
      EXPECT_TRUE(local.ok()) << i << " with " << text.size()
                              << " bytes: " << local.error_message();
    }
    peers.clear();
    const grpc::Status remote = ask(fmt::format("127.0.0.1:{}", port), operator_credentials());
    EXPECT_TRUE(remote.ok()) << text.size() << " bytes: " << remote.error_message();
  }
}

TEST_F(PortTest, UnderASoftLimitOf1024Descriptors1500AgentsAttach) {
  constexpr std::size_t kAgents = 1'500;
  ASSERT_TRUE(raise_descriptor_limit());
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  if (files.rlim_max < 2 * kAgents) GTEST_SKIP() << "the hard limit is " << files.rlim_max;
  files.rlim_cur = 1'024;
  const Process controller(bench_, {"--insecure", "--listen=127.0.0.1:0"}, "", files);
  const int port = port_of(controller);
  std::vector<std::unique_ptr<ScriptedAgent>> agents;
  for (std::size_t i = 0; i < kAgents; ++i) {
    auto options = bench_.agent(fmt::format("n{}", i));
    options.target = fmt::format("127.0.0.1:{}", port);
    agents.push_back(std::make_unique<ScriptedAgent>(options));
  }
  for (auto& agent : agents) ASSERT_TRUE(welcome(*agent));
  const auto stub = api::Control::NewStub(
      grpc::CreateChannel(bench_.target(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  api::NodeList nodes;
  ASSERT_TRUE(stub->ListNodes(&context, {}, &nodes).ok());
  std::size_t attached = 0;
  for (const api::NodeInfo& node : nodes.nodes()) attached += node.state() == "attached" ? 1 : 0;
  EXPECT_EQ(attached, kAgents);
}

TEST_F(PortTest, ATakenPortKeepsItFromStarting) {
  const Process first(bench_, {"--insecure", "--listen=127.0.0.1:0"});
  const int port = port_of(first);
  bench_.config_.socket = bench_.path("other.sock");
  bench_.config_.database = bench_.path("other.db");
  Process second(bench_, {"--insecure", fmt::format("--listen=127.0.0.1:{}", port)});
  EXPECT_EQ(second.wait(), 4);
  EXPECT_THAT(second.error_text(), HasSubstr("the port is taken"));
}

TEST_F(PortTest, AnOversizedMessageIsRefusedAndTheControllerServesOn) {
  const Process controller(bench_, {"--insecure", "--listen=127.0.0.1:0"});
  const std::string target = fmt::format("127.0.0.1:{}", port_of(controller));
  const auto stub =
      api::Control::NewStub(grpc::CreateChannel(target, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  api::SuiteSource suite;
  suite.set_text(std::string(kMaxFrameBytes + 1, 'x'));
  api::SuiteCheck check;
  const grpc::Status status = stub->CheckSuite(&context, suite, &check);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
  EXPECT_TRUE(ask(target, grpc::InsecureChannelCredentials()).ok());
}

}  // namespace
}  // namespace railgauge

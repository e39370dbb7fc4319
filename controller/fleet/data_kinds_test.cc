// Modelled and real nodes in one database: whoever comes second is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "controller/testing/certificates.h"
#include "controller/testing/server_bench.h"

namespace railgauge::fleet {
namespace {

using testing::HasSubstr;
using testing_agent::AgentOptions;
using testing_agent::ScriptedAgent;
using testing_agent::ServerBench;
using testing_agent::welcome;

bool is_turned_away(ScriptedAgent& agent) {
  return agent.wait_until([](const ScriptedAgent& a) { return a.ended(); }) && !agent.welcomed();
}

AgentOptions modelled(AgentOptions options) {
  options.change_hello = [](api::Hello& hello) { (*hello.mutable_facts())["synthetic"] = "true"; };
  return options;
}

TEST(DataKinds, ARealAgentIsRefusedByADatabaseOfModelledOnesAlsoAfterARestart) {
  ServerBench bench;
  for (int starts = 0; starts < 2; ++starts) {
    bench.start();
    ScriptedAgent model(modelled(bench.agent("n1")));
    EXPECT_TRUE(welcome(model));
    ScriptedAgent real(bench.agent("n2"));
    ASSERT_TRUE(is_turned_away(real));
    EXPECT_TRUE(real.refused().permanent());
    EXPECT_THAT(real.refused().reason(),
                HasSubstr("node n2 is real, and the database is synthetic"));
    bench.stop();
  }
}

TEST(DataKinds, AModelledAgentIsRefusedByADatabaseOfRealOnesAlsoAfterARestart) {
  ServerBench bench;
  for (int starts = 0; starts < 2; ++starts) {
    bench.start();
    if (starts == 0) {
      ScriptedAgent real(bench.agent("n1"));
      EXPECT_TRUE(welcome(real));
    }
    ScriptedAgent model(modelled(bench.agent("n2")));
    ASSERT_TRUE(is_turned_away(model));
    EXPECT_TRUE(model.refused().permanent());
    EXPECT_THAT(model.refused().reason(),
                HasSubstr("node n2 is modelled, and the database has data of real nodes"));
    bench.stop();
  }
}

// A controller with mutual TLS, and agents whose certificates are for n1 and n2.
class DataKindsOfCertificates : public testing::Test {
 protected:
  DataKindsOfCertificates() {
    std::filesystem::create_directory(bench_.path("pki"));
    certificates_.emplace(bench_.path("pki"));
    for (const std::string name : {"n1", "n2"})
      certificates_->sign(name, "/O=x/OU=agent/CN=" + name);
    bench_.config_.tcp = certificates_->tcp();
  }
  AgentOptions agent(const std::string& name) const {
    AgentOptions options = bench_.agent(name);
    options.target = fmt::format("127.0.0.1:{}", bench_.server_->tcp_port());
    options.credentials = certificates_->of(name);
    return options;
  }

  ServerBench bench_;
  std::optional<testing_agent::Certificates> certificates_;
};

TEST_F(DataKindsOfCertificates, ACertificateDoesNotMakeAnEmptyDatabaseSynthetic) {
  bench_.start();
  ScriptedAgent model(modelled(agent("n1")));
  ASSERT_TRUE(is_turned_away(model));
  EXPECT_TRUE(model.refused().permanent());
  EXPECT_THAT(model.refused().reason(),
              HasSubstr("node n1 is modelled, and the database is empty: an agent with a "
                        "certificate does not make it synthetic"));
  ScriptedAgent real(agent("n2"));
  EXPECT_TRUE(welcome(real));
}

TEST_F(DataKindsOfCertificates, TheControllersFlagOpensItToModelledNodesAndNoOthers) {
  bench_.config_.synthetic = true;
  bench_.start();
  ScriptedAgent real(agent("n2"));
  ASSERT_TRUE(is_turned_away(real));
  ScriptedAgent model(modelled(agent("n1")));
  EXPECT_TRUE(welcome(model));
}

TEST(DataKinds, ASimulatedClockIsRefusedByADatabaseOfRealNodes) {
  ServerBench bench;
  bench.start();
  {
    ScriptedAgent real(bench.agent("n1"));
    ASSERT_TRUE(welcome(real));
  }
  bench.stop();
  bench.config_.simulated_clock = 1'767'571'200;
  const auto server = Server::start(bench.config_, bench.fleet_options_);
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code, Code::kInvalidArgument);
  EXPECT_THAT(server.error().message, HasSubstr("--simulated-clock: "));
  EXPECT_THAT(server.error().message, HasSubstr("it has data of real nodes"));
}

}  // namespace
}  // namespace railgauge::fleet

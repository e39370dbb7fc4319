// Connections by the connection manager, on the fake one.
#include "kernels/verbs/transport/connector.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "kernels/catalog.h"
#include "kernels/fakes/pair.h"
#include "kernels/fakes/verbs/fake_verbs.h"
#include "kernels/testing/contract.h"

namespace railgauge {
namespace {

using fake::RankResult;
using fake::run_pair;
using fake::verbs_control;
using ::testing::HasSubstr;

using Parameters = std::map<std::string, std::string>;

class ConnectionManager : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv(kVerbsLibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1);
    setenv(kRdmacmLibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1);
  }
  void SetUp() override { verbs_control().reset(); }
  void TearDown() override {
    EXPECT_EQ(verbs_control().live_handles, 0);
    verbs_control().reset();
  }
  static auto run(std::string_view kernel, Parameters parameters, Parameters target = {}) {
    parameters.emplace("stall_timeout", "30s");
    return run_pair(*find_kernel(kernel),
                    {.parameters = std::move(parameters), .target_parameters = std::move(target)});
  }
};

void expect_passed(const std::array<RankResult, 2>& results, const std::string& what) {
  for (const RankResult& result : results)
    ASSERT_TRUE(result.status) << what << ": " << result.status.error().message;
}

TEST_F(ConnectionManager, ConnectsEveryKernelThatHasReliableConnections) {
  for (const KernelRow& row : catalog()) {
    const std::string name = row.info().name();
    // write_visible_lat needs a GPU and connects as write_lat does.
    if (!name.starts_with("verbs.") || name == "verbs.write_visible_lat") continue;
    Parameters parameters{{"connection", "rdma_cm"}, {"iterations", "50"}};
    if (name.ends_with("_bw")) parameters["qps"] = "3";
    const auto results = run(name, parameters);
    expect_passed(results, name);
    EXPECT_EQ(results[0].facts.at("connection"), "rdma_cm") << name;
    EXPECT_EQ(results[0].facts.at("cm_address"), "192.0.2.1") << name;
    EXPECT_THAT(results[0].facts.at("rdmacm_path"), HasSubstr("libibverbs-fake"));
    EXPECT_TRUE(results[0].points[0].verified());
  }
}

TEST_F(ConnectionManager, IsNotAskedWhereAddressesAreExchanged) {
  for (const char* way : {"auto", "exchange"}) {
    const auto results = run("verbs.write_lat", {{"connection", way}, {"iterations", "10"}});
    expect_passed(results, way);
    EXPECT_EQ(results[0].facts.at("connection"), "exchange");
    EXPECT_FALSE(results[0].facts.contains("rdmacm_path"));
  }
}

TEST_F(ConnectionManager, IsTakenByItselfOnIwarpWhereTheDriverMovesTheQueuePairs) {
  verbs_control().iwarp = 1;
  const auto results =
      run("verbs.write_bw", {{"iterations", "50"}, {"qps", "2"}, {"cm_address", "192.0.2.1"}},
          {{"cm_address", "192.0.2.2"}});
  expect_passed(results, "iwarp");
  EXPECT_EQ(results[1].facts.at("connection"), "rdma_cm");
}

// The fake's reads need what iWARP's do: a sink that the other side may write.
TEST_F(ConnectionManager, EveryKernelWithReliableConnectionsRunsOnIwarp) {
  verbs_control().iwarp = 1;
  for (const KernelRow& row : catalog()) {
    const std::string name = row.info().name();
    if (!name.starts_with("verbs.") || name == "verbs.write_visible_lat") continue;
    const auto results = run(name, {{"iterations", "50"}, {"cm_address", "192.0.2.1"}},
                             {{"cm_address", "192.0.2.2"}});
    expect_passed(results, name);
    EXPECT_TRUE(results[0].points[0].verified()) << name;
  }
}

TEST_F(ConnectionManager, RefusesWhatItCannotConnectInOneLine) {
  const auto datagrams = run("verbs.send_lat", {{"connection", "rdma_cm"}, {"transport", "UD"}});
  ASSERT_FALSE(datagrams[0].status);
  EXPECT_EQ(datagrams[0].status.error().code, Code::kInvalidArgument);
  EXPECT_EQ(
      datagrams[0].status.error().message,
      "fake0:1: parameter transport: UD is not connected by rdma_cm here; take RC, or connection "
      "exchange");
  const auto partition = run("verbs.send_lat", {{"connection", "rdma_cm"}, {"pkey_index", "1"}});
  ASSERT_FALSE(partition[0].status);
  EXPECT_THAT(partition[0].status.error().message, HasSubstr("parameter pkey_index: "));
  const auto address = run("verbs.send_lat", {{"connection", "rdma_cm"}, {"cm_address", "x"}});
  ASSERT_FALSE(address[0].status);
  EXPECT_THAT(address[0].status.error().message, HasSubstr("x is no numeric IP address"));
  verbs_control().iwarp = 1;
  const auto exchange = run("verbs.write_lat", {{"connection", "exchange"}});
  ASSERT_FALSE(exchange[0].status);
  EXPECT_EQ(exchange[0].status.error().code, Code::kInvalidArgument);
  EXPECT_THAT(exchange[0].status.error().message, HasSubstr("take rdma_cm"));
  const auto keyed = run("verbs.write_lat", {{"pkey", "0xffff"}});
  ASSERT_FALSE(keyed[0].status) << "it was never used";
  EXPECT_EQ(keyed[0].status.error().code, Code::kInvalidArgument);
  EXPECT_THAT(keyed[0].status.error().message,
              HasSubstr("parameter pkey: this device's connections are the connection manager's"));
  const auto gid = run("verbs.write_lat", {});
  ASSERT_FALSE(gid[0].status);
  EXPECT_THAT(gid[0].status.error().message, HasSubstr("the port's GID is no IP address"));
}

TEST_F(ConnectionManager, AnAddressOfAnotherPortIsNamed) {
  const auto results = run("verbs.write_lat", {{"connection", "rdma_cm"}, {"iterations", "10"}},
                           {{"cm_address", "192.0.2.1"}});
  expect_passed(results, "the target's address is only where it listens");
  const auto wrong =
      run("verbs.write_lat", {{"connection", "rdma_cm"}, {"cm_address", "192.0.2.2"}});
  ASSERT_FALSE(wrong[0].status);
  EXPECT_EQ(wrong[0].status.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(wrong[0].status.error().message, HasSubstr("192.0.2.2 leads through fake1; name an"));
}

TEST_F(ConnectionManager, PathsAreAsTheParametersSay) {
  expect_passed(run("verbs.write_lat", {{"connection", "rdma_cm"},
                                        {"traffic_class", "106"},
                                        {"service_level", "3"},
                                        {"flow_label", "4660"},
                                        {"iterations", "10"}}),
                "path");
  EXPECT_EQ(verbs_control().last_traffic_class, 106U);
  EXPECT_EQ(verbs_control().last_service_level, 3U);
  EXPECT_EQ(verbs_control().last_flow_label, 4660U);
}

// The walk of kernel_contract_test over what only the manager does.
TEST_F(ConnectionManager, AFailureOfEachCallIsClearAndLeaksNothing) {
  for (const std::uint64_t iwarp : {0U, 1U}) {
    std::uint64_t call = 1;
    for (; call < 400; ++call) {
      verbs_control().reset();
      verbs_control().iwarp = iwarp;
      verbs_control().fail_call = call;
      const auto results = run("verbs.write_bw",
                               {{"connection", "rdma_cm"},
                                {"sizes", "16"},
                                {"stall_timeout", "100ms"},
                                {"iterations", "2"},
                                {"signal_every", "1"},
                                {"qps", "2"},
                                {"cm_address", "192.0.2.1"}},
                               {{"cm_address", "192.0.2.2"}});
      ASSERT_EQ(verbs_control().live_handles, 0) << "call " << call;
      if (verbs_control().calls < call) {
        expect_passed(results, "no failure");
        break;
      }
      SCOPED_TRACE("call " + std::to_string(call));
      for (const RankResult& result : results) expect_clear(result.status, call);
      expect_told(results, verbs_control().failed_call.load(), {});
    }
    EXPECT_GT(call, 40U);
    EXPECT_LT(call, 400U);
  }
}

}  // namespace
}  // namespace railgauge

// A task's settings in the process's environment. A separate program: it sets NCCL_DEBUG as a site
// would, and the owner of output is decided once a process.
#include "kernels/nccl/communicator/environment.h"

#include <unistd.h>

#include <fstream>

#include "kernels/nccl/testing/on_fake_ranks.h"

namespace railgauge::nccl {
namespace {

using ::testing::HasSubstr;

class Environment : public OnFakeRanks {
 protected:
  void SetUp() override {
    OnFakeRanks::SetUp();
    for (const char* name : {"NCCL_IB_HCA", "NCCL_ALGO", "NCCL_IB_DISABLE", "NCCL_NET_GDR_LEVEL",
                             "NCCL_IB_TC", "NCCL_P2P_DISABLE"})
      unsetenv(name);
    setenv("NCCL_DEBUG", "WARN", 1);
  }
  static std::string value(const char* name) {
    const char* text = std::getenv(name);
    return text != nullptr ? text : "unset";
  }
  static fake::RankResult run_one(const Parameters& parameters) {
    return run("nccl.all_reduce", 1, parameters)[0];
  }
};

TEST_F(Environment, HasWhatTheTaskDeclares) {
  const auto result = run_one({{"ib_hca", "=mlx5_0,mlx5_1"},
                               {"p2p_disable", "true"},
                               {"ib_disable", "false"},
                               {"net_gdr_level", "PXB"},
                               {"ib_tc", "0"}});
  EXPECT_TRUE(result.status);
  EXPECT_EQ(value("NCCL_IB_HCA"), "=mlx5_0,mlx5_1");
  EXPECT_EQ(value("NCCL_P2P_DISABLE"), "1");
  EXPECT_EQ(value("NCCL_IB_DISABLE"), "0");
  EXPECT_EQ(value("NCCL_NET_GDR_LEVEL"), "PXB");
  EXPECT_EQ(value("NCCL_IB_TC"), "0");
  EXPECT_EQ(value("NCCL_ALGO"), "unset") << "nothing that was not declared";
  EXPECT_THAT(result.facts.at("nccl_environment"), HasSubstr("NCCL_IB_HCA==mlx5_0,mlx5_1"));
}

TEST_F(Environment, KeepsTheSitesAndTellsIt) {
  setenv("NCCL_ALGO", "Ring", 1);
  setenv("NCCL_NET_GDR_LEVEL", "2", 1);
  const auto result = run_one({});
  EXPECT_TRUE(result.status);
  EXPECT_EQ(value("NCCL_ALGO"), "Ring");
  EXPECT_THAT(result.facts.at("nccl_environment"), HasSubstr("NCCL_ALGO=Ring"));
  EXPECT_EQ(result.facts.at("nccl_net_gdr_level"), "PXB") << "the old number in words";
}

// From the environment and from nccl.conf, over which the environment has priority.
TEST_F(Environment, SaysWhatOfTheNodesOwnATaskReplaces) {
  const std::string path = ::testing::TempDir() + "/" + std::to_string(getpid()) + ".own.conf";
  std::ofstream(path) << "NCCL_IB_TC=104\nNCCL_P2P_DISABLE=1\n";
  setenv("NCCL_CONF_FILE", path.c_str(), 1);
  setenv("NCCL_ALGO", "Ring", 1);
  const auto result = run_one({{"ib_tc", "106"}, {"algo", "Tree"}, {"p2p_disable", "true"}});
  EXPECT_TRUE(result.status);
  EXPECT_EQ(result.facts.at("nccl_environment_replaced"), "NCCL_IB_TC=104 NCCL_ALGO=Ring");
  EXPECT_EQ(run_one({}).facts.count("nccl_environment_replaced"), 0U);
  unsetenv("NCCL_CONF_FILE");
  unlink(path.c_str());
}

TEST_F(Environment, OfCudaIsToldToo) {
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  const auto result = run_one({});
  EXPECT_TRUE(result.status);
  EXPECT_THAT(result.facts.at("cuda_environment"), HasSubstr("CUDA_MODULE_LOADING=EAGER"));
  unsetenv("CUDA_MODULE_LOADING");
}

// In a process of its own: CUDA reads it once.
TEST_F(Environment, KeepsTheSitesHardwareQueues) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto told = [](const char* queues) {
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", queues, 1);
    const std::string fact = run_one({}).facts.at("cuda_environment");
    std::exit(fact.find(std::string("CUDA_DEVICE_MAX_CONNECTIONS=") + queues) == fact.npos ? 1 : 0);
  };
  EXPECT_EXIT(told("1"), ::testing::ExitedWithCode(0), "");
}

TEST_F(Environment, MayMakeCommunicatorsNonBlocking) {
  setenv("NCCL_COMM_BLOCKING", "0", 1);
  expect_passed(run("nccl.all_reduce", 3, {}));
  unsetenv("NCCL_COMM_BLOCKING");
}

TEST_F(Environment, IsEmptyWhenAskedToBeClean) {
  setenv("NCCL_ALGO", "Ring", 1);
  const auto result = run_one({{"environment", "clean"}, {"ib_tc", "106"}});
  EXPECT_TRUE(result.status);
  EXPECT_EQ(value("NCCL_ALGO"), "unset");
  EXPECT_EQ(result.facts.at("nccl_environment"), "NCCL_IB_TC=106");
}

// Most sites have WARN.
TEST_F(Environment, OfTheSitesDebugLevelDoesNotHideWhatNcclUses) {
  const auto result = run_one({});
  EXPECT_TRUE(result.status);
  EXPECT_EQ(value("NCCL_DEBUG"), "INFO");
  EXPECT_EQ(result.facts.at("nccl_network"), "Fake");
  EXPECT_EQ(result.facts.at("nccl_debug"), "NCCL_DEBUG=WARN at the site, INFO for this task");
  ASSERT_FALSE(result.points.empty());
  EXPECT_EQ(result.points[0].facts().count("algorithm"), 1U);
}

// In a process of its own: whose output it is is decided once.
TEST_F(Environment, LeavesTheUsersFileAloneAndSaysSo) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto told = [] {
    setenv("NCCL_DEBUG_FILE", "/dev/null", 1);
    const auto result = run_one({});
    const bool well =
        result.status && value("NCCL_DEBUG") == "WARN" &&
        result.facts.at("nccl_transports") == "not told: NCCL_DEBUG_FILE=/dev/null was set" &&
        !result.points.empty() && result.points[0].facts().count("algorithm") == 0;
    std::exit(well ? 0 : 1);
  };
  EXPECT_EXIT(told(), ::testing::ExitedWithCode(0), "");
}

// The usual place of it.
TEST_F(Environment, OfNcclConfIsToldWithItsNumbersInWords) {
  const std::string path = ::testing::TempDir() + "/" + std::to_string(getpid()) + ".nccl.conf";
  std::ofstream(path) << "# the site's\nNCCL_NET_GDR_LEVEL=3\n";
  setenv("NCCL_CONF_FILE", path.c_str(), 1);
  const auto result = run_one({});
  EXPECT_EQ(result.facts.at("nccl_conf"), path + ": NCCL_NET_GDR_LEVEL=3");
  EXPECT_EQ(result.facts.at("nccl_net_gdr_level"), "PHB");
  unsetenv("NCCL_CONF_FILE");
  unlink(path.c_str());
}

TEST_F(Environment, RefusesAListWithABlank) {
  const auto result = run_one({{"ib_hca", "mlx5_0, mlx5_1"}});
  ASSERT_FALSE(result.status);
  EXPECT_EQ(result.status.error().code, Code::kInvalidArgument);
  EXPECT_EQ(result.status.error().message,
            "parameter ib_hca: \"mlx5_0, mlx5_1\" has a blank in it");
}

TEST(EnvironmentOnce, AnotherSettingInTheSameProcessIsRefusedForARealLibrary) {
  const KernelInfo info = find_kernel("nccl.all_reduce")->info();
  const auto first = Params::parse(info, {});
  const auto other = Params::parse(info, {{"algo", "Tree"}});
  ASSERT_TRUE(first && other);
  // Whichever a test of this program came with first.
  static_cast<void>(check_environment(*first, true));
  const bool first_well = check_environment(*first, false).has_value();
  const bool other_well = check_environment(*other, false).has_value();
  EXPECT_FALSE(first_well && other_well);
}

}  // namespace
}  // namespace railgauge::nccl

// Broadcasts by multicast on the fake driver: all ranks in this process, each with memory of its
// own in the team.
#include <unistd.h>

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kernels/core/base/outcome.h"
#include "kernels/core/kernel.h"
#include "kernels/fakes/gpu_fixture.h"
#include "kernels/fakes/ranks.h"

namespace railgauge {
extern const KernelRow kCudaBroadcastBw;
}  // namespace railgauge

namespace railgauge::cuda {
namespace {

using fake::cuda_control;
using fake::RankResult;
using ::testing::Contains;
using ::testing::HasSubstr;

class BroadcastTest : public gpu::OnFakes {
 protected:
  using Given = std::map<std::string, std::string>;
  void SetUp() override {
    OnFakes::SetUp();
    setenv("NCCL_CONF_FILE", "/nonexistent", 1);
    unsetenv("NCCL_NVLS_ENABLE");
    cuda_control().multicast = 1;
  }
  void TearDown() override {
    unsetenv("NCCL_CONF_FILE");
    unsetenv("NCCL_NVLS_ENABLE");
    OnFakes::TearDown();
  }
  static std::vector<RankResult> send(Given given, std::uint32_t ranks = 3,
                                      std::uint32_t gpus = 3) {
    cuda_control().gpus = gpus;
    fake::nvml_control().gpus = gpus;
    given.try_emplace("multicast", "allow");
    given.try_emplace("iterations", "2");
    given.try_emplace("sizes", "64KiB");
    given.try_emplace("copies", "4");
    std::vector<std::string> endpoints;
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      endpoints.push_back("gpu" + std::to_string(rank % gpus));
    return fake::run_ranks(
        kCudaBroadcastBw,
        {.parameters = std::move(given), .ranks = ranks, .endpoints = std::move(endpoints)});
  }
  static void expect_measured(const std::vector<RankResult>& results) {
    for (const RankResult& result : results)
      ASSERT_TRUE(result.status) << result.status.error().message;
    ASSERT_EQ(results[0].points.size(), 1U);
    const Point& point = results[0].points[0];
    EXPECT_TRUE(point.verified());
    EXPECT_TRUE(point.synthetic());
    EXPECT_GT(point.median(), 0);
    EXPECT_TRUE(results[1].points.empty());
  }
  static void expect_waived(const std::vector<RankResult>& results, const std::string& words) {
    // Where rank 0 refuses at once, no other rank begins.
    for (const RankResult& result : results) EXPECT_TRUE(result.points.empty());
    ASSERT_FALSE(results[0].status) << "it measured";
    EXPECT_EQ(outcome_of(results[0].status.error().code), kWaived);
    EXPECT_THAT(results[0].status.error().message, HasSubstr(words));
  }
  static void expect_wrong_bytes(const std::vector<RankResult>& results, const std::string& gpu) {
    for (const RankResult& result : results) {
      ASSERT_FALSE(result.status) << "wrong bytes passed";
      EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
      EXPECT_THAT(result.status.error().message, HasSubstr(gpu + ": verify"));
      EXPECT_TRUE(result.points.empty());
    }
  }
};

TEST_F(BroadcastTest, MeasureAndCompareEachPattern) {
  for (const char* pattern : {"one_to_all", "all_to_all"})
    for (const char* engine : {"sm", "ce"}) {
      SCOPED_TRACE(std::string(pattern) + " " + engine);
      expect_measured(send({{"pattern", pattern}, {"engine", engine}}));
    }
  expect_measured(send({{"one", "2"}, {"sizes", "4100"}}));
}

TEST_F(BroadcastTest, RecordThePathAndWhatIsCounted) {
  const auto results = send({{"pattern", "one_to_all"}, {"one", "1"}});
  ASSERT_TRUE(results[0].status) << results[0].status.error().message;
  EXPECT_EQ(results[0].facts.at("path"), "SM multicast stores");
  EXPECT_EQ(results[0].facts.at("receivers"), "3");
  const auto& facts = results[0].points.at(0).facts();
  EXPECT_EQ(facts.at("rank_shares"), "0.000, 1.000, 0.000");
  EXPECT_EQ(facts.at("bytes_counted"), "once, and 3 GPUs have them");
}

TEST_F(BroadcastTest, FindAReceiverThatIsSkipped) {
  for (const char* pattern : {"one_to_all", "all_to_all"})
    for (std::uint64_t gpu = 0; gpu < 3; ++gpu) {
      SCOPED_TRACE(std::string(pattern) + " gpu" + std::to_string(gpu));
      cuda_control().multicast_skips = gpu + 1;
      expect_wrong_bytes(send({{"pattern", pattern}}), "gpu" + std::to_string(gpu));
    }
}

TEST_F(BroadcastTest, FindAWrongByteAtOneReceiver) {
  cuda_control().multicast_flips = 3;
  expect_wrong_bytes(send({{"pattern", "one_to_all"}}), "gpu2");
  expect_wrong_bytes(send({{"pattern", "all_to_all"}, {"engine", "ce"}}), "gpu2");
}

TEST_F(BroadcastTest, FindStoresThatDoNothing) {
  cuda_control().drop_copies_from = 1;
  expect_wrong_bytes(send({}), "");
}

TEST_F(BroadcastTest, WaiveWhereNobodyAllowsIt) {
  expect_waived(send({{"multicast", "forbid"}}), "the parameter multicast forbids");
  EXPECT_THAT(cuda_control().call_names(), ::testing::Not(Contains("cuMulticastCreate")));
}

TEST_F(BroadcastTest, WaiveWhereTheNodeForbidsIt) {
  setenv("NCCL_NVLS_ENABLE", "0", 1);
  expect_waived(send({}), "this node forbids NVLink multicast");
  unsetenv("NCCL_NVLS_ENABLE");
  const std::string path = ::testing::TempDir() + std::to_string(getpid()) + ".broadcast.conf";
  std::ofstream(path) << "NCCL_NVLS_ENABLE=0\n";
  setenv("NCCL_CONF_FILE", path.c_str(), 1);
  expect_waived(send({}), "this node forbids NVLink multicast");
  setenv("NCCL_NVLS_ENABLE", "1", 1);  // the environment has priority, as for NCCL
  expect_measured(send({}));
  std::filesystem::remove(path);
  EXPECT_EQ(cuda_control().live_handles(), 0);
}

TEST_F(BroadcastTest, WaiveWithoutWhatItNeeds) {
  expect_waived(send({}, 2, 1), "ranks share a GPU");
  expect_waived(send({{"handle", "fabric"}}), "the GPU has none; it needs NVLink between nodes");
  cuda_control().multicast = 0;
  expect_waived(send({}), "multicast: the device has none");
}

TEST_F(BroadcastTest, ShareTheObjectByFabricHandles) {
  cuda_control().fabric = 1;
  expect_measured(send({{"handle", "fabric"}, {"pattern", "all_to_all"}}));
}

TEST_F(BroadcastTest, RefuseWhatCannotBeSent) {
  EXPECT_EQ(send({{"sizes", "6"}})[0].status.error().code, Code::kInvalidArgument);
  EXPECT_EQ(send({{"one", "3"}})[0].status.error().code, Code::kInvalidArgument);
}

// Each call that builds the team fails in turn: an error or a figure, and nothing is left.
TEST_F(BroadcastTest, SurviveAFailureOfEachCallOfTheTeam) {
  ASSERT_TRUE(send({{"sizes", "4KiB"}}, 2, 2)[0].status);
  const std::vector<std::string> names = cuda_control().call_names();
  int walked = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool of_team = names[i].starts_with("cuMulticast") || names[i].starts_with("cuMemMap") ||
                         names[i].starts_with("cuMemCreate") || names[i].ends_with("Handle") ||
                         names[i].starts_with("cuMemAddress");
    if (!of_team) continue;
    ++walked;
    cuda_control().reset();
    cuda_control().multicast = 1;
    cuda_control().fail_call = i + 1;
    for (const RankResult& result : send({{"sizes", "4KiB"}}, 2, 2)) {
      if (!result.status) {
        EXPECT_NE(result.status.error().code, Code::kDataLoss) << result.status.error().message;
      }
    }
    EXPECT_EQ(cuda_control().live_handles(), 0) << names[i];
  }
  EXPECT_GT(walked, 12);
}

}  // namespace
}  // namespace railgauge::cuda

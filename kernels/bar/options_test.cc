// The options of a mapping and of its copies, on the fakes of driver and gdrcopy: the caching that
// is asked for, memory of cuMemCreate, an offset, and copies that begin cold.
#include <gmock/gmock.h>

#include "kernels/core/base/outcome.h"
#include "kernels/dl/gdrapi.h"
#include "kernels/dl/vulkan.h"
#include "kernels/fakes/fake_gdrapi.h"
#include "kernels/fakes/fake_vulkan.h"
#include "kernels/fakes/gpu_fixture.h"
#include "kernels/fakes/solo.h"

namespace railgauge {
extern const KernelRow kBarCrossover;
extern const KernelRow kBarMapCost;
extern const KernelRow kBarReadBw;
extern const KernelRow kBarReadLat;
extern const KernelRow kBarWriteBw;
extern const KernelRow kBarWriteLat;
}  // namespace railgauge

namespace railgauge::bar {
namespace {

using fake::RankResult;
using ::testing::HasSubstr;
using Given = std::map<std::string, std::string>;

class BarOptions : public gpu::OnFakes {
 protected:
  static void SetUpTestSuite() {
    OnFakes::SetUpTestSuite();
    setenv(kGdrapiLibraryVariable, RAILGAUGE_FAKE_LIBGDRAPI, 1);
    setenv(kVulkanLibraryVariable, RAILGAUGE_FAKE_LIBVULKAN, 1);
  }
  void SetUp() override {
    OnFakes::SetUp();
    fake::gdrapi_control().reset();
    fake::vulkan_control().reset();
  }
  void TearDown() override {
    EXPECT_EQ(fake::gdrapi_control().live_handles, 0);
    OnFakes::TearDown();
  }
  static RankResult run(const KernelRow& row, Given given) {
    given.insert({{"backend", "gdrdrv"}, {"iterations", "5"}, {"sizes", "4KiB"}});
    return fake::run_solo(row, {.parameters = given});
  }
};

TEST_F(BarOptions, AskGdrdrvForAMapping) {
  const std::map<std::string, std::pair<std::uint64_t, const char*>> words{
      {"write_combined", {gdr::kMappingWriteCombined, "write-combining"}},
      {"cached", {gdr::kMappingCached, "cached"}},
      {"device", {gdr::kMappingDevice, "uncached"}}};
  for (const auto& [word, expected] : words) {
    const RankResult result = run(kBarWriteBw, {{"mapping", word}});
    ASSERT_TRUE(result.status) << result.status.error().message;
    EXPECT_EQ(fake::gdrapi_control().asked_mapping, expected.first);
    EXPECT_EQ(result.facts.at("path_caching"), expected.second);
  }
}

TEST_F(BarOptions, WaiveWhereTheMappingIsAnother) {
  fake::gdrapi_control().ignores_mapping = 1;
  const RankResult result = run(kBarWriteBw, {{"mapping", "cached"}});
  ASSERT_FALSE(result.status);
  EXPECT_EQ(outcome_of(result.status.error().code), kWaived);
  EXPECT_THAT(result.status.error().message,
              HasSubstr("mapping is write-combining, and cached was asked for"));
}

TEST_F(BarOptions, MapMemoryOfCuMemCreate) {
  for (const KernelRow* row : {&kBarWriteBw, &kBarMapCost}) {
    const RankResult result = run(*row, {{"allocation", "create"}, {"sizes", "64KiB"}});
    ASSERT_TRUE(result.status) << result.status.error().message;
    EXPECT_EQ(result.facts.at("allocation"), "cuMemCreate");
    EXPECT_EQ(fake::cuda_control().physical, 0);
  }
}

TEST_F(BarOptions, CopyFromAnOffsetOn) {
  const RankResult result = run(kBarWriteBw, {{"offset", "4100"}});
  ASSERT_TRUE(result.status) << result.status.error().message;
  EXPECT_TRUE(result.points.at(0).verified());
  EXPECT_EQ(result.points[0].facts().at("offset"), "4100");
  EXPECT_EQ(run(kBarWriteBw, {{"offset", "6"}}).status.error().code, Code::kInvalidArgument);
}

TEST_F(BarOptions, CoolTheCacheOfAMappingThatHasOne) {
  for (const KernelRow* row : {&kBarWriteLat, &kBarReadLat}) {
    const RankResult result = run(*row, {{"cache", "cold"}, {"mapping", "cached"}});
    ASSERT_TRUE(result.status) << result.status.error().message;
    EXPECT_EQ(result.points.at(0).facts().at("cache"), "cold");
    EXPECT_TRUE(result.points[0].verified());
    const RankResult waived = run(*row, {{"cache", "cold"}});
    ASSERT_FALSE(waived.status);
    EXPECT_EQ(outcome_of(waived.status.error().code), kWaived);
    EXPECT_THAT(waived.status.error().message, HasSubstr("nothing to cool"));
  }
}

// The library's own copies, beside those of this program.
class LibraryCopies : public BarOptions, public ::testing::WithParamInterface<const KernelRow*> {
 protected:
  static RankResult run_by_library(Given given) {
    given.insert({{"routine", "gdrapi"}, {"sizes", "4KiB"}, {"least_time", "0s"}});
    return run(*GetParam(), fake::declared_among(GetParam()->info(), given));
  }
};

TEST_P(LibraryCopies, MoveTheBytesThatAreCompared) {
  const RankResult result = run_by_library({});
  ASSERT_TRUE(result.status) << result.status.error().message;
  EXPECT_EQ(result.facts.at("copy_routine"), "gdrapi");
  EXPECT_GT(fake::gdrapi_control().copies, 5U);
  ASSERT_FALSE(result.points.empty());
  EXPECT_TRUE(result.points[0].verified());
}

TEST_P(LibraryCopies, ThatLoseAByteAreFound) {
  fake::gdrapi_control().drops_end_of = 4096;
  const RankResult result = run_by_library({{"sizes", "4KiB,128KiB"}});
  ASSERT_FALSE(result.status) << "wrong bytes passed";
  EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
  EXPECT_THAT(result.status.error().message, HasSubstr("byte 4095 is 0x"));
  EXPECT_TRUE(result.points.empty());
}

TEST_P(LibraryCopies, WaiveWithoutTheModuleOrOnAnotherPath) {
  fake::gdrapi_control().no_driver = 1;
  for (const char* backend : {"auto", "gdrdrv"}) {
    const RankResult waived = run_by_library({{"backend", backend}});
    ASSERT_FALSE(waived.status);
    EXPECT_EQ(outcome_of(waived.status.error().code), kWaived) << waived.status.error().message;
    EXPECT_THAT(waived.status.error().message, HasSubstr("gdrdrv: gdr_open"));
  }
  const RankResult other = run_by_library({{"backend", "vulkan"}});
  ASSERT_FALSE(other.status);
  EXPECT_EQ(outcome_of(other.status.error().code), kWaived);
  EXPECT_THAT(other.status.error().message,
              HasSubstr("gpu0: copy routine gdrapi: vulkan: no library copies through this path"));
}

INSTANTIATE_TEST_SUITE_P(Bar, LibraryCopies,
                         ::testing::Values(&kBarWriteBw, &kBarWriteLat, &kBarReadBw, &kBarReadLat,
                                           &kBarCrossover),
                         [](const auto& row) { return row.param->info().name().substr(4); });

TEST_F(BarOptions, AskAboutAMappingWhereTheDriverCan) {
  const auto metrics_by = [](const char* backend) {
    std::vector<std::string> metrics;
    const RankResult result = run(kBarMapCost, {{"backend", backend}, {"sizes", "64KiB"}});
    EXPECT_TRUE(result.status) << result.status.error().message;
    for (const Point& point : result.points) {
      metrics.push_back(point.metric());
      EXPECT_GT(point.median(), 0) << point.metric();
    }
    return metrics;
  };
  EXPECT_THAT(metrics_by("gdrdrv"),
              ::testing::ElementsAre("pin_ns", "map_ns", "get_info_ns", "unmap_ns", "unpin_ns"));
  EXPECT_THAT(metrics_by("vulkan"),
              ::testing::ElementsAre("pin_ns", "map_ns", "unmap_ns", "unpin_ns"));
}

}  // namespace
}  // namespace railgauge::bar

// The options of a mapping and of its copies, on the fakes of driver and gdrcopy: the caching that
// is asked for, memory of cuMemCreate, an offset, and copies that begin cold.
#include <gmock/gmock.h>

#include "kernels/core/base/outcome.h"
#include "kernels/dl/gdrapi.h"
#include "kernels/fakes/fake_gdrapi.h"
#include "kernels/fakes/gpu_fixture.h"
#include "kernels/fakes/solo.h"

namespace railgauge {
extern const KernelRow kBarMapCost;
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
  }
  void SetUp() override {
    OnFakes::SetUp();
    fake::gdrapi_control().reset();
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

}  // namespace
}  // namespace railgauge::bar

// Ranks that share one GPU's BAR on the fakes: threads of this process, each with a mapping of its
// own.
#include <gmock/gmock.h>

#include <array>
#include <cstring>

#include "kernels/bar/with_routines.h"
#include "kernels/core/base/outcome.h"
#include "kernels/dl/gdrapi.h"
#include "kernels/fakes/fake_gdrapi.h"
#include "kernels/fakes/gpu_fixture.h"
#include "kernels/fakes/ranks.h"

namespace railgauge {
extern const KernelRow kBarSharedBw;
}  // namespace railgauge

namespace railgauge::bar {
namespace {

using fake::RankResult;
using ::testing::HasSubstr;
using Given = std::map<std::string, std::string>;

constexpr std::size_t kTimedBytes = 8192;  // no proof of a larger window has so many
bool g_loses_end = false;

void copy_shared(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, g_loses_end && bytes == kTimedBytes ? bytes - 1 : bytes);
}
constexpr std::array kSharedRoutines{Routine{"memcpy", true, copy_shared, copy_shared}};

class SharedBar : public gpu::OnFakes {
 protected:
  static void SetUpTestSuite() {
    OnFakes::SetUpTestSuite();
    setenv(kGdrapiLibraryVariable, RAILGAUGE_FAKE_LIBGDRAPI, 1);
  }
  void SetUp() override {
    OnFakes::SetUp();
    fake::gdrapi_control().reset();
    g_loses_end = false;
  }
  void TearDown() override {
    EXPECT_EQ(fake::gdrapi_control().live_handles, 0);
    OnFakes::TearDown();
  }
  static std::vector<RankResult> share(Given given, std::vector<std::string> endpoints) {
    given.insert({{"backend", "gdrdrv"}, {"iterations", "3"}, {"sizes", "8KiB"}});
    return fake::run_ranks({kBarSharedBw.info, [] { return make_shared_bw(kSharedRoutines); }},
                           {.parameters = given,
                            .ranks = static_cast<std::uint32_t>(endpoints.size()),
                            .endpoints = endpoints});
  }
};

TEST_F(SharedBar, IsMeasuredAloneAndTogetherEachWay) {
  for (const char* direction : {"write", "read"}) {
    SCOPED_TRACE(direction);
    const auto results = share({{"direction", direction}}, {"gpu0", "gpu0", "gpu0"});
    for (const RankResult& result : results)
      ASSERT_TRUE(result.status) << result.status.error().message;
    EXPECT_TRUE(results[1].points.empty());
    ASSERT_EQ(results[0].points.size(), 2U);
    const Point& alone = results[0].points[0];
    const Point& together = results[0].points[1];
    EXPECT_EQ(alone.pair(), "alone");
    EXPECT_EQ(together.pair(), "together");
    for (const Point& point : results[0].points) {
      EXPECT_TRUE(point.verified());
      EXPECT_TRUE(point.synthetic());
      EXPECT_GT(point.median(), 0);
    }
    EXPECT_THAT(together.facts().at("rank_shares"), HasSubstr(", "));
    EXPECT_EQ(results[0].facts.at("processes"), "3");
  }
}

TEST_F(SharedBar, FailsAllRanksWhereOnesBytesAreWrong) {
  for (const char* direction : {"write", "read"}) {
    g_loses_end = true;
    for (const RankResult& result :
         share({{"direction", direction}, {"sizes", "8KiB,128KiB"}}, {"gpu0", "gpu0"})) {
      ASSERT_FALSE(result.status) << "wrong bytes passed";
      EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
      EXPECT_TRUE(result.points.empty());
    }
  }
}

TEST_F(SharedBar, RefusesTwoGpus) {
  for (const RankResult& result : share({}, {"gpu0", "gpu1"})) {
    ASSERT_FALSE(result.status);
    EXPECT_EQ(result.status.error().code, Code::kInvalidArgument);
    EXPECT_THAT(result.status.error().message, HasSubstr("share one GPU"));
  }
}

TEST_F(SharedBar, WaivesWhereARankHasNoPath) {
  fake::gdrapi_control().no_driver = 1;
  const RankResult result = share({}, {"gpu0", "gpu0"}).front();
  ASSERT_FALSE(result.status);
  EXPECT_EQ(outcome_of(result.status.error().code), kWaived) << result.status.error().message;
}

}  // namespace
}  // namespace railgauge::bar

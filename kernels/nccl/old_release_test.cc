// NCCL 2.18: additions of later releases are replaced by sends and receives, or waive. Libraries
// are loaded once a process, so this is a separate program.
#include "kernels/core/base/outcome.h"
#include "kernels/nccl/testing/on_fake_ranks.h"

namespace railgauge::nccl {
namespace {

using ::testing::HasSubstr;

class OnNccl218 : public OnFakeRanks {
 protected:
  static void SetUpTestSuite() {
    setenv(kNcclLibraryVariable, RAILGAUGE_FAKE_LIBNCCL_OLD, 1);
    OnFakeRanks::SetUpTestSuite();
  }
  // The old library has controls of its own, which this program does not steer.
};

TEST_F(OnNccl218, MeasuresAndVerifiesAll) {
  for (const std::string& kernel : collectives()) {
    SCOPED_TRACE(kernel);
    const auto results = run(kernel, several(kernel), {});
    expect_passed(results);
    EXPECT_EQ(results[0].facts.at("nccl"), "2.18.3");
  }
}

TEST_F(OnNccl218, SaysThatSendsAndReceivesTookThePlace) {
  for (const char* kernel : {"nccl.all_to_all", "nccl.gather", "nccl.scatter"}) {
    const auto results = run(kernel, 2, {});
    expect_passed(results);
    EXPECT_EQ(results[0].facts.at("implementation"), "grouped send and receive");
  }
}

TEST_F(OnNccl218, SaysThatItsChoicesAreNotTold) {
  const auto results = run("nccl.all_reduce", 2, {});
  expect_passed(results);
  EXPECT_THAT(results[0].facts.at("nccl_choice"), HasSubstr("not told: NCCL 2.18.3"));
  for (const Point& point : results[0].points) EXPECT_EQ(point.facts().count("algorithm"), 0U);
}

// As nccl-tests built with such a release.
TEST_F(OnNccl218, MemoryByCudaTakesThePlaceOfMemoryThatNcclAllocates) {
  for (const char* mode : {"graph", "events"}) {
    SCOPED_TRACE(mode);
    const auto results = run(
        "nccl.all_reduce", 2,
        {{"registered", "allocated"}, {"mode", mode}, {"graph_calls", "3"}, {"verify", "false"}});
    expect_passed(results);
    EXPECT_EQ(results[0].facts.at("buffers"), "by CUDA");
    EXPECT_EQ(results[0].facts.at("registered"),
              "no (NCCL 2.18.3 has no ncclMemAlloc; 2.19 and later have)");
  }
}

TEST_F(OnNccl218, WaivesWhatItCannot) {
  const auto registered = run("nccl.all_reduce", 2, {{"registered", "true"}});
  ASSERT_FALSE(registered[0].status);
  EXPECT_EQ(outcome_of(registered[0].status.error().code), kWaived);
  EXPECT_THAT(registered[0].status.error().message, HasSubstr("2.19 and later can"));
  const auto symmetric = run("nccl.all_reduce", 2, {{"registered", "symmetric"}});
  ASSERT_FALSE(symmetric[0].status);
  EXPECT_EQ(outcome_of(symmetric[0].status.error().code), kWaived);
  EXPECT_THAT(symmetric[0].status.error().message, HasSubstr("2.27 and later can"));
  for (const auto& [policy, release] : {std::pair{"efficiency", "2.27.0"}, {"zero", "2.28.0"}}) {
    const auto results = run("nccl.all_reduce", 2, {{"cta_policy", policy}});
    ASSERT_FALSE(results[0].status);
    EXPECT_EQ(outcome_of(results[0].status.error().code), kWaived);
    EXPECT_THAT(results[0].status.error().message, HasSubstr(release));
  }
  const auto device = run("nccl.gin_put_lat", 2, {});
  ASSERT_FALSE(device[0].status);
  EXPECT_EQ(outcome_of(device[0].status.error().code), kWaived);
  EXPECT_THAT(device[0].status.error().message, HasSubstr("2.28.7 and later have"));
  const auto float8 = run("nccl.all_reduce", 2, {{"datatype", "float8e4m3"}});
  ASSERT_FALSE(float8[0].status);
  EXPECT_EQ(outcome_of(float8[0].status.error().code), kWaived);
  EXPECT_THAT(float8[0].status.error().message, HasSubstr("2.24 and later have"));
}

}  // namespace
}  // namespace railgauge::nccl

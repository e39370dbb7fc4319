// Combinations that are legal without the profile stay legal with it: each kernel that has a
// perftest program, on the fakes, with parameters that only our kernels have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ostream>

#include "kernels/catalog.h"
#include "kernels/dl/cuda.h"
#include "kernels/dl/verbs.h"
#include "kernels/fakes/pair.h"
#include "kernels/fakes/solo.h"
#include "kernels/peers/perftest/profile.h"

namespace railgauge {
namespace {

using Parameters = std::map<std::string, std::string>;

struct Combination {
  const char* name;
  Parameters given;
};

void PrintTo(const Combination& one, std::ostream* out) { *out << one.name; }

std::vector<Combination> combinations() {
  return {{"Nothing", {}},
          {"Staged", {{"memory", "staged"}}},
          {"StagedTarget", {{"target_memory", "staged"}}},
          {"StagedTwin", {{"memory", "cuda"}, {"staged_twin", "true"}}},
          {"Gpu", {{"memory", "cuda"}}},
          {"Devices", {{"devices", "fake0:1,fake1:1"}, {"duration", "50ms"}}},
          {"DevicesBothWays",
           {{"devices", "fake0:1,fake1:1"}, {"direction", "both"}, {"duration", "50ms"}}},
          {"BothWays", {{"direction", "both"}, {"duration", "50ms"}}},
          {"Duration", {{"duration", "50ms"}}},
          {"Unreliable", {{"transport", "UC"}}},
          {"Datagrams", {{"transport", "UD"}}},
          {"Events", {{"poll", "events"}}},
          {"LongList", {{"post_list", "65"}}},
          {"ShortQueue", {{"depth", "48"}}},
          {"ManyQueuePairs", {{"qps", "8"}, {"depth", "32"}}},
          {"LargeMessages", {{"sizes", "16KiB"}}}};
}

class Profile : public testing::TestWithParam<Combination> {
 protected:
  static void SetUpTestSuite() {
    setenv(kVerbsLibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1);
    setenv(kCudaLibraryVariable, RAILGAUGE_FAKE_LIBCUDA, 1);
  }
  static Status run(const KernelRow& row, const Parameters& parameters) {
    const auto results = fake::run_pair(row, {.parameters = parameters, .deadline_seconds = 60});
    return results[0].status ? results[1].status : results[0].status;
  }
};

TEST_P(Profile, ForbidsNothingThatIsLegalWithoutIt) {
  int measured = 0;
  for (const PerftestProgram& program : perftest_programs())
    for (const std::string_view name : {program.kernel, program.immediate}) {
      if (name.empty()) continue;
      const KernelRow& row = *find_kernel(name);
      Parameters wanted = GetParam().given;
      wanted.insert({{"sizes", "512"}, {"stall_timeout", "5s"}, {"time_cap", "50ms"}});
      const Parameters given = fake::declared_among(row.info(), wanted);
      // A parameter that the kernel lacks is another combination.
      if (given.size() < wanted.size() - (given.contains("sizes") ? 0 : 1)) continue;
      if (!Params::parse(row.info(), given)) continue;
      if (!run(row, given)) continue;
      auto merged = with_profile(kPerftestProfile, name, given);
      ASSERT_TRUE(merged) << merged.error().message;
      // The count may be illegal, but its size only costs time.
      if (merged->contains("iterations")) (*merged)["iterations"] = "64";
      const Status with = run(row, *merged);
      EXPECT_TRUE(with) << name << ": " << with.error().message;
      ++measured;
    }
  EXPECT_GT(measured, 0);
}

INSTANTIATE_TEST_SUITE_P(Combinations, Profile, testing::ValuesIn(combinations()),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace railgauge

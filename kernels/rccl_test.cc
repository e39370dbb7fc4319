// Collectives by RCCL on AMD's GPUs, where no NCCL is. LD_LIBRARY_PATH of this program's test finds
// a copy of the fake NCCL under RCCL's name, and an empty file under NCCL's. A process loads one
// library of each kind, so this is a separate program.
#include <gmock/gmock.h>

#include <cstdlib>

#include "kernels/catalog.h"
#include "kernels/core/base/outcome.h"
#include "kernels/dl/hip.h"
#include "kernels/dl/nccl.h"
#include "kernels/fakes/gpu_fixture.h"
#include "kernels/fakes/ranks.h"

namespace railgauge {
namespace {

using fake::RankResult;
using ::testing::HasSubstr;

class OnRccl : public gpu::OnFakes {
 protected:
  static void SetUpTestSuite() {
    OnFakes::SetUpTestSuite();
    setenv(kHipLibraryVariable, RAILGAUGE_FAKE_LIBHIP, 1);
    unsetenv(kCudaLibraryVariable);
    unsetenv(kNcclLibraryVariable);
  }
  void SetUp() override {
    OnFakes::SetUp();
    ASSERT_FALSE(bind_nccl(kNcclLibrary))
        << "NCCL wins over RCCL; CTest hides it from this program";
  }
  static std::vector<RankResult> run(const char* kernel) {
    return fake::run_ranks(
        *find_kernel(kernel),
        {.parameters = {
             {"sizes", "4KiB"}, {"iterations", "3"}, {"least_time", "0s"}, {"proof_time", "0s"}}});
  }
};

TEST_F(OnRccl, TheTableIsThatOfItsLibrary) {
  const auto table = load_nccl();
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_THAT((*table)->path, HasSubstr(kRcclLibrary));
  EXPECT_TRUE((*table)->synthetic);
}

TEST_F(OnRccl, CollectivesAreComparedAndNameIt) {
  for (const char* kernel : {"nccl.all_reduce", "nccl.send_recv"}) {
    const auto results = run(kernel);
    for (const RankResult& result : results)
      ASSERT_TRUE(result.status) << kernel << ": " << result.status.error().message;
    EXPECT_THAT(results[0].facts.at("nccl_path"), HasSubstr(kRcclLibrary));
    EXPECT_EQ(results[0].facts.at("hip_release"), "6.2");
    ASSERT_FALSE(results[0].points.empty());
    for (const Point& point : results[0].points) EXPECT_TRUE(point.synthetic());
  }
}

// As on a real GPU of AMD's: the code that fills and compares the data is CUDA's.
TEST_F(OnRccl, WaivesWithoutCodeToCompareTheData) {
  fake::cuda_control().no_twins = 1;
  for (const char* kernel : {"nccl.all_reduce", "nccl.send_recv"})
    for (const RankResult& result : run(kernel)) {
      ASSERT_FALSE(result.status) << kernel;
      EXPECT_EQ(outcome_of(result.status.error().code), kWaived);
      EXPECT_THAT(result.status.error().message,
                  HasSubstr("load device code: this build has none for AMD's GPUs"));
      EXPECT_THAT(result.status.error().message,
                  HasSubstr("the data of a collective are made and compared by it"));
    }
}

}  // namespace
}  // namespace railgauge

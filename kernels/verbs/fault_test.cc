// What a kernel does when a device is sick or gone.
#include <gmock/gmock.h>

#include <cstdlib>

#include "kernels/catalog.h"
#include "kernels/dl/verbs.h"
#include "kernels/fakes/fake_verbs.h"
#include "kernels/fakes/pair.h"
#include "kernels/verbs/device.h"

namespace railgauge {
namespace {

using fake::PairOptions;
using fake::RankResult;
using fake::run_pair;
using fake::verbs_control;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Faults : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { setenv(kVerbsLibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1); }
  void SetUp() override { verbs_control().reset(); }
  void TearDown() override {
    verbs_control().reset();
    EXPECT_EQ(verbs_control().live_handles, 0);
  }
  static auto run(std::string_view kernel, std::map<std::string, std::string> parameters) {
    parameters["stall_timeout"] = "2s";
    return run_pair(*find_kernel(kernel), {.parameters = std::move(parameters)});
  }
};

TEST_F(Faults, AReleaseThatFailsIsALineOnStderrAndTheTaskGoesOn) {
  for (const char* kernel : {"verbs.write_lat", "verbs.write_bw"}) {
    verbs_control().fail_destroy = 1;
    ::testing::internal::CaptureStderr();
    const auto results = run(kernel, {{"iterations", "50"}});
    const std::string said = ::testing::internal::GetCapturedStderr();
    for (const RankResult& result : results)
      EXPECT_TRUE(result.status) << result.status.error().message;
    EXPECT_THAT(said, AllOf(HasSubstr("verbs: destroy the queue pair: "),
                            HasSubstr("verbs: close the device: ")));
  }
}

TEST_F(Faults, ADeviceThatCannotBeOpenedDoesNotEndTheSearchForOne) {
  ASSERT_TRUE(load_verbs());
  constexpr std::uint64_t kOpenOfTheFirst = 2;  // after the list
  verbs_control().fail_call = kOpenOfTheFirst;
  const auto found = verbs::Device::open("");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->endpoint(), "fake1:1");
}

TEST_F(Faults, ADeviceThatWasAskedForAndCannotBeOpenedIsAnError) {
  ASSERT_TRUE(load_verbs());
  verbs_control().fail_call = 2;
  const auto found = verbs::Device::open("fake0");
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("fake0: open: "));
}

}  // namespace
}  // namespace railgauge

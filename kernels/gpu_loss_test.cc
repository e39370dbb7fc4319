// A GPU that vanishes in the middle of a task and does not come back, for every kernel on GPUs and
// each of its ways: from one call on every call of the driver fails, releases and queries too. The
// task ends in time with one line, reports no point of what was not measured, and leaves nothing.
#include "kernels/core/base/clock.h"
#include "kernels/testing/gpu_contract.h"

namespace railgauge {
namespace {

using fake::cuda_control;
using fake::nccl_control;
using fake::RankResult;

constexpr double kMostSeconds = 8;  // the stall limit, and what a loaded machine may take beside it

class EveryGpuThatGoes : public OnFakeGpus {
 protected:
  // Long enough that most calls are the timed part's.
  static std::map<std::string, std::string> longer() {
    auto parameters = shortest();
    if (parameters.contains("iterations")) parameters["iterations"] = "20";
    return parameters;
  }
  static RankResult run_quietly(double& seconds) {
    const double begin_ns = monotonic_now_ns();
    ::testing::internal::CaptureStderr();  // releases that fail are a line each
    auto parameters = longer();
    parameters.merge(
        fake::declared_among(row().info(), {{"stall_timeout", "1s"}, {"join_timeout", "1s"}}));
    const RankResult result = run(parameters);
    ::testing::internal::GetCapturedStderr();
    seconds = (monotonic_now_ns() - begin_ns) / 1e9;
    return result;
  }
  // The task's end when `control` fails from `call` on.
  template <class Control>
  RankResult lose_at(Control& control, std::uint64_t call) const {
    reset();
    cuda_control().fail_error = cu::kUnknown;
    control.fail_from = call;
    double seconds = 0;
    const RankResult result = run_quietly(seconds);
    EXPECT_LT(seconds, kMostSeconds) << "call " << call;
    expect_clear(result.status, call);
    return result;
  }
};

// A quarter, half and three quarters of the way.
TEST_P(EveryGpuThatGoes, EndsTheTaskInItsMiddleWithoutAPoint) {
  const RankResult clean = run(longer());
  ASSERT_TRUE(clean.status) << clean.status.error().message;
  // Where it depends on the time how many there are, the next try has as many as this one.
  std::uint64_t calls = cuda_control().calls;
  for (const std::uint64_t quarters : {1U, 2U, 3U}) {
    std::uint64_t call = calls * quarters / 4;
    RankResult result = lose_at(cuda_control(), call);
    for (int tries = 0; tries < 5 && cuda_control().calls < call; ++tries) {
      calls = cuda_control().calls;
      call = calls * quarters / 4;
      result = lose_at(cuda_control(), call);
    }
    const std::vector<std::string> made = cuda_control().call_names();
    SCOPED_TRACE(call <= made.size() ? made[call - 1] : "no call");
    expect_nothing_left(call);
    ASSERT_FALSE(result.status) << "call " << call << " of " << calls;
    const std::string& message = result.status.error().message;
    EXPECT_NE(result.status.error().code, Code::kDataLoss) << message;
    EXPECT_THAT(message, ::testing::ContainsRegex("gpu[0-9]"));
    EXPECT_THAT(message, ::testing::HasSubstr("CUDA_ERROR_UNKNOWN"));
    if (clean.points.size() == 1) {
      EXPECT_TRUE(result.points.empty());
    }
    EXPECT_LT(result.points.size(), clean.points.size());
  }
}

// At each call between other neighbours: set-up, measurement and teardown. The short check skips
// those that an earlier kernel had.
TEST_P(EveryGpuThatGoes, EndsTheTaskAtEachCallWithoutALeak) {
  static std::set<Neighbours> walked;
  const RankResult clean = run(longer());
  ASSERT_TRUE(clean.status) << clean.status.error().message;
  const std::vector<std::string> names = cuda_control().call_names();
  for (const std::uint64_t call :
       calls_worth_failing(names, full_check() ? std::set<Neighbours>() : walked)) {
    lose_at(cuda_control(), call);
    expect_nothing_left(call);
    if (HasFailure()) return;
  }
  walked.merge(neighbours_among(names));
}

TEST_P(EveryGpuThatGoes, EndsTheTaskWhereNcclToldOfIt) {
  if (!GetParam().kernel.starts_with("nccl.")) return;
  ASSERT_TRUE(run(longer()).status);
  const std::uint64_t calls = nccl_control().calls;
  for (const std::uint64_t quarters : {1U, 2U, 3U}) {
    // A rank alone may have few calls. The first makes the unique id, without a GPU.
    const std::uint64_t call = std::max<std::uint64_t>(2, calls * quarters / 4);
    const RankResult result = lose_at(nccl_control(), call);
    expect_nothing_left(call);
    ASSERT_FALSE(result.status);
    EXPECT_TRUE(result.points.empty());
    EXPECT_THAT(result.status.error().message,
                ::testing::AllOf(::testing::HasSubstr("gpu0"), ::testing::HasSubstr("NCCL error")));
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EveryGpuThatGoes);
INSTANTIATE_TEST_SUITE_P(Catalog, EveryGpuThatGoes, ::testing::ValuesIn(ways_of_gpu_kernels()),
                         test_name);

}  // namespace
}  // namespace railgauge

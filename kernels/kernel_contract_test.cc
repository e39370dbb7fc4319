// The contract of every catalogued kernel between NICs, on the fakes: call number N of the vendor
// library fails, for N = 1, 2, 3 ... until the task succeeds; each error is one clear line, and
// nothing leaks. gpu_contract_test.cc covers GPUs, net/fault_test.cc system calls.
#include <gmock/gmock.h>

#include <array>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "kernels/catalog.h"
#include "kernels/dl/cuda.h"
#include "kernels/dl/verbs.h"
#include "kernels/fakes/locked_memory.h"
#include "kernels/fakes/pair.h"
#include "kernels/fakes/verbs/fake_verbs.h"
#include "kernels/testing/contract.h"

namespace railgauge {
namespace {

using fake::PairOptions;
using fake::run_pair;
using fake::verbs_control;

constexpr std::uint64_t kMaxCalls = 2000;
// Another path then registers a GPU's memory and is reported.
constexpr std::array<std::string_view, 1> kSurvivableCalls{"ibv_reg_dmabuf_mr"};

class EveryKernel : public ::testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() {
    setenv(kVerbsLibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1);
    setenv(kCudaLibraryVariable, RAILGAUGE_FAKE_LIBCUDA, 1);
  }
  void SetUp() override { verbs_control().reset(); }

  // Returns the shortest parameters, because each failed call costs a whole task. A kernel uses the
  // ones that it declares.
  static PairOptions shortest() {
    PairOptions options{.deadline_seconds = 20};
    const std::map<std::string, std::string> wanted{{"sizes", "16"},
                                                    {"iterations", "2"},
                                                    {"signal_every", "1"},
                                                    {"receive_depth", "4"},
                                                    {"stall_timeout", "500ms"}};
    const KernelInfo info = row().info();
    for (const ParameterInfo& declared : info.parameters())
      if (const auto found = wanted.find(declared.name()); found != wanted.end())
        options.parameters.insert(*found);
    return options;
  }
  static const KernelRow& row() { return *find_kernel(GetParam()); }
};

TEST_P(EveryKernel, SurvivesAFailureOfEachCallWithoutALeak) {
  std::uint64_t call = 1;
  for (; call <= kMaxCalls; ++call) {
    verbs_control().reset();
    verbs_control().fail_call = call;
    const auto results = run_pair(row(), shortest());
    EXPECT_EQ(verbs_control().live_handles, 0) << "call " << call;
    if (verbs_control().calls < call) {  // none failed: the walk is over
      EXPECT_TRUE(results[0].status) << results[0].status.error().message;
      EXPECT_TRUE(results[1].status) << results[1].status.error().message;
      break;
    }
    for (const auto& result : results) expect_clear(result.status, call);
    expect_told(results, verbs_control().failed_call.load(), kSurvivableCalls);
  }
  EXPECT_LT(call, kMaxCalls);
  EXPECT_GT(call, 20U) << "the walk never met the calls of a task";
}

TEST_P(EveryKernel, SaysWhatToSetWhenLockedMemoryIsLimited) {
  verbs_control().memlock = 1;
  auto options = shortest();
  if (!options.parameters.contains("sizes")) GTEST_SKIP() << "it registers less than the limit";
  options.parameters["sizes"] = "1MiB";
  const fake::LockedMemoryLimit limit(65536);
  const auto results = run_pair(row(), options);
  ASSERT_FALSE(results[0].status);
  EXPECT_EQ(results[0].status.error().code, Code::kFailedPrecondition);
  // Two areas; those of a stream have a page more, for the content of after the warm-up.
  const bool streams = row().info().name().ends_with("_bw");
  EXPECT_EQ(results[0].status.error().message,
            fmt::format("fake0:1: register {} bytes: Cannot allocate memory (errno 12); locked "
                        "memory is limited to 65536 bytes (RLIMIT_MEMLOCK) and the process lacks "
                        "CAP_IPC_LOCK; set LimitMEMLOCK=infinity in its service or run "
                        "`ulimit -l unlimited` before it",
                        2 * ((1U << 20U) + (streams ? 4096 : 0))));
  EXPECT_EQ(verbs_control().live_handles, 0);
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const KernelRow& row : catalog())
    if (row.info().name().starts_with("verbs.")) all.push_back(row.info().name());
  return all;
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryKernel, ::testing::ValuesIn(names()), [](const auto& param) {
  std::string name = param.param;
  for (char& c : name)
    if (c == '.') c = '_';
  return name;
});

}  // namespace
}  // namespace railgauge

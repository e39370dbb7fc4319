#include "kernels/testing/gpu_contract.h"

namespace railgauge {

using fake::cuda_control;
using fake::RankResult;
using fake::vulkan_control;

namespace {

Neighbours neighbours_of(const std::vector<std::string>& names, std::size_t at) {
  return {at > 0 ? names[at - 1] : "", names[at], at + 1 < names.size() ? names[at + 1] : ""};
}

}  // namespace

std::vector<Way> ways_of_gpu_kernels() {
  std::vector<Way> all;
  for (const KernelRow& row : catalog()) {
    const KernelInfo info = row.info();
    if (info.endpoint_kind() == "nic" || info.name().starts_with("mpi.")) continue;
    if (info.min_ranks() > 1) continue;  // cuda.rank_copy_bw: rank_copies_test.cc
    bool chooses = false;
    for (const ParameterInfo& parameter : info.parameters())
      for (const std::string& choice : parameter.choices()) {
        if (parameter.name() != "backend" || choice == "auto") continue;
        // When the CPU reaches GPU memory directly there is nothing to map: the kernel waives.
        if (info.name() != "bar.map_cost" || choice != "coherent")
          all.push_back({.kernel = info.name(), .backend = choice});
        chooses = true;
      }
    if (!chooses) all.push_back({.kernel = info.name()});
  }
  return all;
}

std::set<Neighbours> neighbours_among(const std::vector<std::string>& names) {
  std::set<Neighbours> all;
  for (std::size_t i = 0; i < names.size(); ++i) all.insert(neighbours_of(names, i));
  return all;
}

std::vector<std::uint64_t> calls_worth_failing(const std::vector<std::string>& names,
                                               const std::set<Neighbours>& walked) {
  // Number of walks of a call between the same neighbours: the rest of a loop shows little new, and
  // some tasks make thousands of calls.
  const int alike = full_check() ? 5 : 1;
  std::vector<std::uint64_t> calls;
  std::map<Neighbours, int> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Neighbours one = neighbours_of(names, i);
    if (!walked.contains(one) && seen[one]++ < alike) calls.push_back(i + 1);
  }
  calls.push_back(names.size() + 1);
  return calls;
}

void OnFakeGpus::expect_measured() const {
  const RankResult result = run();
  ASSERT_TRUE(result.status) << result.status.error().message;
  ASSERT_FALSE(result.points.empty());
  const KernelInfo info = row().info();
  for (const Point& point : result.points) {
    EXPECT_TRUE(point.synthetic()) << point.metric();
    EXPECT_GT(point.median(), 0) << point.metric();
    EXPECT_THAT(info.metrics(), ::testing::Contains(point.metric()));
    EXPECT_EQ(point.facts().count("throttle_reasons"), 1U) << "not reported by the session";
    if (info.name().starts_with("cuda.")) {
      ASSERT_TRUE(point.facts().contains("buffer")) << "hot or cold is not said";
      EXPECT_THAT(point.facts().at("buffer"), ::testing::ContainsRegex("^(hot|cold|not known: )"));
    }
  }
  expect_nothing_left(0);
}

void OnFakeGpus::expect_survived(const std::vector<std::uint64_t>& calls) const {
  for (const std::uint64_t call : calls) {
    reset();
    cuda_control().fail_call = call;
    const RankResult result = run();
    const std::vector<std::string> made = cuda_control().call_names();
    SCOPED_TRACE(call <= made.size() ? made[call - 1] : "no call");
    expect_nothing_left(call);
    expect_clear(result.status, call);
    if (cuda_control().calls < call) {
      EXPECT_TRUE(result.status) << result.status.error().message;
    } else if (!result.status) {
      EXPECT_NE(result.status.error().code, Code::kDataLoss) << result.status.error().message;
    }
  }
}

int OnFakeGpus::expect_waived_without_memory(std::set<Neighbours>& known) const {
  constexpr std::uint64_t kVulkanOutOfDeviceMemory = 2;
  constexpr std::uint64_t kMostVulkanCalls = 200;
  int found_none = 0;
  reset();
  const RankResult clean = run();
  EXPECT_TRUE(clean.status) << clean.status.error().message;
  const std::vector<std::string> names = cuda_control().call_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != "cuMemAlloc_v2" && names[i] != "cuMemHostAlloc") continue;
    if (!full_check() && known.contains(neighbours_of(names, i))) {
      ++found_none;
      continue;
    }
    reset();
    cuda_control().fail_call = i + 1;
    cuda_control().fail_error = cu::kOutOfMemory;
    const RankResult result = run();
    // The number of earlier calls may depend on the task's speed: check which call failed.
    const std::vector<std::string> made = cuda_control().call_names();
    if (i >= made.size() || made[i] != names[i]) continue;
    ++found_none;
    known.insert(neighbours_of(names, i));
    expect_waived(result, "CUDA_ERROR_OUT_OF_MEMORY");
  }
  // Whichever of its calls allocates.
  for (std::uint64_t call = 1; GetParam().backend == "vulkan" && call < kMostVulkanCalls; ++call) {
    reset();
    vulkan_control().fail_call = call;
    vulkan_control().fail_error = kVulkanOutOfDeviceMemory;
    const RankResult result = run();
    if (vulkan_control().calls < call) break;
    ++found_none;
    expect_waived(result, "VK_ERROR_OUT_OF_DEVICE_MEMORY");
  }
  return found_none;
}

void OnFakeGpus::expect_wrong_byte_found() const {
  cuda_control().flip_byte = 1;
  cuda_control().flip_synchronous = row().info().name() == "cuda.copy_latency" ? 1 : 0;
  const RankResult result = run();
  expect_nothing_left(0);
  ASSERT_FALSE(result.status) << "wrong bytes passed";
  EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
  // The fake leaves copies of up to 8 bytes right; in one place, theirs are right then.
  for (const Point& point : result.points)
    EXPECT_LE(point.message_bytes(), 8) << "a figure over wrong bytes counts";
}

}  // namespace railgauge

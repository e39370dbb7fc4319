// The suites that are shipped, against the kernels that this build's runner declares: each is read
// without a problem and planned on two nodes with two GPUs and two ports each.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>

#include "controller/plan/planner.h"

namespace railgauge::plan {
namespace {

using testing::Contains;

// Of `railgauge-runner --list`.
std::vector<KernelInfo> kernels_of_this_build() {
  const char* build = std::getenv("RAILGAUGE_BUILD_DIR");
  RG_CHECK(build != nullptr);
  const std::string command = std::string(build) + "/bin/railgauge-runner --list --format json";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(popen(command.c_str(), "r"), pclose);
  RG_CHECK(out != nullptr);
  std::string text;
  std::array<char, 65536> part{};
  while (const std::size_t got = std::fread(part.data(), 1, part.size(), out.get()))
    text.append(part.data(), got);
  KernelList list;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(text, &list).ok()) << text.substr(0, 200);
  return {list.kernels().begin(), list.kernels().end()};
}

std::vector<PlanNode> two_nodes() {
  std::vector<PlanNode> nodes;
  for (const char* name : {"n1", "n2"})
    nodes.push_back({.name = name,
                     .endpoints = {{.kind = "nic", .name = "mlx5_0:1", .active = true},
                                   {.kind = "nic", .name = "mlx5_1:1", .active = true},
                                   {.kind = "gpu", .name = "gpu0", .active = true},
                                   {.kind = "gpu", .name = "gpu1", .active = true}}});
  return nodes;
}

TEST(ShippedSuites, AreReadAndPlannedWithoutAProblem) {
  const auto kernels = kernels_of_this_build();
  std::vector<std::string> seen;
  for (const auto& entry : std::filesystem::directory_iterator("suites")) {
    if (entry.path().extension() != ".yaml") continue;
    seen.push_back(entry.path().stem());
    const SuiteReading reading = read_suite_file(entry.path(), kernels);
    ASSERT_TRUE(reading.suite) << describe(reading.problems.front());
    EXPECT_EQ(reading.suite->name, entry.path().stem());
    const auto plan = make_plan(*reading.suite, two_nodes(), kernels);
    ASSERT_TRUE(plan) << entry.path() << ": " << plan.error().message;
    EXPECT_FALSE(plan->tasks.empty());
    for (const PlannedTask& task : plan->tasks)
      EXPECT_EQ(task.waived_reason, "") << entry.path() << " " << task.id;
  }
  for (const char* name : {"quick", "gpudirect", "collectives", "nightly", "nccl_settings"})
    EXPECT_THAT(seen, Contains(name));
}

TEST(ShippedSuites, CollectivesTakeAllGpusEachNodeEachRailAndThePair) {
  const auto kernels = kernels_of_this_build();
  const SuiteReading reading = read_suite_file("suites/collectives.yaml", kernels);
  ASSERT_TRUE(reading.suite);
  const auto plan = make_plan(*reading.suite, two_nodes(), kernels);
  ASSERT_TRUE(plan);
  const auto tasks_of = [&](const std::string& stage) {
    std::vector<std::size_t> ranks;
    for (const PlannedTask& task : plan->tasks)
      if (reading.suite->stages[task.stage].name == stage) ranks.push_back(task.ranks.size());
    return ranks;
  };
  EXPECT_THAT(tasks_of("all_reduce"), testing::ElementsAre(4));
  EXPECT_THAT(tasks_of("node_all_reduce"), testing::ElementsAre(2, 2));
  EXPECT_THAT(tasks_of("rail_all_reduce"), testing::ElementsAre(2, 2));
  EXPECT_THAT(tasks_of("pair_all_reduce"), testing::ElementsAre(4));
}

}  // namespace
}  // namespace railgauge::plan

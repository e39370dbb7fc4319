// Stages on one port, and stages that vary their parameters.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controller/plan/testing/suite_testing.h"

namespace railgauge::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Suite, LoopbackTakesAPortOrEachOfThemWithOrWithoutGpus) {
  for (const std::string each : {"", "nic", "gpu", "gpu_nic"}) {
    const std::string placement = each.empty() ? "loopback: all" : "loopback: all, each: " + each;
    const SuiteReading reading = read_suite(local("verbs.write_bw", placement), "x.yaml", {});
    ASSERT_TRUE(reading.suite) << describe(reading.problems.front());
    EXPECT_EQ(reading.suite->stages.at(0).placement.kind, PlacementKind::kLoopback);
    EXPECT_EQ(reading.suite->stages.at(0).placement.each, each);
  }
  EXPECT_THAT(problem_of(local("fake.lat", "loopback: all, pairs: all")),
              HasSubstr("exclude each other"));
  EXPECT_THAT(problem_of(local("fake.lat", "loopback: all, each: cpu")),
              HasSubstr("is \"cpu\"; allowed: gpu, nic, gpu_nic"));
  EXPECT_THAT(problem_of(local("fake.gpu", "local: all, each: gpu_nic")),
              HasSubstr("is \"gpu_nic\"; allowed: gpu, nic"));
  EXPECT_THAT(problem_of(local("fake.lat", "loopback: all, each: gpu_nic")),
              HasSubstr("is gpu_nic; fake.lat uses no GPU's memory"));
  EXPECT_THAT(problem_of(local("fake.group", "loopback: all")),
              HasSubstr("is on a NIC's port, or without each on a GPU; fake.group runs on none"));
}

TEST(Suite, DevicesWhereThePlacementChoosesThePortAreRefusedAsThePlannerDoes) {
  const auto stage = [](std::string_view placement, std::string_view keys) {
    return fmt::format(
        "version: 1\nmetadata: {{name: x}}\nstages:\n  - {{kernel: verbs.write_bw, placement: "
        "{{{}}}, {}}}\n",
        placement, keys);
  };
  const auto problem = [](const std::string& text) {
    const SuiteReading reading = read_suite(text, "x.yaml", {});
    return reading.problems.size() == 1 ? describe(reading.problems[0]) : "";
  };
  constexpr const char* kTwo = "parameters: {devices: \"mlx5_0:1,mlx5_1:1\"}";
  EXPECT_EQ(
      problem(stage("loopback: all", kTwo)),
      "x.yaml:4:41: stages[0].placement: parameter devices: is \"mlx5_0:1,mlx5_1:1\", but "
      "loopback chooses the port; leave devices out, or place by pairs: all without endpoint");
  EXPECT_THAT(problem(stage("pairs: all, endpoint: \"mlx5_0:1\"", kTwo)),
              HasSubstr("but endpoint: mlx5_0:1 chooses the port"));
  EXPECT_THAT(problem(stage("loopback: all, each: nic", "vary: {devices: [\"a:1\", \"b:1\"]}")),
              HasSubstr("is \"a:1\", but loopback chooses the port"));
  EXPECT_EQ(problem(stage("pairs: all", kTwo)), "");
}

std::string varied(std::string_view keys) {
  return fmt::format(
      "version: 1\nmetadata: {{name: x}}\nstages:\n  - {{kernel: fake.bw, placement: {{pairs: "
      "all}}, {}}}\n",
      keys);
}

TEST(Suite, VaryMakesAStageForEachCombinationTheLastParameterFastest) {
  const SuiteReading reading =
      read(varied("parameters: {time_cap: 1s}, vary: {depth: [4, 8], sizes: [8, 4KiB]}"));
  ASSERT_TRUE(reading.suite) << describe(reading.problems.front());
  std::vector<std::string> stages;
  for (const Stage& stage : reading.suite->stages) {
    EXPECT_EQ(stage.parameters.at("time_cap"), "1s");
    stages.push_back(stage.parameters.at("depth") + " " + stage.parameters.at("sizes"));
  }
  EXPECT_THAT(stages, ElementsAre("4 8", "4 4KiB", "8 8", "8 4KiB"));
}

TEST(Suite, VaryIsCheckedLikeParametersAndBounded) {
  EXPECT_THAT(problem_of(varied("vary: {dept: [4]}")), HasSubstr("vary.dept: unknown parameter"));
  EXPECT_THAT(problem_of(varied("vary: {depth: [4, 5000]}")),
              HasSubstr("vary.depth[1]: 5000 is out of range"));
  EXPECT_THAT(problem_of(varied("vary: {depth: 4}")), HasSubstr("must be a list of values"));
  EXPECT_THAT(problem_of(varied("parameters: {depth: 4}, vary: {depth: [8]}")),
              HasSubstr("vary.depth: is in parameters too"));
  const std::string with_profile =
      fmt::format("{}    profile: perftest\n    vary: {{depth: [8]}}\n",
                  "version: 1\nmetadata: {name: x}\nstages:\n  - kernel: verbs.write_bw\n    "
                  "placement: {pairs: "
                  "all}\n");
  EXPECT_THAT(describe(read_suite(with_profile, "x.yaml", {}).problems.at(0)),
              HasSubstr("vary: and profile exclude each other"));
  std::string many;
  for (int i = 1; i <= 9; ++i) many += fmt::format("{}{}", i == 1 ? "" : ", ", i);
  EXPECT_THAT(problem_of(varied(fmt::format("vary: {{depth: [{0}], iterations: [{0}]}}", many))),
              HasSubstr("makes 81 combinations; at most 64 are allowed"));
  std::string stages = "version: 1\nmetadata: {name: x}\nstages:\n";
  for (int i = 0; i < 200; ++i)
    stages += fmt::format(
        "  - {{kernel: fake.bw, placement: {{pairs: all}}, vary: {{depth: [{}]}}}}\n", many);
  EXPECT_THAT(problem_of(stages), HasSubstr("vary makes more than 1000 stages"));
}

}  // namespace
}  // namespace railgauge::plan

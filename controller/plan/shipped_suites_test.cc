// The suites that are shipped, against the kernels that this build's runner declares: each is read
// without a problem and planned on two nodes with two GPUs and two ports each.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>

#include "controller/plan/planner.h"
#include "controller/plan/task_book.h"
#include "controller/plan/testing/suite_testing.h"
#include "kernels/core/text/units.h"

namespace railgauge::plan {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// Kernels that `railgauge-runner --list` prints.
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

std::vector<PlanNode> fleet_of(std::size_t n) {
  std::vector<PlanNode> nodes;
  for (std::size_t i = 1; i <= n; ++i)
    nodes.push_back({.name = fmt::format("n{}", i),
                     .endpoints = {{.kind = "nic", .name = "mlx5_0:1", .active = true},
                                   {.kind = "nic", .name = "mlx5_1:1", .active = true},
                                   {.kind = "gpu", .name = "gpu0", .active = true},
                                   {.kind = "gpu", .name = "gpu1", .active = true}}});
  return nodes;
}

std::vector<PlanNode> two_nodes() { return fleet_of(2); }

// Eight nodes on each leaf.
PlanOptions leaves_of(const std::vector<PlanNode>& nodes) {
  PlanOptions options{.topology = {.source = "labels"}};
  for (std::size_t i = 0; i < nodes.size(); ++i)
    options.topology.nodes[nodes[i].name] = {.leaf = fmt::format("leaf{}", i / 8)};
  return options;
}

// Pairs of nodes that a stage measures, with how often.
std::map<std::pair<std::string, std::string>, int> pairs_of(const Plan& plan,
                                                            const std::string& stage) {
  std::map<std::pair<std::string, std::string>, int> pairs;
  for (const PlannedTask& task : plan.tasks)
    if (plan.stages[task.stage].name == stage)
      ++pairs[std::minmax(task.ranks[0].node, task.ranks[1].node)];
  return pairs;
}

TEST(ShippedSuites, QuickFabricAndNightlyPlanOnFleetsOfAnySize) {
  const auto kernels = kernels_of_this_build();
  for (const char* name : {"quick", "fabric", "nightly"}) {
    const SuiteReading reading = read_suite_file(fmt::format("suites/{}.yaml", name), kernels);
    ASSERT_TRUE(reading.suite) << describe(reading.problems.front());
    for (const std::size_t size : {2U, 3U, 5U, 24U, 64U})
      for (const bool with_leaves : {false, true}) {
        const auto fleet = fleet_of(size);
        const auto plan = make_plan(*reading.suite, fleet, kernels, {},
                                    with_leaves ? leaves_of(fleet) : PlanOptions{});
        ASSERT_TRUE(plan) << name << " on " << size << ": " << plan.error().message;
        std::set<std::string> busy;
        for (const PlannedTask& task : plan->tasks) {
          EXPECT_EQ(task.waived_reason, "") << name << " " << task.id;
          std::set<std::string> own;
          for (const PlannedRank& rank : task.ranks)
            own.insert(fmt::format("{} {}/{}", task.round, rank.node, rank.endpoint));
          for (const std::string& endpoint : own)
            EXPECT_TRUE(busy.insert(endpoint).second) << name << ": " << endpoint;
        }
      }
  }
}

// A port may be slow in one direction alone, and localisation wants the two apart.
TEST(ShippedSuites, BandwidthOfPairsIsMeasuredBothWaysByAll) {
  const auto kernels = kernels_of_this_build();
  for (const char* name : {"quick", "fabric", "nightly"}) {
    const SuiteReading reading = read_suite_file(fmt::format("suites/{}.yaml", name), kernels);
    ASSERT_TRUE(reading.suite) << name;
    const auto plan = make_plan(*reading.suite, fleet_of(5), kernels);
    ASSERT_TRUE(plan) << name;
    std::map<std::pair<std::string, std::string>, int> times;
    for (const PlannedTask& task : plan->tasks)
      if (task.kernel == "verbs.write_bw" && task.ranks[0].node != task.ranks[1].node)
        ++times[{task.ranks[0].node, task.ranks[1].node}];
    EXPECT_FALSE(times.empty()) << name;
    for (const auto& [pair, count] : times)
      EXPECT_EQ((times[{pair.second, pair.first}]), count)
          << name << ": " << pair.first << " to " << pair.second;
  }
}

TEST(ShippedSuites, FabricMeasuresAllPairsBothWaysOnEachRail) {
  const auto kernels = kernels_of_this_build();
  const SuiteReading reading = read_suite_file("suites/fabric.yaml", kernels);
  ASSERT_TRUE(reading.suite);
  const auto fleet = fleet_of(24);
  const auto plan = make_plan(*reading.suite, fleet, kernels, {}, leaves_of(fleet));
  ASSERT_TRUE(plan);
  const auto pairs = pairs_of(*plan, "bandwidth");
  EXPECT_EQ(pairs.size(), 24u * 23 / 2);
  for (const auto& [pair, times] : pairs) EXPECT_EQ(times, 4) << "two ways on two rails";
  for (const PlannedStage& stage : plan->stages)
    if (stage.name == "bandwidth") {
      EXPECT_EQ(stage.rounds, 2u * 23);
    }
  for (const PlannedRound& round : plan->round_infos)
    if (plan->stages[round.stage].name == "bandwidth") {
      EXPECT_FALSE(round.mixed);
    }
}

TEST(ShippedSuites, SevenNightsMeasureEachPairOnceEachWayOnEachRail) {
  const auto kernels = kernels_of_this_build();
  const SuiteReading reading = read_suite_file("suites/nightly.yaml", kernels);
  ASSERT_TRUE(reading.suite);
  const auto fleet = fleet_of(24);
  std::map<std::pair<std::string, std::string>, int> all;
  for (std::uint64_t night = 20'400; night < 20'407; ++night) {
    PlanOptions options = leaves_of(fleet);
    options.slice_index = night;
    const auto plan = make_plan(*reading.suite, fleet, kernels, {}, options);
    ASSERT_TRUE(plan);
    const auto pairs = pairs_of(*plan, "bandwidth");
    EXPECT_LE(pairs.size(), 4u * 12) << "23 rounds over 7 nights";
    for (const auto& [pair, times] : pairs) all[pair] += times;
  }
  EXPECT_EQ(all.size(), 24u * 23 / 2);
  for (const auto& [pair, times] : all) EXPECT_EQ(times, 4);
}

// Nodes with so many ports, and one GPU.
std::vector<PlanNode> rails_of(std::size_t n, std::size_t rails) {
  std::vector<PlanNode> nodes = fleet_of(n);
  for (PlanNode& node : nodes) {
    node.endpoints = {{.kind = "gpu", .name = "gpu0", .active = true}};
    for (std::size_t rail = 0; rail < rails; ++rail)
      node.endpoints.push_back(
          {.kind = "nic", .name = fmt::format("mlx5_{}:1", rail), .active = true});
  }
  return nodes;
}

// The whole text of a task, but for what its stage says.
std::string text_of(const PlannedTask& task) {
  std::string text = fmt::format("{} stage {} round {} repetition {} {} {} {:a} {:a}", task.id,
                                 task.stage, task.round, task.repetition, task.kernel,
                                 task.waived_reason, task.expected_seconds, task.expected_bytes);
  for (const PlannedRank& rank : task.ranks)
    text += fmt::format(" {}/{}", rank.node, plan::text_of(rank));
  for (const auto& [name, value] : task.parameters.all())
    text += fmt::format(" {}={}", name, value);
  return text;
}

std::vector<std::string> texts_of(std::span<const PlannedTask> tasks) {
  std::vector<std::string> texts;
  for (const PlannedTask& task : tasks) texts.push_back(text_of(task));
  return texts;
}

struct SiteOfTest {
  std::size_t nodes = 0;
  std::size_t rails = 0;
  bool has_leaves = false;
};
constexpr std::array kSites{SiteOfTest{2, 2, false}, SiteOfTest{5, 1, false},
                            SiteOfTest{9, 4, true}, SiteOfTest{24, 2, true}};

// The tasks of each round, asked for in an order of the seed, and of some rounds twice, by a plan
// of their own.
std::vector<std::string> made_by_rounds(PlanOutline outline, std::uint64_t seed) {
  const TaskBook book(std::move(outline));
  const std::size_t rounds = book.head().rounds;
  std::vector<std::size_t> order(2 * rounds);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i % rounds;
  std::mt19937_64 random(seed);
  std::ranges::shuffle(order, random);
  std::vector<std::string> texts(book.planned());
  for (const std::size_t round : order) {
    const RoundTasks tasks = book.round(round);
    EXPECT_EQ(tasks->size(), book.head().round_infos[round].tasks);
    for (std::size_t i = 0; i < tasks->size(); ++i)
      texts.at(book.outline().first_of(round) + i) = text_of((*tasks)[i]);
  }
  return texts;
}

// The rest of a plan when the tasks of the seed are finished: rounds count anew, without gaps.
void expect_rest_of(const PlanOutline& outline, std::vector<PlannedTask> tasks,
                    std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<bool> finished(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) finished[i] = random() % 4 != 0;
  std::vector<PlannedTask> left;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (!finished[i]) left.push_back(std::move(tasks[i]));
  std::uint32_t round = 0;
  for (std::size_t i = 0, before = 0; i < left.size(); ++i) {
    const std::uint32_t was = left[i].round;
    round += i > 0 && was != before ? 1 : 0;
    before = was;
    left[i].round = round;
  }
  const PlanOutline rest = outline.without(std::move(finished));
  EXPECT_EQ(rest.head().rounds, left.empty() ? 0 : round + 1);
  EXPECT_EQ(made_by_rounds(rest, seed), texts_of(left));
}

TEST(ShippedSuites, TasksMadeAsTheirRoundBeginsAreThoseOfTheWholePlan) {
  const auto kernels = kernels_of_this_build();
  for (const auto& entry : std::filesystem::directory_iterator("suites")) {
    if (entry.path().extension() != ".yaml") continue;
    const SuiteReading reading = read_suite_file(entry.path(), kernels);
    ASSERT_TRUE(reading.suite) << entry.path();
    for (const SiteOfTest& site : kSites)
      for (const std::uint64_t seed : {1U, 2U, 20'400U}) {
        SCOPED_TRACE(
            fmt::format("{}, {} nodes, seed {}", entry.path().stem().string(), site.nodes, seed));
        Suite suite = *reading.suite;
        suite.seed = seed;
        const auto fleet = rails_of(site.nodes, site.rails);
        PlanOptions options = site.has_leaves ? leaves_of(fleet) : PlanOptions{};
        options.slice_index = seed;
        const auto outline = PlanOutline::make(suite, fleet, kernels, {}, options);
        ASSERT_TRUE(outline) << outline.error().message;
        const auto plan = make_plan(*outline);
        ASSERT_TRUE(plan);
        ASSERT_EQ(outline->tasks(), plan->tasks.size());
        for (std::size_t i = 0; i < plan->tasks.size(); ++i) {
          ASSERT_EQ(index_of_id(plan->tasks[i].id), i);
          ASSERT_EQ(outline->round_of(i), plan->tasks[i].round);
        }
        const auto again = PlanOutline::make(suite, fleet, kernels, {}, options);
        ASSERT_TRUE(again);
        EXPECT_EQ(made_by_rounds(*again, seed), texts_of(plan->tasks));
        expect_rest_of(*outline, plan->tasks, seed);
      }
  }
}

// The largest night has three million tasks. Times are those of a plan that no run has corrected.
TEST(ShippedSuites, NightlyCoversAThousandNodesOfEightRailsInSevenNightsOfTwoHours) {
  constexpr double kWindowSeconds = 7'200;
  const auto kernels = kernels_of_this_build();
  const SuiteReading reading = read_suite_file("suites/nightly.yaml", kernels);
  ASSERT_TRUE(reading.suite);
  for (const std::size_t nodes : {512U, 1'024U}) {
    const auto fleet = rails_of(nodes, 8);
    std::map<std::string, std::uint64_t> covered;
    double longest = 0;
    std::uint64_t most = 0;
    for (std::uint64_t night = 20'400; night < 20'407; ++night) {
      PlanOptions options = leaves_of(fleet);
      options.slice_index = night;
      const auto outline = PlanOutline::make(*reading.suite, fleet, kernels, {}, options);
      ASSERT_TRUE(outline) << outline.error().message;
      for (const PlannedStage& stage : outline->head().stages) covered[stage.name] += stage.tasks;
      longest = std::max(longest, outline->head().expected_seconds);
      most = std::max(most, outline->tasks());
    }
    EXPECT_EQ(covered["latency"], 8 * nodes * (nodes - 1) / 2);
    EXPECT_EQ(covered["bandwidth"], 8 * nodes * (nodes - 1)) << "both ways";
    EXPECT_EQ(covered["bandwidth_gpu"], 8 * nodes * (nodes - 1));
    EXPECT_LT(longest, kWindowSeconds) << nodes << " nodes";
    RecordProperty(fmt::format("longest_night_of_{}_seconds", nodes),
                   fmt::format("{:.0f}", longest));
    RecordProperty(fmt::format("most_tasks_of_{}", nodes), std::to_string(most));
  }
}

TEST(ShippedSuites, AreReadAndPlannedWithoutAProblem) {
  const auto kernels = kernels_of_this_build();
  std::vector<std::string> seen;
  std::vector<std::filesystem::directory_entry> files;
  for (const char* folder : {"suites", "deploy/vfabric/suites"})
    std::ranges::copy(std::filesystem::directory_iterator(folder), std::back_inserter(files));
  for (const auto& entry : files) {
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
  for (const char* name :
       {"quick", "fabric", "gpudirect", "collectives", "nightly", "nccl_settings", "upgrade", "mpi",
        "mpi_gpu", "preflight", "cpu_cost", "upgrade_guests"})
    EXPECT_THAT(seen, Contains(name));
}

// Without exception, so that a new kernel is measured somewhere.
TEST(ShippedSuites, HaveEveryKernelInSomeStage) {
  const auto kernels = kernels_of_this_build();
  std::set<std::string> measured;
  for (const auto& entry : std::filesystem::directory_iterator("suites")) {
    if (entry.path().extension() != ".yaml") continue;
    const SuiteReading reading = read_suite_file(entry.path(), kernels);
    ASSERT_TRUE(reading.suite) << entry.path();
    for (const Stage& stage : reading.suite->stages) measured.insert(stage.kernel);
  }
  EXPECT_GT(kernels.size(), 60U);
  for (const KernelInfo& kernel : kernels)
    EXPECT_THAT(measured, Contains(kernel.name())) << "no shipped suite has a stage of it";
}

// Sixteen nodes with eight GPUs and eight ports each: a maintenance window is short.
TEST(ShippedSuites, UpgradeCoversWhatAnUpgradeCanBreakInLessThanTenMinutes) {
  const auto kernels = kernels_of_this_build();
  const SuiteReading reading = read_suite_file("suites/upgrade.yaml", kernels);
  ASSERT_TRUE(reading.suite);
  for (const Stage& stage : reading.suite->stages)
    EXPECT_GE(stage.repetitions, 5U) << stage.name << ": the gate wants five launches of each side";
  std::vector<PlanNode> nodes = fleet_of(16);
  for (PlanNode& node : nodes) {
    node.endpoints.clear();
    for (int i = 0; i < 8; ++i) {
      node.endpoints.push_back(
          {.kind = "nic", .name = fmt::format("mlx5_{}:1", i), .active = true});
      node.endpoints.push_back({.kind = "gpu", .name = fmt::format("gpu{}", i), .active = true});
    }
  }
  const auto plan = make_plan(*reading.suite, nodes, kernels);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_LT(plan->expected_seconds, 600);
  RecordProperty("expected_seconds", std::to_string(plan->expected_seconds));
  std::set<std::string> measured;
  for (const PlannedTask& task : plan->tasks) {
    const auto memory = task.parameters.find("memory");
    measured.insert(task.kernel + (task.ranks.size() == 16 ? " of two nodes" : "") +
                    (memory != task.parameters.end() && memory->second == "cuda" ? " cuda" : ""));
    if (task.parameters.contains("target_memory"))
      measured.insert("target " + task.parameters.at("target_memory"));
    if (task.parameters.contains("direction"))
      measured.insert(task.kernel + " " + task.parameters.at("direction"));
  }
  EXPECT_THAT(measured, testing::IsSupersetOf(
                            {"verbs.write_lat", "verbs.write_bw", "verbs.write_bw cuda",
                             "target cuda", "target host", "verbs.read_bw", "verbs.send_bw",
                             "nccl.all_reduce", "nccl.all_reduce of two nodes",
                             "nccl.send_recv of two nodes", "mpi.lat", "cuda.host_copy_bw h2d",
                             "cuda.host_copy_bw d2h", "bar.write_bw", "bar.read_lat"}));
}

// The parameter as the task has it, or as the kernel declares it; 0: the kernel has none.
double duration_of(const PlannedTask& task, const KernelInfo& kernel, const std::string& name) {
  for (const auto& parameter : kernel.parameters())
    if (parameter.name() == name) {
      const auto given = task.parameters.find(name);
      const auto ns = parse_duration_ns(given == task.parameters.end() ? parameter.default_value()
                                                                       : given->second);
      EXPECT_TRUE(ns) << kernel.name() << ' ' << name;
      return ns ? static_cast<double>(*ns) / 1e9 : 0;
    }
  return 0;
}

// A pause of half a second must not hide between two short looks. The warm-up is part of the cap.
TEST(ShippedSuites, RatesThatAreJudgedAreMeasuredForTwoSeconds) {
  const auto kernels = kernels_of_this_build();
  std::size_t rates = 0;
  for (const char* name :
       {"quick", "fabric", "nightly", "upgrade", "collectives", "mpi", "mpi_gpu", "prove"}) {
    const SuiteReading reading = read_suite_file(fmt::format("suites/{}.yaml", name), kernels);
    ASSERT_TRUE(reading.suite) << name;
    const auto plan = make_plan(*reading.suite, two_nodes(), kernels);
    ASSERT_TRUE(plan) << plan.error().message;
    for (const PlannedTask& task : plan->tasks) {
      const auto kernel = std::ranges::find(kernels, task.kernel, &KernelInfo::name);
      ASSERT_NE(kernel, kernels.end()) << task.kernel;
      const double least = duration_of(task, *kernel, "least_time");
      if (least == 0) continue;
      ++rates;
      const std::string place = fmt::format("{} {}", name, plan->stages[task.stage].name);
      EXPECT_GE(least, 2) << place;
      EXPECT_GE(duration_of(task, *kernel, "time_cap"), 2.5) << place;
    }
  }
  EXPECT_GT(rates, 40U);
}

// Every kernel of the suite mpi that has messages, on device memory both ways.
TEST(ShippedSuites, MpiGpuHasATwinOfEachFigure) {
  const auto kernels = kernels_of_this_build();
  const SuiteReading on_hosts = read_suite_file("suites/mpi.yaml", kernels);
  const SuiteReading reading = read_suite_file("suites/mpi_gpu.yaml", kernels);
  ASSERT_TRUE(on_hosts.suite);
  ASSERT_TRUE(reading.suite);
  std::set<std::string> names;
  for (const Stage& stage : on_hosts.suite->stages)
    if (stage.kernel != "mpi.barrier") names.insert(stage.kernel);
  EXPECT_GE(names.size(), 14U);
  for (const std::string& name : names) {
    std::vector<std::string> paths;
    for (const Stage& stage : reading.suite->stages)
      if (stage.kernel == name && stage.parameters.at("memory") == "device")
        paths.push_back(stage.parameters.at("gpu_path"));
    EXPECT_THAT(paths, testing::IsSupersetOf({"direct", "staged"})) << name;
  }
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
  EXPECT_THAT(tasks_of("leaf_all_reduce"), testing::IsEmpty());
  EXPECT_THAT(plan->notes, Contains(testing::HasSubstr("leaf_all_reduce: left out: group: leaf")));
}

TEST(ShippedSuites, CollectivesTakeEachLeafOfATopology) {
  const auto kernels = kernels_of_this_build();
  const SuiteReading reading = read_suite_file("suites/collectives.yaml", kernels);
  ASSERT_TRUE(reading.suite);
  const auto fleet = fleet_of(24);
  const auto plan = make_plan(*reading.suite, fleet, kernels, {}, leaves_of(fleet));
  ASSERT_TRUE(plan) << plan.error().message;
  int leaves = 0;
  for (const PlannedTask& task : plan->tasks)
    if (reading.suite->stages[task.stage].name == "leaf_all_reduce") {
      ++leaves;
      EXPECT_EQ(task.ranks.size(), 16u) << "two GPUs on each of eight nodes";
    }
  EXPECT_EQ(leaves, 3);
}

TEST(ShippedSuites, CollectivesOfOneNodeLeaveThePairsOut) {
  const auto kernels = kernels_of_this_build();
  const SuiteReading reading = read_suite_file("suites/collectives.yaml", kernels);
  ASSERT_TRUE(reading.suite);
  const auto plan = make_plan(*reading.suite, fleet_of(1), kernels);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_FALSE(plan->tasks.empty());
  EXPECT_THAT(
      plan->notes,
      Contains(testing::HasSubstr("pair_all_reduce: left out: pairs need at least 2 nodes")));
}

// Names of a proof's nodes: the first ones, and their partners.
PlanOptions proof_of(const std::vector<PlanNode>& fleet, std::size_t proved) {
  PlanOptions options;
  ProvedNodes& prove = options.prove.emplace();
  for (std::size_t i = 0; i < fleet.size(); ++i)
    (i < proved ? prove.nodes : prove.partners).push_back(fleet[i].name);
  return options;
}

// By the longest times that the kernels may take.
TEST(ShippedSuites, AProofOfEightNodesOfEightRailsEndsWithinTenMinutes) {
  const auto kernels = kernels_of_this_build();
  const SuiteReading reading = read_suite_file("suites/prove.yaml", kernels);
  ASSERT_TRUE(reading.suite) << describe(reading.problems.front());
  for (const std::size_t proved : {1U, 2U, 8U}) {
    std::vector<PlanNode> fleet = fleet_of(proved + std::max<std::size_t>(proved, 7));
    for (PlanNode& node : fleet) {
      node.endpoints.clear();
      for (int i = 0; i < 8; ++i) {
        node.endpoints.push_back(
            {.kind = "nic", .name = fmt::format("mlx5_{}:1", i), .active = true});
        node.endpoints.push_back({.kind = "gpu", .name = fmt::format("gpu{}", i), .active = true});
      }
    }
    const auto plan = make_plan(*reading.suite, fleet, kernels, {}, proof_of(fleet, proved));
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_LE(plan->expected_seconds, 600) << proved;
    RecordProperty(fmt::format("seconds_of_{}", proved), fmt::format("{}", plan->expected_seconds));
    for (const char* stage : {"latency", "bandwidth", "bandwidth_gpu"}) {
      std::map<std::string, std::size_t> met;
      for (const auto& [pair, times] : pairs_of(*plan, stage)) {
        EXPECT_EQ(times, 16) << "both ways on every rail";
        ++met[pair.first];
        ++met[pair.second];
      }
      for (std::size_t i = 0; i < proved; ++i) EXPECT_GE(met[fleet[i].name], 7U) << stage;
    }
  }
}

TEST(ShippedSuites, AProofWithoutPartnersMeasuresEachNodeByItself) {
  const auto kernels = kernels_of_this_build();
  const SuiteReading reading = read_suite_file("suites/prove.yaml", kernels);
  ASSERT_TRUE(reading.suite);
  for (const PlanOptions& options : {PlanOptions{}, proof_of(fleet_of(1), 1)}) {
    const auto plan = make_plan(*reading.suite, fleet_of(1), kernels, {}, options);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_FALSE(plan->tasks.empty());
    EXPECT_THAT(plan->notes, Contains(HasSubstr("left out: ")));
  }
}

}  // namespace
}  // namespace railgauge::plan

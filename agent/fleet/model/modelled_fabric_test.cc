// The modelled fabric: which tasks a fault moves and how far, what noise does, and that answers
// depend on nothing but seed, task and time. All synthetic.
#include "agent/fleet/model/modelled_fabric.h"

#include <cmath>
#include <functional>
#include <numeric>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::fleet {
namespace {

constexpr Nanoseconds kDayNs = 86'400'000'000'000;
constexpr const char* kSizes = "{nodes: 16, leaves: 4, spines: 2, rails: 4}";

ModelledFabric fabric(const std::string& lines, const std::string& sizes = kSizes) {
  auto read = read_scenario(
      fmt::format("version: 1\nmetadata: {{name: t}}\nfabric: {}\n{}", sizes, lines), "t.yaml");
  RG_CHECK(read.has_value());
  return ModelledFabric(*std::move(read));
}

ModelledTask pair(std::uint32_t from, std::uint32_t to, std::int32_t rail,
                  std::string kernel = "verbs.write_bw", Nanoseconds time = kDayNs) {
  return {.kernel = std::move(kernel),
          .ranks = {{.node = from, .nic = rail}, {.node = to, .nic = rail}},
          .time_ns = time};
}

ModelledTask with_gpu(ModelledTask task) {
  task.parameters["memory"] = "cuda";
  return task;
}

double first_figure(const ModelledResult& result) {
  RG_CHECK(!result.points.empty());
  const Point& point = result.points.front();
  return point.has_rate() ? point.rate() : point.median();
}

// The exact figure: estimates have an error of their own, which is equal with and without a fault.
double ratio(const ModelledFabric& faulty, const ModelledFabric& healthy,
             const ModelledTask& task) {
  return first_figure(faulty.run(task)) / first_figure(healthy.run(task));
}

// One fault, and which pair tasks cross its part: sender, receiver, rail.
struct FaultCase {
  const char* lines;
  std::function<bool(std::uint32_t, std::uint32_t, std::int32_t)> crosses;
  bool gpu = false;
};

std::uint32_t leaf(std::uint32_t node) { return node / 4; }

TEST(ModelledFabric, AFaultMovesExactlyTheTasksThatCrossItsPart) {
  const std::vector<FaultCase> cases{
      {"{kind: port, node: sim0003, nic: 1, takes: 0.2}",
       [](auto a, auto b, auto r) { return r == 1 && (a == 2 || b == 2); }},
      {"{kind: port, node: sim0003, nic: 1, direction: sends, takes: 0.2}",
       [](auto a, auto, auto r) { return r == 1 && a == 2; }},
      {"{kind: port, node: sim0003, nic: 1, direction: receives, takes: 0.2}",
       [](auto, auto b, auto r) { return r == 1 && b == 2; }},
      {"{kind: node, node: sim0003, takes: 0.2}",
       [](auto a, auto b, auto) { return a == 2 || b == 2; }},
      // GPUs 2 and 3 of 8 are those of NIC 1 of 4; a task takes the first of them.
      {"{kind: gpu, node: sim0003, gpu: 2, takes: 0.2}",
       [](auto a, auto b, auto r) { return r == 1 && (a == 2 || b == 2); }, true},
      {"{kind: rail, rail: 2, takes: 0.2}", [](auto, auto, auto r) { return r == 2; }},
      {"{kind: leaf, leaf: 1, takes: 0.2}",
       [](auto a, auto b, auto) { return leaf(a) == 1 || leaf(b) == 1; }},
      {"{kind: leaf, leaf: 1, rail: 3, takes: 0.2}",
       [](auto a, auto b, auto r) { return r == 3 && (leaf(a) == 1 || leaf(b) == 1); }},
      {"{kind: trunk, leaf: 0, to_leaf: 2, takes: 0.2}",
       [](auto a, auto b, auto) { return leaf(a) + leaf(b) == 2 && leaf(a) != leaf(b); }},
      {"{kind: trunk, leaf: 0, to_leaf: 2, rail: 0, direction: sends, takes: 0.2}",
       [](auto a, auto b, auto r) { return r == 0 && leaf(a) == 0 && leaf(b) == 2; }},
      {"{kind: pair, node: sim0001, to_node: sim0010, takes: 0.2}",
       [](auto a, auto b, auto) { return (a == 0 && b == 9) || (a == 9 && b == 0); }},
      {"{kind: pair, node: sim0001, to_node: sim0010, rail: 1, direction: sends, takes: 0.2}",
       [](auto a, auto b, auto r) { return a == 0 && b == 9 && r == 1; }},
  };
  const ModelledFabric healthy = fabric("");
  for (const FaultCase& each : cases) {
    const ModelledFabric faulty = fabric(fmt::format("faults:\n  - {}\n", each.lines));
    for (std::uint32_t a = 0; a < 16; ++a)
      for (std::uint32_t b = 0; b < 16; ++b)
        for (std::int32_t rail = 0; rail < 4; ++rail) {
          if (a == b) continue;
          const ModelledTask task = each.gpu ? with_gpu(pair(a, b, rail)) : pair(a, b, rail);
          ASSERT_NEAR(ratio(faulty, healthy, task), each.crosses(a, b, rail) ? 0.8 : 1, 1e-9)
              << each.lines << " " << a << " " << b << " " << rail;
        }
  }
}

// Which flows take the spine is a matter of chance; those within a leaf never do.
TEST(ModelledFabric, ASpineAndAnUplinkMoveTheFlowsThatTakeThem) {
  const ModelledFabric healthy = fabric("");
  const ModelledFabric spine = fabric("faults:\n  - {kind: spine, spine: 1, takes: 0.2}\n");
  const ModelledFabric uplink =
      fabric("faults:\n  - {kind: uplink, leaf: 0, spine: 1, takes: 0.2}\n");
  int slow = 0;
  int all = 0;
  for (std::uint32_t a = 0; a < 16; ++a)
    for (std::uint32_t b = 0; b < 16; ++b) {
      if (a == b) continue;
      const ModelledTask task = pair(a, b, 0);
      const bool by_spine = ratio(spine, healthy, task) < 0.9;
      const bool by_uplink = ratio(uplink, healthy, task) < 0.9;
      EXPECT_FALSE(by_spine && leaf(a) == leaf(b));
      EXPECT_EQ(by_uplink, by_spine && (leaf(a) == 0 || leaf(b) == 0));
      all += leaf(a) != leaf(b) ? 1 : 0;
      slow += by_spine ? 1 : 0;
    }
  EXPECT_NEAR(static_cast<double>(slow) / all, 0.5, 0.15);
}

TEST(ModelledFabric, AFaultHoldsFromItsBeginToItsEnd) {
  const ModelledFabric healthy = fabric("");
  const ModelledFabric faulty =
      fabric("faults:\n  - {kind: rail, rail: 0, begin: 2d, end: 4d, takes: 0.2}\n");
  for (const auto& [day, is_slow] :
       {std::pair{1, false}, std::pair{2, true}, std::pair{3, true}, std::pair{4, false}})
    EXPECT_EQ(ratio(faulty, healthy, pair(0, 1, 0, "verbs.write_bw", day * kDayNs)) < 0.9, is_slow)
        << day;
}

TEST(ModelledFabric, OfTwoFaultsTheSlowerPartDecidesAndEachShowsAlone) {
  const ModelledFabric healthy = fabric("");
  const ModelledFabric both = fabric(
      "faults:\n  - {kind: port, node: sim0001, nic: 0, takes: 0.1}\n"
      "  - {kind: port, node: sim0002, nic: 0, takes: 0.3}\n");
  EXPECT_NEAR(ratio(both, healthy, pair(0, 4, 0)), 0.9, 1e-9);
  EXPECT_NEAR(ratio(both, healthy, pair(1, 4, 0)), 0.7, 1e-9);
  EXPECT_NEAR(ratio(both, healthy, pair(0, 1, 0)), 0.7, 1e-9);
}

// A flow there and one back: half of the round trip is slower by half of what one way adds.
TEST(ModelledFabric, AnAsymmetricDelayCountsHalfInARoundTrip) {
  const ModelledFabric healthy = fabric("");
  const auto added = [&](const char* direction) {
    const ModelledFabric faulty = fabric(fmt::format(
        "faults:\n  - {{kind: port, node: sim0001, nic: 0, direction: {}, adds: 2us}}\n",
        direction));
    const ModelledTask task = pair(0, 1, 0, "verbs.write_lat");
    return first_figure(faulty.run(task)) - first_figure(healthy.run(task));
  };
  EXPECT_NEAR(added("sends"), 1'000, 20);
  EXPECT_NEAR(added("both"), 2'000, 20);
}

TEST(ModelledFabric, AFlappingPartIsSlowInItsShareOfSpellsForAllTasksOfEach) {
  const ModelledFabric healthy = fabric("");
  const auto is_slow = [&](const ModelledFabric& faulty, std::uint32_t to, Nanoseconds time) {
    return ratio(faulty, healthy, pair(0, to, 0, "verbs.write_bw", time)) < 0.9;
  };
  for (const auto& [spell, hours] : {std::pair{"", 1.0 / 6}, std::pair{", spell: 10h", 10.0}}) {
    const ModelledFabric faulty = fabric(fmt::format(
        "faults:\n  - {{kind: port, node: sim0001, nic: 0, takes: 0.5, hits: 0.3{}}}\n", spell));
    const auto length = static_cast<Nanoseconds>(hours * static_cast<double>(kDayNs) / 24);
    constexpr int kSpells = 1'000;
    int slow = 0;
    for (int i = 0; i < kSpells; ++i) {
      const bool first = is_slow(faulty, 1, i * length);
      EXPECT_EQ(is_slow(faulty, 2, i * length + length / 2), first) << i;
      EXPECT_EQ(is_slow(faulty, 1, (i + 1) * length - 1), first) << i;
      slow += first ? 1 : 0;
    }
    EXPECT_NEAR(slow / static_cast<double>(kSpells), 0.3, 0.05) << spell;
  }
}

// The pace between pauses is unchanged, so that only the rate over all time and low slots show it.
TEST(ModelledFabric, StallsLowerTheRateAndItsSlotsAndLeaveTheMedian) {
  const ModelledFabric healthy = fabric("");
  const ModelledFabric faulty =
      fabric("faults:\n  - {kind: rail, rail: 0, stall: 100ms, stall_every: 500ms}\n");
  ModelledTask task = pair(0, 1, 0);
  task.parameters["time_cap"] = "10s";
  const Point right = healthy.run(task).points[0];
  const Point stalled = faulty.run(task).points[0];
  EXPECT_DOUBLE_EQ(stalled.median(), right.median());
  EXPECT_NEAR(stalled.rate() / right.rate(), 0.8, 0.02);
  EXPECT_NEAR(stalled.pause_share(), 0.2, 0.02);
  EXPECT_DOUBLE_EQ(stalled.longest_pause_ns(), 100e6);
  EXPECT_EQ(stalled.slot_p10(), 0);
  EXPECT_GT(right.slot_p10(), 0.95 * right.median());
  EXPECT_LT(stalled.rate_low(), stalled.rate());
  EXPECT_LT(right.pause_share(), 0.01);
}

TEST(ModelledFabric, LossShowsInCountersOfBothEndsAndInTheTail) {
  const ModelledFabric healthy = fabric("");
  const ModelledFabric faulty =
      fabric("faults:\n  - {kind: port, node: sim0001, nic: 0, direction: sends, loss: 0.002}\n");
  const ModelledResult result = faulty.run(pair(0, 1, 0));
  ASSERT_EQ(result.counters.size(), 2U);
  EXPECT_TRUE(result.counters[0].contains("packet_seq_err"));
  EXPECT_TRUE(result.counters[0].contains("symbol_error"));
  EXPECT_TRUE(result.counters[1].contains("out_of_sequence"));
  EXPECT_FALSE(result.counters[1].contains("symbol_error"));
  EXPECT_TRUE(healthy.run(pair(0, 1, 0)).counters[0].empty());
  EXPECT_TRUE(faulty.run(pair(1, 0, 0)).counters[0].empty());
  ModelledTask lat = pair(0, 1, 0, "verbs.write_lat");
  lat.parameters["min_samples"] = "5000";
  const Point point = faulty.run(lat).points[0];
  EXPECT_GT(point.p999(), 1e6);
  EXPECT_LT(point.p99(), 1e5);
}

TEST(ModelledFabric, ALinkThatIsDownFailsTheTasksThatCrossIt) {
  const ModelledFabric faulty =
      fabric("faults:\n  - {kind: port, node: sim0001, nic: 2, takes: 1}\n");
  const ModelledResult down = faulty.run(pair(0, 1, 2));
  EXPECT_EQ(down.outcome, "failed");
  EXPECT_THAT(down.reason, testing::HasSubstr("node sim0001 NIC 2"));
  EXPECT_TRUE(down.points.empty());
  EXPECT_EQ(faulty.run(pair(0, 1, 1)).outcome, "passed");
}

TEST(ModelledFabric, AStackChangeActsOnItsNodesKernelsAndMemoryAlone) {
  const ModelledFabric healthy = fabric("");
  const ModelledFabric changed = fabric(
      "changes:\n  - {nodes: 'sim[0001-0004]', begin: 1h, versions: {gpu_driver: '2'},\n"
      "     effect: {takes: 0.1, kernels: [verbs.write_bw], memory: gpu}}\n"
      "  - {nodes: sim0009, versions: {nccl: '3'}}\n");
  EXPECT_NEAR(ratio(changed, healthy, with_gpu(pair(0, 8, 0))), 0.9, 1e-9);
  EXPECT_NEAR(ratio(changed, healthy, with_gpu(pair(8, 9, 0))), 1, 1e-9);
  EXPECT_NEAR(ratio(changed, healthy, pair(0, 8, 0)), 1, 1e-9);
  EXPECT_NEAR(ratio(changed, healthy, with_gpu(pair(0, 8, 0, "verbs.read_bw"))), 1, 1e-9);
  EXPECT_NEAR(ratio(changed, healthy, with_gpu(pair(0, 8, 0, "verbs.write_bw", 0))), 1, 1e-9);
}

TEST(ModelledFabric, ALostFunctionEndsItsTasksWithTheReason) {
  const ModelledFabric faulty = fabric(
      "losses:\n  - {nodes: sim0002, memory: gpu, outcome: failed, reason: no peer memory}\n");
  const ModelledResult lost = faulty.run(with_gpu(pair(0, 1, 0)));
  EXPECT_EQ(lost.outcome, "failed");
  EXPECT_EQ(lost.reason, "no peer memory");
  EXPECT_EQ(faulty.run(pair(0, 1, 0)).outcome, "passed");
  EXPECT_EQ(faulty.run(with_gpu(pair(0, 2, 0))).outcome, "passed");
}

TEST(ModelledFabric, ANodeWithoutTheEndpointWaives) {
  const ModelledFabric cpus = fabric("classes:\n  - {name: cpu, gpus: 0, nics: 2}\n");
  EXPECT_EQ(cpus.run(with_gpu(pair(0, 1, 0))).outcome, "waived");
  EXPECT_EQ(cpus.run(pair(0, 1, 2)).outcome, "waived");
  EXPECT_EQ(cpus.run(pair(0, 1, 1)).outcome, "passed");
  EXPECT_EQ(cpus.run({.kernel = "verbs.nothing", .ranks = {{}, {}}}).outcome, "waived");
}

// Collectives cross what any of their rings cross, and are as slow as the slowest.
TEST(ModelledFabric, ACollectiveIsSlowWhereOneOfItsWaysIs) {
  const ModelledFabric healthy = fabric("");
  const auto group = [](const char* kernel, std::uint32_t from, std::uint32_t to) {
    ModelledTask task{.kernel = kernel, .time_ns = kDayNs};
    task.parameters["sizes"] = "512MiB";
    for (std::uint32_t node = from; node < to; ++node)
      for (std::int32_t gpu = 0; gpu < 8; ++gpu) task.ranks.push_back({.node = node, .gpu = gpu});
    return task;
  };
  const auto slow = [&](const std::string& fault, const ModelledTask& task) {
    return ratio(fabric("faults:\n  - {" + fault + ", takes: 0.2}\n"), healthy, task) < 0.85;
  };
  for (const char* kernel : {"nccl.all_reduce", "nccl.all_to_all"}) {
    EXPECT_TRUE(slow("kind: port, node: sim0003, nic: 1", group(kernel, 0, 8)));
    EXPECT_FALSE(slow("kind: port, node: sim0009, nic: 1", group(kernel, 0, 8)));
    EXPECT_TRUE(slow("kind: gpu, node: sim0003, gpu: 5", group(kernel, 0, 8)));
    EXPECT_TRUE(slow("kind: leaf, leaf: 1, rail: 2", group(kernel, 0, 8)));
    EXPECT_FALSE(slow("kind: leaf, leaf: 2", group(kernel, 0, 8)));
    EXPECT_FALSE(slow("kind: rail, rail: 0", group(kernel, 3, 4)));
  }
  EXPECT_TRUE(slow("kind: pair, node: sim0001, to_node: sim0006", group("nccl.all_to_all", 0, 8)));
  EXPECT_FALSE(slow("kind: pair, node: sim0001, to_node: sim0006", group("nccl.all_reduce", 0, 8)));
}

// Healthy levels of a ConnectX-7 class machine, so that a table looks like one.
TEST(ModelledFabric, HealthyFiguresAreThoseOfTheClass) {
  const ModelledFabric healthy = fabric("");
  const double line = 400e9 / 8;
  const double near = first_figure(healthy.run(pair(0, 1, 0)));
  EXPECT_GT(near, 0.9 * line);
  EXPECT_LT(near, line);
  const double latency = first_figure(healthy.run(pair(0, 1, 0, "verbs.write_lat")));
  EXPECT_NEAR(latency, 1'800, 30);
  EXPECT_NEAR(first_figure(healthy.run(pair(0, 15, 0, "verbs.write_lat"))) - latency, 350, 40);
  ModelledTask both = pair(0, 1, 0);
  both.parameters["direction"] = "both";
  const Point sum = healthy.run(both).points[0];
  EXPECT_EQ(sum.meaning(), "bidirectional_sum");
  EXPECT_GT(sum.rate(), 1.7 * near);
}

std::string bytes_of(const ModelledResult& result) {
  std::string bytes = result.outcome + result.reason;
  for (const Point& point : result.points) bytes += point.SerializeAsString();
  for (const Counters& counters : result.counters) bytes += counter_words(counters);
  return bytes;
}

constexpr const char* kBusy =
    "noise:\n  - {kind: gaussian, size: 0.01}\n  - {kind: correlated, size: 0.01, span: 3d}\n"
    "  - {kind: spikes, size: 0.5, share: 0.1}\n"
    "faults:\n  - {kind: port, node: sim0001, nic: 0, takes: 0.2, hits: 0.4, loss: 0.001}\n"
    "  - {kind: uplink, leaf: 1, spine: 0, takes: 0.2, stall: 20ms, stall_every: 1s}\n";

TEST(ModelledFabric, TheSameSeedGivesTheSameAnswersBitForBitInAnyOrder) {
  const ModelledFabric one = fabric(kBusy);
  const ModelledFabric other = fabric(kBusy);
  const ModelledFabric seeded = fabric(std::string("seed: 2\n") + kBusy);
  std::vector<ModelledTask> tasks;
  for (std::uint32_t i = 0; i < 200; ++i)
    tasks.push_back(pair(i % 16, (i + 1 + i / 16) % 16, static_cast<std::int32_t>(i % 4),
                         i % 3 == 0 ? "verbs.write_lat" : "verbs.write_bw", i * kDayNs / 7));
  std::vector<std::string> forth;
  for (const ModelledTask& task : tasks) forth.push_back(bytes_of(one.run(task)));
  int differ = 0;
  for (std::size_t i = tasks.size(); i-- > 0;) {
    EXPECT_EQ(bytes_of(other.run(tasks[i])), forth[i]) << i;
    differ += bytes_of(seeded.run(tasks[i])) != forth[i] ? 1 : 0;
  }
  EXPECT_EQ(differ, 200);
}

TEST(ModelledFabric, ALyingAgentsFiguresAreBetterAndOnlyItsOwn) {
  const ModelledFabric healthy = fabric("");
  const ModelledFabric lying = fabric("agents:\n  - {kind: lying, nodes: sim0001, factor: 1.5}\n");
  EXPECT_NEAR(ratio(lying, healthy, pair(0, 1, 0)), 1.5, 1e-9);
  EXPECT_NEAR(ratio(lying, healthy, pair(0, 1, 0, "verbs.write_lat")), 1 / 1.5, 1e-9);
  EXPECT_NEAR(ratio(lying, healthy, pair(1, 0, 0)), 1, 1e-9);
}

TEST(ModelledFabric, EndpointsAreReadAsTheControllerWritesThem) {
  const auto both = parse_endpoint(3, "mlx5_2:1+gpu5");
  ASSERT_TRUE(both);
  EXPECT_EQ(both->node, 3U);
  EXPECT_EQ(both->nic, 2);
  EXPECT_EQ(both->gpu, 5);
  EXPECT_EQ(parse_endpoint(0, "gpu7")->gpu, 7);
  EXPECT_EQ(parse_endpoint(0, "gpu7")->nic, -1);
  EXPECT_EQ(parse_endpoint(0, "")->nic, -1);
  for (const char* bad : {"eth0", "mlx5_", "mlx5_x:1", "mlx5_1:1+gp", "mlx5_1:2", "gpu"})
    EXPECT_FALSE(parse_endpoint(0, bad)) << bad;
}

}  // namespace
}  // namespace railgauge::fleet

// The keys of a suite beside the kernels' parameters: gates, rounds, limits, pairs.
#include <gmock/gmock.h>

#include "controller/plan/suite/suite_keys.h"
#include "controller/plan/testing/suite_testing.h"

namespace railgauge::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kWhole = R"(version: 1
metadata:
  name: whole
  summary: every key
  description: >-
    Some sentences
    on several lines.
  contact: fabric team
seed: 42
preflight:
  require: [port_state, gid]
  allow_unknown: [gid]
rounds:
  quorum: 0.9
  straggler_factor: 2
  straggler_slack: 10s
  deadline: 2min
  settle: 500ms
  max_attempts: 3
  max_tasks: 100
  max_tasks_per_leaf: 4
  drill_down: true
  stop: {failures: 10, failed_share: 0.5, share_after: 40}
  kindness: {exclusive: true, bandwidth_tasks_per_leaf: 2, cross_leaf_share: 0.1,
             max_collective_nodes: 8, wait: 1h}
stages:
  - kernel: fake.bw
    parameters: {depth: 4}
    precision: {time_cap: 2s}
    vary: {sizes: [64KiB, 1MiB]}
    placement: {pairs: all, leaves: across, rails: same, rails_together: true, directions: both,
                strict_class: true, slice: 7}
    repetitions: 5
    limits:
      - {metric: bandwidth_bytes_per_second, size: 64KiB, floor: 40Gb/s, ceiling: 60 GB/s}
    time_budget: 20min
    on_failure: stop_stage
  - {kernel: fake.lat, placement: {pairs: quick, matchings: 4, leaves: within}}
  - {kernel: fake.lat, placement: {pairs: all, idle: loopback}}
  - {kernel: fake.lat, placement: {pairs: custom, file: mine.pairs}}
  - {kernel: fake.group, placement: {group: leaf}}
)";

TEST(SuiteLanguage, ASliceOfTheSuiteIsOneOfEveryStageOfAllPairs) {
  const std::string stages =
      "version: 1\nmetadata: {name: s}\nstages:\n"
      "  - {kernel: fake.lat, placement: {pairs: all, slice: 7}}\n"
      "  - {kernel: fake.lat, placement: {pairs: quick}}\n";
  const SuiteReading reading = read(stages + "\nslice: 3/96\n");
  ASSERT_TRUE(reading.suite) << describe(reading.problems.front());
  EXPECT_EQ(reading.suite->stages[0].placement.slice_of, 96u);
  EXPECT_EQ(reading.suite->stages[0].placement.slice, 2u);
  EXPECT_EQ(reading.suite->stages[1].placement.slice_of, 1u);
  EXPECT_FALSE(reading.suite->stages[1].placement.slice);
  EXPECT_FALSE(read(stages).suite->stages[0].placement.slice) << "the day's";
  for (const char* wrong : {"97/96", "0/96", "3", "1/1", "1/10001", "/", "-1/4", "1/2/3"}) {
    const SuiteReading bad = read(stages + "slice: " + wrong + "\n");
    ASSERT_EQ(bad.problems.size(), 1u) << wrong;
    EXPECT_EQ(bad.problems[0].key, "slice");
    EXPECT_EQ(bad.problems[0].line, 6u);
    EXPECT_THAT(bad.problems[0].message, HasSubstr("must be K/N")) << wrong;
  }
  const SuiteReading nothing = read(
      "version: 1\nmetadata: {name: s}\nslice: 1/2\nstages:\n"
      "  - {kernel: fake.lat, placement: {pairs: quick}}\n");
  ASSERT_EQ(nothing.problems.size(), 1u);
  EXPECT_THAT(nothing.problems[0].message, HasSubstr("no stage has pairs: all"));
}

TEST(SuiteLanguage, ReadsEveryKey) {
  const SuiteReading reading = read(kWhole);
  for (const auto& problem : reading.problems) ADD_FAILURE() << describe(problem);
  ASSERT_TRUE(reading.suite);
  const Suite& suite = *reading.suite;
  EXPECT_EQ(suite.description, "Some sentences on several lines.");
  EXPECT_EQ(suite.contact, "fabric team");
  EXPECT_EQ(suite.seed, 42u);
  EXPECT_THAT(suite.preflight.require, ElementsAre("port_state", "gid"));
  EXPECT_THAT(suite.preflight.allow_unknown, ElementsAre("gid"));
  ASSERT_EQ(suite.stages.size(), 6u) << "two of the first by vary";
  EXPECT_EQ(suite.stages[0].block, suite.stages[1].block);
  EXPECT_NE(suite.stages[1].block, suite.stages[2].block);
  const Stage& first = suite.stages[0];
  EXPECT_EQ(first.parameters.at("time_cap"), "2s");
  EXPECT_EQ(first.repetitions, 5u);
  EXPECT_EQ(first.time_budget_seconds, 1200);
  EXPECT_EQ(first.on_failure, run::OnFailure::kStopStage);
  EXPECT_THAT(first.limits, ElementsAre(Limit{.metric = "bandwidth_bytes_per_second",
                                              .size_bytes = 65536,
                                              .floor = 5e9,
                                              .ceiling = 60e9}));
  const Placement& placement = first.placement;
  EXPECT_EQ(placement.leaves, Placement::Leaves::kAcross);
  EXPECT_EQ(placement.rails, RailChoice::kSame);
  EXPECT_TRUE(placement.rails_together);
  EXPECT_TRUE(placement.both_directions);
  EXPECT_TRUE(placement.strict_class);
  EXPECT_EQ(placement.slice_of, 7u);
  EXPECT_EQ(suite.stages[2].placement.pairs, PairChoice::kQuick);
  EXPECT_EQ(suite.stages[2].placement.matchings, 4u);
  EXPECT_TRUE(suite.stages[3].placement.idle_loopback);
  EXPECT_EQ(suite.stages[4].placement.pairs_file, "mine.pairs");
  EXPECT_EQ(suite.stages[5].placement.kind, PlacementKind::kLeaf);
}

TEST(SuiteLanguage, ReadsHowRoundsAreDriven) {
  const SuiteReading reading = read(kWhole);
  ASSERT_TRUE(reading.suite);
  const run::RoundPolicy& rounds = reading.suite->rounds;
  EXPECT_EQ(rounds.quorum, 0.9);
  EXPECT_EQ(rounds.straggler_factor, 2);
  EXPECT_EQ(rounds.straggler_slack_seconds, 10);
  EXPECT_EQ(rounds.round_deadline_seconds, 120);
  EXPECT_EQ(rounds.settle_seconds, 0.5);
  EXPECT_EQ(rounds.max_attempts, 3u);
  EXPECT_EQ(rounds.max_tasks, 100u);
  EXPECT_EQ(rounds.max_tasks_per_leaf, 4u);
  EXPECT_TRUE(rounds.drill_down);
  EXPECT_EQ(rounds.stop.failures, 10u);
  EXPECT_EQ(rounds.stop.failed_share, 0.5);
  EXPECT_EQ(rounds.stop.share_after, 40u);
  EXPECT_TRUE(rounds.kindness.exclusive);
  EXPECT_EQ(rounds.kindness.bandwidth_tasks_per_leaf, 2u);
  EXPECT_EQ(rounds.kindness.cross_leaf_share, 0.1);
  EXPECT_EQ(rounds.kindness.max_collective_nodes, 8u);
  EXPECT_EQ(rounds.kindness.wait_seconds, 3600);
}

// The whole suite with one thing changed.
std::string with(std::string_view from, std::string_view to) {
  std::string text(kWhole);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(SuiteLanguage, NamesLineAndKeyOfWhatItRefuses) {
  EXPECT_THAT(problem_of(with("quorum: 0.9", "quorum: 2")),
              HasSubstr("x.yaml:14:11: rounds.quorum: is \"2\"; must be a number from 0 to 1"));
  EXPECT_THAT(problem_of(with("quorum: 0.9", "quorun: 0.9")), HasSubstr("did you mean \"quorum\""));
  EXPECT_THAT(problem_of(with("settle: 500ms", "settle: soon")),
              HasSubstr("rounds.settle: is \"soon\"; must be a duration"));
  EXPECT_THAT(problem_of(with("max_attempts: 3", "max_attempts: 0")), HasSubstr("from 1 to 10"));
  EXPECT_THAT(problem_of(with("exclusive: true", "exclusive: maybe")), HasSubstr("true or false"));
  EXPECT_THAT(problem_of(with("allow_unknown: [gid]", "allow_unknown: [mtu]")),
              HasSubstr("\"mtu\" is not in require"));
  EXPECT_THAT(problem_of(with("[port_state, gid]", "[gid, gid]")), HasSubstr("already"));
  EXPECT_THAT(problem_of(with("seed: 42", "seed: -1")), HasSubstr("whole number from 0"));
  EXPECT_THAT(problem_of(with("repetitions: 5", "repetitions: 0")), HasSubstr("from 1 to 1000"));
  EXPECT_THAT(problem_of(with("stop_stage", "stop")), HasSubstr("allowed: continue, stop_stage"));
  EXPECT_THAT(problem_of(with("precision: {time_cap: 2s}", "precision: {depth: 4}")),
              HasSubstr("precision.depth: is no parameter of the stop rule"));
  EXPECT_THAT(problem_of(with("precision: {time_cap: 2s}", "precision: {precision: 0.1}")),
              HasSubstr("unknown parameter of fake.bw"));
}

TEST(SuiteLanguage, RefusesLimitsThatNothingCouldMeet) {
  EXPECT_THAT(problem_of(with("floor: 40Gb/s", "floor: 40Gb")), HasSubstr("is no rate"));
  EXPECT_THAT(problem_of(with("ceiling: 60 GB/s", "ceiling: 1GB/s")),
              HasSubstr("above its ceiling"));
  EXPECT_THAT(problem_of(with(", floor: 40Gb/s, ceiling: 60 GB/s", "")),
              HasSubstr("needs a floor or a ceiling"));
  EXPECT_THAT(
      problem_of(with("metric: bandwidth_bytes_per_second", "metric: bandwith_bytes_per_second")),
      HasSubstr("did you mean \"bandwidth_bytes_per_second\""));
}

TEST(SuiteLanguage, RefusesKeysOfPairsThatDoNotGoTogether) {
  const auto problem = [](std::string_view placement) {
    return problem_of(local("fake.lat", placement));
  };
  EXPECT_THAT(problem("pairs: all, matchings: 3"), HasSubstr("only with pairs: quick"));
  EXPECT_THAT(problem("pairs: custom"), HasSubstr("custom wants file"));
  EXPECT_THAT(problem("pairs: all, file: x"), HasSubstr("only with pairs: custom"));
  EXPECT_THAT(problem("pairs: custom, file: ../x"), HasSubstr("without a path"));
  EXPECT_THAT(problem("pairs: ring, leaves: within"), HasSubstr("only with pairs: all and"));
  EXPECT_THAT(problem("pairs: quick, slice: 7"), HasSubstr("only with pairs: all"));
  EXPECT_THAT(problem("pairs: all, slice: 1"), HasSubstr("from 2 to 366"));
  EXPECT_THAT(problem("pairs: ring, strict_class: true"), HasSubstr("only with pairs: all and"));
  EXPECT_THAT(problem("pairs: all, rails_together: true"), HasSubstr("only with rails"));
  EXPECT_THAT(problem("pairs: all, rails: same, endpoint: 'rxe0:1'"),
              HasSubstr("excludes endpoint"));
  EXPECT_THAT(problem("loopback: all, slice: 7"), HasSubstr("only with pairs"));
  EXPECT_THAT(problem("group: some"), HasSubstr("allowed: all, node, leaf"));
  EXPECT_THAT(problem("pairs: all, directions: two"), HasSubstr("allowed: one, both"));
  EXPECT_THAT(problem("pairs: all, rails: same, idle: loopback"), HasSubstr("excludes rails"));
}

TEST(SuiteLanguage, RatesAreBitsOrBytes) {
  EXPECT_EQ(parse_rate("40Gb/s").value(), 5e9);
  EXPECT_EQ(parse_rate("5 GB/s").value(), 5e9);
  EXPECT_EQ(parse_rate("8b/s").value(), 1);
  EXPECT_EQ(parse_rate("2.5MB/s").value(), 2.5e6);
  for (const char* wrong : {"", "5", "5G", "b/s", "-1Gb/s", "5 gb/s", "1e400Gb/s"})
    EXPECT_FALSE(parse_rate(wrong)) << wrong;
}

}  // namespace
}  // namespace railgauge::plan

#include "controller/exporter/metrics_feed.h"

#include <cmath>
#include <limits>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/history/pair_figures.h"
#include "controller/metric/exposition.h"
#include "controller/store/queries/data_kind.h"
#include "controller/store/sqlite/sqlite.h"
#include "controller/testing/server_bench.h"

namespace railgauge {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

PairFigures three_nodes(bool larger_is_better) {
  PairFigures figures;
  figures.series.kernel = "verbs.write_bw";
  figures.series.larger_is_better = larger_is_better;
  figures.series.unit = larger_is_better ? "bytes_per_second" : "ns";
  figures.data.nodes = {"a", "b", "c"};
  figures.data.leaves = {"x", "y"};
  figures.data.leaf_of = {0, 0, 1};
  figures.data.layers.push_back(
      {.rail = 2, .memory = "host", .values = {kNone, 100, 90, 110, kNone, 50, 100, 100, kNone}});
  return figures;
}

TEST(WorstPairs, TheSlowestComesFirstAgainstItsRailsMedian) {
  const auto worst = worst_pairs(three_nodes(true), 2);
  ASSERT_THAT(worst, SizeIs(2));
  EXPECT_EQ(worst[0].from, "b");
  EXPECT_EQ(worst[0].to, "c");
  EXPECT_EQ(worst[0].rail, 2);
  EXPECT_DOUBLE_EQ(worst[0].ratio, 0.5);
  EXPECT_DOUBLE_EQ(worst[1].ratio, 0.9);
}

TEST(WorstPairs, ALatencyIsSlowWhereItIsLarge) {
  const auto worst = worst_pairs(three_nodes(false), 1);
  ASSERT_THAT(worst, SizeIs(1));
  EXPECT_EQ(worst[0].from + worst[0].to, "ba");
  EXPECT_NEAR(worst[0].ratio, 100.0 / 110, 1e-9);
}

TEST(RailFigures, PairsOfOneLeafStandApartFromThoseAcross) {
  const auto rails = rail_figures(three_nodes(true));
  ASSERT_THAT(rails, SizeIs(2));
  EXPECT_EQ(rails[0].distance, "cross_leaf");
  EXPECT_EQ(rails[0].worst_percent, 50);
  EXPECT_EQ(rails[1].distance, "same_leaf");
  EXPECT_EQ(rails[1].median, 100);
  EXPECT_NEAR(rail_figures(three_nodes(false))[1].median, 100e-9, 1e-15);
}

class Feed : public testing::Test {
 protected:
  void SetUp() override {
    store::StoreOptions options;
    options.path = bench_.path("feed.db");
    auto opened = store::Store::open(options);
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
  }
  void end_run(const std::string& id, const std::string& outcome, double at) {
    store::RunRow run;
    run.run_id = id;
    run.suite = "nightly";
    run.trigger = "cli";
    run.state = store::RunState::kRunning;
    run.created_at = at - 1;
    ASSERT_TRUE(store_->create_run(run, {}));
    store::RunUpdate update;
    update.run_id = id;
    update.state = store::RunState::kEnded;
    update.outcome = outcome;
    update.ended_at = at;
    ASSERT_TRUE(store_->update_run(update));
    ASSERT_TRUE(store_->flush());
  }
  std::string shown(double now = 10'000) {
    Metrics metrics;
    MetricsFeed feed(metrics, *store_, bench_.path("feed.db"));
    feed.restore(now);
    EXPECT_THAT(metric::outside_catalog(metrics.text(), metric::Owner::kController), IsEmpty());
    return metrics.text();
  }

  testing_agent::ServerBench bench_;
  std::unique_ptr<store::Store> store_;
};

std::set<std::string> lines_of(const std::string& text, const std::string& begin) {
  std::set<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with(begin)) lines.insert(line);
  return lines;
}

TEST_F(Feed, TheFindingsToLookAtFirstAreNamed) {
  const auto add = [&](const std::string& id, const char* kind, const char* severity,
                       double worse) {
    ASSERT_TRUE(store_->write(store::write_finding, {.finding_id = id,
                                                     .kind = kind,
                                                     .severity = severity,
                                                     .suspect = "n1",
                                                     .summary = "slow",
                                                     .opened_at = 1'000,
                                                     .worse = worse}));
  };
  add("step-new", "step", "warning", 0.9);
  add("corruption-n9", "corruption", "critical", 0);
  for (int i = 1; i <= 6; ++i) {
    add("part-n" + std::to_string(i), "part", "warning", 0.1 * i);
    ASSERT_TRUE(store_->write(store::write_finding_step, "part-n" + std::to_string(i),
                              {.at = 2'000, .action = "confirm"}));
  }
  ASSERT_TRUE(store_->flush());
  Metrics metrics;
  MetricsFeed feed(metrics, *store_, bench_.path("feed.db"));
  feed.restore(10'000);
  EXPECT_THAT(lines_of(metrics.text(), "railgauge_finding_confirmed{"),
              ElementsAre("railgauge_finding_confirmed{finding=\"corruption-n9\"} 1",
                          "railgauge_finding_confirmed{finding=\"part-n3\"} 1",
                          "railgauge_finding_confirmed{finding=\"part-n4\"} 1",
                          "railgauge_finding_confirmed{finding=\"part-n5\"} 1",
                          "railgauge_finding_confirmed{finding=\"part-n6\"} 1"));
}

// No rows would end a page about a regression, and say that no node is away.
TEST_F(Feed, WhatCannotBeReadNowIsShownAsItWas) {
  ASSERT_TRUE(store_->write(store::write_finding, {.finding_id = "f1",
                                                   .kind = "step",
                                                   .severity = "critical",
                                                   .suspect = "n1",
                                                   .summary = "slow",
                                                   .evidence = "{}",
                                                   .opened_at = 1'000}));
  store::NodeRow node;
  node.node_id = "id-1";
  node.name = "n1";
  ASSERT_TRUE(store_->put_node(node));
  ASSERT_TRUE(store_->flush());
  Metrics metrics;
  MetricsFeed feed(metrics, *store_, bench_.path("feed.db"));
  feed.restore(10'000);
  const auto findings = lines_of(metrics.text(), "railgauge_findings{");
  EXPECT_THAT(findings, SizeIs(1));
  EXPECT_THAT(*feed.known_nodes(), ElementsAre("n1"));
  auto stranger =
      store::Connection::open(bench_.path("feed.db"), store::Connection::Mode::kCreate, 5);
  ASSERT_TRUE(stranger && stranger->script("ALTER TABLE finding RENAME TO lost; ALTER TABLE node "
                                           "RENAME TO lost_node"));
  feed.update(10'060);
  EXPECT_EQ(lines_of(metrics.text(), "railgauge_findings{"), findings);
  EXPECT_THAT(*feed.known_nodes(), ElementsAre("n1"));
}

TEST_F(Feed, WhatEndedUnderAnEarlierControllerIsShownAgain) {
  end_run("r-1", "passed", 1'000);
  end_run("r-2", "failed", 2'000);
  const std::string text = shown();
  EXPECT_THAT(text, HasSubstr("last_success_timestamp_seconds{suite=\"nightly\"} 1000\n"));
  EXPECT_THAT(text, HasSubstr("last_outcome{outcome=\"failed\",suite=\"nightly\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("last_end_timestamp_seconds{suite=\"nightly\"} 2000\n"));
}

TEST_F(Feed, WhatWasMeasuredTwiceIsTheRateOfFalseAlarmsAndNothingWithoutIt) {
  constexpr double kNow = 1e9;
  EXPECT_THAT(shown(kNow), AllOf(HasSubstr("railgauge_judge_repeated_figures 0\n"),
                                 Not(HasSubstr("\nrailgauge_judge_false_alarm_ratio "))));
  const auto add = [&](double at, const char* run, store::RepeatCounts counts) {
    ASSERT_TRUE(store_->write(store::write_repeat_counts,
                              store::RepeatCountRow{.run_id = run, .at = at, .counts = counts}));
  };
  add(kNow - 40 * 86'400.0, "old", {.figures = 100, .apart = 90});
  add(kNow - 86'400, "r-1", {.figures = 60, .apart = 3});
  add(kNow - 500, "r-2", {.figures = 20, .apart = 1});
  EXPECT_THAT(shown(kNow), AllOf(HasSubstr("railgauge_judge_repeated_figures 80\n"),
                                 HasSubstr("railgauge_judge_false_alarm_ratio 0.05\n")));
}

TEST_F(Feed, FindingsAreCountedUntilTheyAreResolved) {
  for (const char* id : {"f-1", "f-2"}) {
    store::FindingRow finding;
    finding.finding_id = id;
    finding.kind = "regression";
    finding.severity = "fail";
    finding.summary = "write_bw is slower";
    finding.opened_at = 1'000;
    ASSERT_TRUE(store_->write(store::write_finding, finding));
  }
  const std::string begin =
      "railgauge_findings\\{kind=\"regression\",severity=\"fail\",state=\"[a-z]+\"\\} ";
  EXPECT_THAT(shown(), ContainsRegex(begin + "2\n"));
  ASSERT_TRUE(store_->write(store::write_finding_step, "f-1",
                            {.at = 2, .who = "ann", .action = "resolve"}));
  EXPECT_THAT(shown(), ContainsRegex(begin + "1\n"));
}

TEST_F(Feed, AnAcknowledgementThatRanOutIsNoneAnyMore) {
  store::FindingRow finding;
  finding.finding_id = "f-1";
  finding.kind = "regression";
  finding.severity = "fail";
  finding.summary = "write_bw is slower";
  finding.opened_at = 1'000;
  ASSERT_TRUE(store_->write(store::write_finding, finding));
  ASSERT_TRUE(store_->write(store::write_finding_step, "f-1",
                            {.at = 1'001, .who = "ann", .action = "ack", .until = 5'000}));
  EXPECT_THAT(shown(4'999), HasSubstr("state=\"acknowledged\"} 1\n"));
  const std::string later = shown(5'001);
  EXPECT_THAT(later, HasSubstr("severity=\"fail\",state=\"reopened\"} 1\n"));
  EXPECT_THAT(later, Not(HasSubstr("acknowledged")));
}

store::PairMatrixRow matrix(const char* run, bool bandwidth, float value) {
  return {.run_id = run,
          .kernel = bandwidth ? "verbs.write_bw" : "verbs.write_lat",
          .metric = bandwidth ? "bandwidth_bytes_per_second" : "latency_ns",
          .message_bytes = bandwidth ? 65536.0 : 8.0,
          .unit = bandwidth ? "bytes_per_second" : "ns",
          .larger_is_better = bandwidth,
          .endpoints = {"n1/rxe0:1", "n2/rxe0:1"},
          .values = {kNone, value, value, kNone}};
}

std::string pairs_text(Metrics& metrics) {
  std::string lines;
  std::istringstream page(metrics.text());
  for (std::string line; std::getline(page, line);)
    if (line.starts_with("railgauge_fabric_") || line.starts_with("railgauge_worst_pair_"))
      lines += line + "\n";
  return lines;
}

// From stored matrices alone: they are there at once and whole. Leaves are the topology's.
TEST_F(Feed, PairsAreThoseOfTheNewestRunWithMatricesBandwidthAndLatencyByDistance) {
  end_run("r-1", "passed", 1'000);
  Metrics metrics;
  std::uint64_t written = 0;
  const auto leaves = [](const auto&) { return LeafMap{{"n1", "l1"}, {"n2", "l2"}}; };
  MetricsFeed feed(metrics, *store_, bench_.path("feed.db"), leaves, [&] { return written; });
  feed.update(2'000);
  EXPECT_EQ(pairs_text(metrics), "");
  ASSERT_TRUE(
      store_->put_pair_matrices("r-1", {matrix("r-1", true, 5e9F), matrix("r-1", false, 1'500)}));
  feed.restore(2'001);
  EXPECT_EQ(pairs_text(metrics), "") << "not before the controller listens";
  feed.update(2'002);
  const std::string labels = "{distance=\"cross_leaf\",kernel=\"verbs.write_";
  EXPECT_THAT(pairs_text(metrics),
              HasSubstr("bytes_per_second" + labels +
                        "bw\",memory=\"host\",rail=\"0\",stat=\"p50\"} 5000000000\n"));
  EXPECT_THAT(pairs_text(metrics), HasSubstr("railgauge_fabric_latency_seconds" + labels +
                                             "lat\",memory=\"host\",rail=\"0\",stat=\"p99\"} 1.5"));
  EXPECT_THAT(pairs_text(metrics), HasSubstr("from=\"n1\",kernel=\"verbs.write_bw\""));
  EXPECT_THAT(metric::outside_catalog(metrics.text(), metric::Owner::kController), IsEmpty());

  end_run("r-2", "passed", 3'000);
  feed.update(3'001);
  EXPECT_THAT(pairs_text(metrics), HasSubstr("p50\"} 5000000000\n")) << "r-2 has none yet";
  ASSERT_TRUE(store_->put_pair_matrices("r-2", {matrix("r-2", true, 4e9F)}));
  feed.update(3'006);
  EXPECT_THAT(pairs_text(metrics), HasSubstr("p50\"} 4000000000\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("railgauge_pairs_timestamp_seconds 3000\n"))
      << "the run's end, not the reading's time";
  EXPECT_THAT(pairs_text(metrics), Not(HasSubstr("latency"))) << "the last run's";
  ASSERT_TRUE(store_->put_pair_matrices("r-2", {matrix("r-2", true, 3e9F)}));
  ++written;  // figures came late
  feed.update(3'011);
  EXPECT_THAT(pairs_text(metrics), HasSubstr("p50\"} 3000000000\n"));
}

TEST_F(Feed, SyntheticDataIsShownAsSuch) {
  EXPECT_THAT(shown(), HasSubstr("\nrailgauge_data_synthetic 0\n"));
  ASSERT_TRUE(store_->write(store::mark_synthetic));
  EXPECT_THAT(shown(), HasSubstr("\nrailgauge_data_synthetic 1\n"));
}

TEST_F(Feed, TheStoreAndTheShippedSchedulesAreShown) {
  const std::string text = shown();
  EXPECT_THAT(text, HasSubstr("railgauge_schedule_enabled{schedule=\"nightly\",suite="));
  EXPECT_THAT(text,
              HasSubstr("schedule_pause_seconds{schedule=\"nightly\",suite=\"nightly\"} 86400\n"));
  EXPECT_THAT(text, Not(HasSubstr("railgauge_schedule_first_due")));
  EXPECT_THAT(text, HasSubstr("railgauge_store_queue_limit 65536\n"));
  EXPECT_THAT(text, Not(HasSubstr("railgauge_db_free_bytes 0\n")));
  EXPECT_THAT(text, Not(HasSubstr("railgauge_db_size_bytes 0\n")));
}

// A suite that never passed counts from then.
TEST_F(Feed, AScheduleTellsItsFirstDueTime) {
  ASSERT_TRUE(store_->set_schedule_paused("nightly", false));
  for (const double due_at : {4e9, 4.1e9})
    ASSERT_TRUE(
        store_->decide_due("nightly", {.due_at = due_at, .result = store::DueResult::kMissed}));
  EXPECT_THAT(shown(200'000), HasSubstr("first_due_timestamp_seconds{schedule=\"nightly\",suite="
                                        "\"nightly\"} 4000000000\n"));
}

TEST_F(Feed, ANodeIsForgottenAWeekAfterItsLastAttach) {
  ASSERT_TRUE(store_->put_node({.node_id = "id-1", .name = "n1"}));
  ASSERT_TRUE(store_->put_node({.node_id = "id-of-a-new-disk", .name = "n1"}));  // still one node
  ASSERT_TRUE(store_->flush());
  const auto rows = store_->list_nodes();
  ASSERT_TRUE(rows && rows->size() == 1);
  const double seen = rows->front().last_seen_at;
  Metrics metrics;
  MetricsFeed feed(metrics, *store_, bench_.path("feed.db"));
  feed.update(seen + 60);
  EXPECT_THAT(*feed.known_nodes(), testing::ElementsAre("n1"));
  feed.update(seen + MetricsFeed::kKnownNodeSeconds + 60);
  EXPECT_THAT(*feed.known_nodes(), IsEmpty());
}

// A node that was installed anew is where its newest agent is.
TEST_F(Feed, TellsWhereTheMetricsOfStoredNodesAre) {
  ASSERT_TRUE(store_->put_node({.node_id = "id-1", .name = "n1", .address = "ipv4:192.0.2.1:7"}));
  ASSERT_TRUE(store_->put_node({.node_id = "id-2",
                                .name = "n1",
                                .address = "ipv4:192.0.2.2:7",
                                .facts = {{"ofed", "24.10"}},
                                .described = {{"metrics_port", "9471"}}}));
  ASSERT_TRUE(store_->flush());
  const double seen = store_->list_nodes()->back().last_seen_at;
  Metrics metrics;
  MetricsFeed feed(metrics, *store_, bench_.path("feed.db"));
  EXPECT_EQ(feed.stored_targets(), nullptr);
  feed.update(seen + 60);
  ASSERT_NE(feed.stored_targets(), nullptr);
  ASSERT_THAT(*feed.stored_targets(), SizeIs(1));
  EXPECT_EQ(feed.stored_targets()->at("n1").peer, "ipv4:192.0.2.2:7");
  EXPECT_EQ(feed.stored_targets()->at("n1").metrics_port, "9471");
}

}  // namespace
}  // namespace railgauge

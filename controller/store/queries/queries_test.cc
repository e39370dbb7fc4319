// Histories, comparisons, filters and a person's own SQL.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/queries/queries.h"
#include "controller/store/queries/upgrades.h"
#include "controller/store/rows/point_flags.h"
#include "controller/store/sqlite/sqlite.h"
#include "controller/store/testing/store_testing.h"

namespace railgauge::store {
namespace {

class Queries : public StoreTest {};

TEST_F(Queries, AHistoryIsTheSeriesOverTimeWithItsEpochs) {
  plan_run(*store_, "r1", 1);
  append_passed(*store_, {}, 1500);
  ASSERT_TRUE(store_->create_run(run_row("r2"), pair_tasks(1)));
  append_passed(*store_, {.run_id = "r2"}, 1600);
  const auto listed = store_->list_series({.kernel = "verbs.write_lat"});
  ASSERT_TRUE(listed) << listed.error().message;
  ASSERT_EQ(listed->size(), 1u);
  EXPECT_THAT(listed->at(0).endpoints, testing::ElementsAre("n1/rxe0:1", "n2/rxe0:1"));
  EXPECT_EQ(listed->at(0).parameters.at("depth"), "1");
  const auto history = store_->history(listed->at(0).series_id, {}, 10);
  ASSERT_TRUE(history) << history.error().message;
  ASSERT_EQ(history->points.size(), 2u);
  EXPECT_EQ(history->points[0].median, 1500);
  EXPECT_EQ(history->points[1].run_id, "r2");
  EXPECT_EQ(store_->history(listed->at(0).series_id, {}, 1)->points.at(0).median, 1600)
      << "the newest";
  EXPECT_EQ(store_->history(99, {}, 1).error().code, Code::kNotFound);
}

// A rate is judged and compared by all that moved over all time, wherever its median stays.
TEST_F(Queries, ARatesHeadlineIsItsRateInEveryReader) {
  const auto rate_of = [](const At& at, double rate) {
    Record record = point_record(at, 1, 49e9);
    Point& point = *record.mutable_point();
    point.set_metric("bandwidth_bytes_per_second");
    point.set_unit("bytes_per_second");
    point.set_larger_is_better(true);
    point.set_rate(rate);
    if (at.run_id == "r1") point.set_measure_ns(2e9);
    point.set_rate_low(rate - 1e9);
    point.set_rate_high(rate + 1e9);
    point.set_slot_p10(1e9);
    point.set_slot_ns(10e6);
    point.set_longest_pause_ns(0.1e9);
    point.set_pause_share(0.25);
    return record;
  };
  plan_run(*store_, "r1", 1);
  ASSERT_TRUE(store_->create_run(run_row("r2"), pair_tasks(1)));
  for (const auto& [run, rate] : {std::pair{"r1", 40e9}, std::pair{"r2", 36e9}}) {
    const At at{.run_id = run};
    ASSERT_TRUE(append(*store_, "id-1",
                       {started_record(at), rate_of(at, rate), final_record(at, 2, "passed")}));
    const At other{.run_id = run, .rank = 1};
    ASSERT_TRUE(append(*store_, "id-2", {started_record(other), final_record(other, 1, "passed")}));
  }
  const auto results = store_->results({.run_id = "r1"});
  ASSERT_TRUE(results) << results.error().message;
  const Point& point = results->at(0).point;
  EXPECT_EQ(point.median(), 49e9);
  EXPECT_EQ(point.rate(), 40e9);
  EXPECT_EQ(point.slot_p10(), 1e9);
  EXPECT_FALSE(point.has_slot_p1());
  EXPECT_EQ(point.rate_low(), 39e9);
  EXPECT_EQ(point.rate_high(), 41e9);
  EXPECT_EQ(point.slot_ns(), 10e6);
  EXPECT_EQ(point.longest_pause_ns(), 0.1e9);
  EXPECT_EQ(point.pause_share(), 0.25);
  const std::int64_t series = results->at(0).series_id;
  const auto history = store_->history(series, {}, 10);
  ASSERT_TRUE(history) << history.error().message;
  EXPECT_EQ(history->points.at(1).headline, 36e9);
  EXPECT_EQ(history->points.at(1).median, 49e9);
  EXPECT_EQ(history->points.at(1).rate_low, 35e9);
  EXPECT_EQ(history->points.at(1).rate_high, 37e9);
  EXPECT_EQ(history->points.at(1).slot_p10, 1e9);
  EXPECT_EQ(history->points.at(1).pause_share, 0.25);
  EXPECT_EQ(store_->compare("r1", "r2")->rows.at(0).b, 36e9);
  const auto side = store_->read(read_side_points, {"r2"}, {});
  ASSERT_TRUE(side) << side.error().message;
  EXPECT_EQ(side->at(0).headline, 36e9);
  EXPECT_NEAR(side->at(0).mean, 1.1 * 49e9, 1);
  EXPECT_EQ(side->at(0).slot_p10, 1e9);
  EXPECT_EQ(side->at(0).pause_share, 0.25);
  // It took 3 ms, and the other run's 2 s.
  EXPECT_TRUE(side->at(0).brief);
  EXPECT_FALSE(store_->read(read_side_points, {"r1"}, {})->at(0).brief);
  EXPECT_EQ(history->points.at(0).flags & kFlagBrief, 0);
  EXPECT_NE(history->points.at(1).flags & kFlagBrief, 0);
  ASSERT_TRUE(store_->write(write_baseline, BaselineRow{.series_id = series, .kind = "golden"}));
  EXPECT_EQ(store_->read(read_baselines, "golden")->at(0).level, 38e9);
}

TEST_F(Queries, IntervalsOfHighPercentilesAreKept) {
  plan_run(*store_, "r1", 1);
  Record record = point_record({}, 1);
  Point& point = *record.mutable_point();
  point.set_p999(9000);
  point.set_p99_low(4400);
  point.set_p99_high(4600);
  ASSERT_TRUE(
      append(*store_, "id-1",
             {started_record({}), record, point_record({}, 2), final_record({}, 3, "passed")}));
  const At other{.rank = 1};
  ASSERT_TRUE(append(*store_, "id-2", {started_record(other), final_record(other, 1, "passed")}));
  const auto rows = store_->results({.run_id = "r1"});
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 2U);
  for (const ResultRow& row : *rows) {
    const bool is_first = row.sequence == 1;
    EXPECT_EQ(row.point.has_p99_low() && row.point.has_p99_high(), is_first);
    EXPECT_FALSE(row.point.has_p999_low() || row.point.has_p999_high());
    if (!is_first) continue;
    EXPECT_EQ(row.point.p99_low(), 4400);
    EXPECT_EQ(row.point.p99_high(), 4600);
  }
}

TEST_F(Queries, TwoRunsAreComparedSeriesBySeries) {
  plan_run(*store_, "r1", 1);
  append_passed(*store_, {}, 1500);
  ASSERT_TRUE(store_->create_run(run_row("r2"), pair_tasks(1)));
  append_passed(*store_, {.run_id = "r2"}, 1800);
  const auto comparison = store_->compare("r1", "r2");
  ASSERT_TRUE(comparison) << comparison.error().message;
  ASSERT_EQ(comparison->rows.size(), 1u);
  EXPECT_EQ(comparison->rows[0].a, 1500);
  EXPECT_EQ(comparison->rows[0].b, 1800);
  EXPECT_EQ(comparison->only_a + comparison->only_b, 0u);
  EXPECT_EQ(store_->compare("r1", "r9").error().code, Code::kNotFound);
}

// A short task's points all have one millisecond: sizes are read from small to large.
TEST_F(Queries, PointsOfOneMillisecondStandInTheOrderOfTheirTask) {
  plan_run(*store_, "r1", 1);
  std::vector<Record> records{started_record({})};
  for (std::uint32_t i = 1; i <= 4; ++i) {
    records.push_back(point_record({}, i, 1'000 + i));
    records.back().set_unix_time_seconds(1.7e9);
  }
  ASSERT_TRUE(append(*store_, "id-1", records));
  std::vector<double> medians;
  for (const ResultRow& row : all()) medians.push_back(row.point.median());
  EXPECT_THAT(medians, testing::ElementsAre(1'001, 1'002, 1'003, 1'004));
}

TEST_F(Queries, EveryFilterNarrows) {
  plan_run(*store_, "r1", 1);
  append_passed(*store_, {});
  const double at = all().at(0).measured_at;
  const std::int64_t series = all().at(0).series_id;
  struct Case {
    ResultsFilter filter;
    std::size_t count;
  };
  for (const std::string& run : {std::string("all"), std::string("r1")})
    for (const Case& one : std::vector<Case>{{{.endpoint = "rxe0:1"}, 1},
                                             {{.endpoint = "rxe9:1"}, 0},
                                             {{.rail = 0}, 1},
                                             {{.rail = 1}, 0},
                                             {{.series = series}, 1},
                                             {{.series = series + 1}, 0},
                                             {{.since = at}, 1},
                                             {{.since = at + 1}, 0},
                                             {{.until = at}, 0},
                                             {{.until = at + 1}, 1},
                                             {{.range = PointRange{0, INT64_MAX}}, 1},
                                             {{.nodes = {"n1"}, .since = at}, 1}}) {
      ResultsFilter filter = one.filter;
      filter.run_id = run;
      EXPECT_EQ(results(filter).size(), one.count);
    }
}

// SQLite's plan for a statement whose values are all NULL.
std::string plan_of(Connection& connection, const std::string& statement) {
  std::string plan;
  auto rows = connection.query("EXPLAIN QUERY PLAN " + statement, std::nullopt, std::nullopt,
                               std::nullopt, std::nullopt, std::nullopt, std::nullopt, std::nullopt,
                               std::nullopt, std::nullopt, std::nullopt, std::nullopt, std::nullopt,
                               std::nullopt, std::nullopt, std::nullopt, std::nullopt);
  EXPECT_TRUE(rows) << rows.error().message;
  for (auto more = rows->next(); more && *more; more = rows->next()) plan += rows->text(3) + "\n";
  return plan;
}

TEST_F(Queries, APageOfAnExportReadsAlongTheTableAndSortsNothing) {
  auto connection = Connection::open(folder_.file("db"), Connection::Mode::kReadOnly, 1);
  ASSERT_TRUE(connection);
  for (const bool one_run : {false, true})
    for (const ResultsFilter& filter :
         {ResultsFilter{}, ResultsFilter{.kernel = "verbs.write_lat"},
          ResultsFilter{.nodes = {"n1"}, .since = 1.0}, ResultsFilter{.stack = "a=b"}}) {
      ResultsFilter ranged = filter;
      ranged.range = PointRange{};
      const std::string plan = plan_of(*connection, sql_of_results(ranged, one_run));
      EXPECT_THAT(plan, testing::HasSubstr("SEARCH point USING INTEGER PRIMARY KEY (rowid>"))
          << plan;
      EXPECT_THAT(plan, testing::Not(testing::HasSubstr("FOR ORDER BY"))) << plan;
    }
}

TEST_F(Queries, APageOfOneSeriesIsFoundByItsIndexAndNoTableIsReadAlong) {
  auto connection = Connection::open(folder_.file("db"), Connection::Mode::kReadOnly, 1);
  ASSERT_TRUE(connection);
  for (const bool one_run : {false, true})
    for (const std::vector<std::string>& nodes : {std::vector<std::string>{}, {"n1"}}) {
      const std::string plan =
          plan_of(*connection,
                  sql_of_results({.nodes = nodes, .series = 1, .range = PointRange{}}, one_run));
      EXPECT_THAT(plan, testing::HasSubstr("SEARCH point USING INDEX point_by_series (series=?"))
          << plan;
      for (const char* table : {"point", "rank", "attempt", "task", "series", "distribution"})
        EXPECT_THAT(plan, testing::Not(testing::HasSubstr(fmt::format("SCAN {}\n", table))))
            << plan;
    }
}

// A run over thousands of pairs has as many series: to look at each for each rank took minutes.
TEST_F(Queries, ThePointsOfARunAreFoundByTheirRanksWhateverTheFilter) {
  auto connection = Connection::open(folder_.file("db"), Connection::Mode::kReadOnly, 1);
  ASSERT_TRUE(connection);
  for (const ResultsFilter& filter :
       {ResultsFilter{}, ResultsFilter{.kernel = "k", .metric = "m", .message_bytes = 8},
        ResultsFilter{.kernel = "k", .nodes = {"n1"}}, ResultsFilter{.rail = 0}}) {
    const std::string plan = plan_of(*connection, sql_of_results(filter, true));
    EXPECT_THAT(plan, testing::HasSubstr("SEARCH point USING INTEGER PRIMARY KEY (rowid>")) << plan;
    EXPECT_THAT(plan, testing::Not(testing::HasSubstr("point_by_series"))) << plan;
  }
}

TEST_F(Queries, PointsSinceATimeAreFoundByTheDaysOfTheIndex) {
  auto connection = Connection::open(folder_.file("db"), Connection::Mode::kReadOnly, 1);
  ASSERT_TRUE(connection);
  for (const ResultsFilter& filter :
       {ResultsFilter{.nodes = {"n1"}, .since = 1.0}, ResultsFilter{.since = 1.0}})
    EXPECT_THAT(plan_of(*connection, sql_of_results(filter, false)),
                testing::HasSubstr("point_by_series (series=? AND <expr>>?)"));
}

// A filter selects a few of hundreds of thousands of series: none of these words may read them all.
TEST_F(Queries, TheSeriesOfAFilterAreFoundByItsNarrowestWord) {
  auto connection = Connection::open(folder_.file("db"), Connection::Mode::kReadOnly, 1);
  ASSERT_TRUE(connection);
  const ResultsFilter whole{.kernel = "verbs.write_lat",
                            .metric = "latency_ns",
                            .nodes = {"n1"},
                            .message_bytes = 8,
                            .endpoint = "rxe0:1",
                            .rail = 0};
  for (int left_out = 0; left_out < 16; ++left_out) {
    ResultsFilter filter = whole;
    if ((left_out & 1) != 0) filter.nodes.clear();
    if ((left_out & 2) != 0) filter.endpoint.clear();
    if ((left_out & 4) != 0) filter.rail.reset();
    if ((left_out & 8) != 0) filter.kernel.clear();
    if ((left_out & 9) == 9) continue;  // of all nodes and kernels: all series are looked at
    const std::string plan = plan_of(*connection, sql_of_results(filter, false));
    for (const char* table : {"series", "series_endpoint", "point", "rank"})
      EXPECT_THAT(plan, testing::Not(testing::HasSubstr(fmt::format("SCAN {} ", table)))) << plan;
  }
  EXPECT_THAT(
      plan_of(*connection, sql_of_results({.kernel = "k", .metric = "m", .rail = 0}, false)),
      testing::HasSubstr("(kernel=? AND metric=?)"));
  EXPECT_THAT(
      plan_of(*connection, sql_of_results({.kernel = "k", .nodes = {"n"}, .rail = 0}, true)),
      testing::HasSubstr("node_name_by_name (name=?)"));
}

// Times around midnights: the index holds days, the answer is by the time itself.
TEST_F(Queries, AnAnswerSinceATimeIsExactToTheMillisecond) {
  constexpr double kMidnight = 1'699'920'000;
  const std::vector<double> times{kMidnight - 0.001, kMidnight, kMidnight + 0.001,
                                  kMidnight + 86'399.999, kMidnight + 86'400};
  plan_run(*store_, "days", 1);
  const At at{.run_id = "days"};
  std::vector<Record> batch{started_record(at)};
  for (const double time : times) {
    batch.push_back(point_record(at, static_cast<std::uint32_t>(batch.size())));
    batch.back().set_unix_time_seconds(time);
  }
  std::ranges::reverse(batch.begin() + 1, batch.end());  // arrival is not the order of time
  batch.push_back(final_record(at, 9, "passed"));
  ASSERT_TRUE(append(*store_, "id-1", batch));
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto rows = results({.run_id = "all", .nodes = {"n1"}, .since = times[i]});
    ASSERT_EQ(rows.size(), times.size() - i) << i;
    EXPECT_EQ(rows.front().measured_at, times[i]);
    const auto history = store_->history(rows.front().series_id, times[i], 2);
    ASSERT_TRUE(history) << history.error().message;
    EXPECT_EQ(history->points.back().measured_at, times.back()) << "the newest two";
    EXPECT_EQ(history->points.size(), std::min<std::size_t>(2, times.size() - i));
    EXPECT_EQ(history->points.front().measured_at, times[std::max<std::size_t>(i, 3)]);
  }
}

TEST_F(Queries, TheSeriesOfAFilterAreToldUnlessTheyAreMany) {
  plan_run(*store_, "r1", 1);
  Record larger = point_record({}, 2);
  larger.mutable_point()->set_message_bytes(64);
  ASSERT_TRUE(append(*store_, "id-1", {started_record({}), point_record({}, 1), larger}));
  const auto few = [&](const ResultsFilter& filter, std::size_t most) {
    return store_->few_series(filter, most).value();
  };
  EXPECT_EQ(few({.nodes = {"n1"}}, 2)->size(), 2u);
  EXPECT_EQ(few({.nodes = {"n1"}}, 1), std::nullopt);
  EXPECT_EQ(few({.nodes = {"n9"}}, 1)->size(), 0u);
  EXPECT_EQ(few({.nodes = {"n1"}, .message_bytes = 64.0}, 1)->size(), 1u);
}

TEST_F(Queries, TheLastRanksOfARangeAreItsEnd) {
  constexpr PointRange kRun{.after = (10 << kSequenceBits) - 1,
                            .through = (20 << kSequenceBits) - 1};
  EXPECT_EQ(kRun.of_last_ranks(2).after, (18 << kSequenceBits) - 1);
  EXPECT_EQ(kRun.of_last_ranks(2).through, kRun.through);
  EXPECT_EQ(kRun.of_last_ranks(50).after, kRun.after);
}

TEST_F(Queries, AnExportOfARunHasItsPointsAloneAlthoughOthersLieBetween) {
  plan_run(*store_, "r1", 3);
  ASSERT_TRUE(store_->create_run(run_row("r2"), pair_tasks(3)));
  for (const char* task : {"t0001", "t0002", "t0003"})
    for (const char* run : {"r1", "r2"}) append_passed(*store_, {.run_id = run, .task_id = task});
  for (const std::string run : {"r1", "r2"}) {
    const auto scope = store_->export_scope(run);
    ASSERT_TRUE(scope) << scope.error().message;
    const auto points = results({.run_id = scope->run_id, .range = scope->range});
    ASSERT_EQ(points.size(), 3u);
    for (const ResultRow& point : points) EXPECT_EQ(point.run_id, run);
  }
  EXPECT_EQ(results({.run_id = "all", .range = store_->export_scope("all")->range}).size(), 6u);
  EXPECT_EQ(store_->export_scope("r9").error().code, Code::kNotFound);
  const auto none = store_->export_scope("");
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_EQ(none->range.through, none->range.after) << "no run has ended";
}

TEST_F(Queries, AStackPartSelectsThePointsOfItsTime) {
  plan_run(*store_, "r1", 1);
  append_passed(*store_, {});  // long before the epoch of today began
  EXPECT_EQ(results({.run_id = "r1", .stack = "linux_kernel=6.1.0"}).size(), 0u);
  ASSERT_TRUE(store_->create_run(run_row("r2"), pair_tasks(1)));
  Record point = point_record({.run_id = "r2"}, 1);
  point.set_unix_time_seconds(4e9);
  ASSERT_TRUE(append(*store_, "id-1", {started_record({.run_id = "r2"}), point}));
  EXPECT_EQ(results({.run_id = "all", .stack = "linux_kernel=6.1.0", .all_attempts = true}).size(),
            1u);
  EXPECT_EQ(results({.run_id = "all", .stack = "linux_kernel=6.5.0", .all_attempts = true}).size(),
            0u);
  EXPECT_EQ(store_->results({.run_id = "all", .stack = "linux_kernel"}).error().code,
            Code::kInvalidArgument);
}

TEST_F(Queries, ANodesHeadNamesItsPresentStackAndNodesOfOneStackHaveOne) {
  NodeRow changed = node_row(1);
  changed.facts["linux_kernel"] = "6.9.0";
  for (const NodeRow& node : {changed, node_row(2), node_row(3)})
    ASSERT_TRUE(store_->put_node(node));
  ASSERT_TRUE(store_->flush());
  const auto heads = store_->read(read_node_heads);
  ASSERT_TRUE(heads) << heads.error().message;
  ASSERT_EQ(heads->size(), 3u);
  EXPECT_EQ(heads->at(0).name, "n1");
  EXPECT_EQ(heads->at(1).stack, heads->at(2).stack);
  const auto stack = store_->read(read_stack, heads->at(0).stack);
  ASSERT_TRUE(stack) << stack.error().message;
  EXPECT_EQ(stack->versions, changed.facts);
}

TEST_F(Queries, AStackPartMayAlsoBeASetting) {
  for (int number : {1, 2}) {
    NodeRow node = node_row(number);
    node.settings["pcie.0000:17:00.0.max_read_request_bytes"] = number == 1 ? "512" : "4096";
    ASSERT_TRUE(store_->put_node(node));
  }
  ASSERT_TRUE(store_->create_run(run_row("r1"), pair_tasks(1)));
  Record point = point_record({}, 1);
  point.set_unix_time_seconds(4e9);
  ASSERT_TRUE(append(*store_, "id-1", {started_record({}), point}));
  const auto count = [&](const std::string& part) {
    return results({.run_id = "all", .stack = part, .all_attempts = true}).size();
  };
  EXPECT_EQ(count("pcie.0000:17:00.0.max_read_request_bytes=512"), 1u);
  EXPECT_EQ(count("pcie.0000:17:00.0.max_read_request_bytes=4096"), 1u) << "the other end's";
  EXPECT_EQ(count("pcie.0000:17:00.0.max_read_request_bytes=256"), 0u);
  EXPECT_EQ(count("linux_kernel=6.1.0"), 1u) << "versions as before";
}

TEST_F(Queries, SqlReadsAndDoesNothingElse) {
  plan_run(*store_, "r1", 1);
  append_passed(*store_, {});
  const auto table =
      store_->sql("SELECT median AS median_ns, 'a' AS word, NULL FROM point;", 10, 5);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->columns.at(0), "median_ns");
  ASSERT_EQ(table->rows.size(), 1u);
  EXPECT_EQ(std::get<double>(table->rows[0][0]), 1500);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(table->rows[0][2]));
  for (const std::string text :
       {"DELETE FROM point", "SELECT 1; SELECT 2", "ATTACH '/etc/passwd' AS x",
        "PRAGMA user_version", "VACUUM INTO '/tmp/x'", "", "SELECT load_extension('x')", "BEGIN",
        "nonsense"}) {
    const auto refused = store_->sql(text, 10, 5);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument) << text;
  }
  const auto exact = store_->sql("SELECT 9007199254740993, -9223372036854775807, 5, 0.5", 1, 5);
  ASSERT_TRUE(exact) << exact.error().message;
  EXPECT_EQ(std::get<std::int64_t>(exact->rows[0][0]), 9007199254740993) << "no double holds it";
  EXPECT_EQ(std::get<std::int64_t>(exact->rows[0][1]), -9223372036854775807);
  EXPECT_EQ(std::get<double>(exact->rows[0][2]), 5);
  EXPECT_EQ(std::get<double>(exact->rows[0][3]), 0.5);
  const auto large = store_->sql("SELECT length(zeroblob(100000000))", 1, 5);
  ASSERT_FALSE(large) << "one value must not be the controller's memory";
  EXPECT_THAT(large.error().message, testing::HasSubstr("too big"));
  EXPECT_EQ(large.error().code, Code::kInvalidArgument) << "wrong use, no fault of the database";
  const auto cut = store_->sql("SELECT value FROM json_each('[1,2,3]')", 2, 5);
  ASSERT_TRUE(cut) << cut.error().message;
  EXPECT_TRUE(cut->truncated);
  EXPECT_EQ(cut->rows.size(), 2u);
  EXPECT_EQ(store_
                ->sql("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT "
                      "count(*) FROM n",
                      10, 0.05)
                .error()
                .code,
            Code::kDeadlineExceeded);
}

}  // namespace
}  // namespace railgauge::store

#include "controller/store/pairs/pair_points.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/rows/point_flags.h"
#include "controller/store/testing/store_testing.h"

namespace railgauge::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A visited point, with its task and the texts of its ends.
struct Visited {
  std::string task{};
  std::string first{};
  std::string second{};
  std::string words{};
  double value = 0;
  double width = 0;  // of its interval
};

class PairPoints : public StoreTest {
 protected:
  std::vector<Visited> visit(const PairPointsFilter& filter) {
    std::vector<Visited> found;
    const auto scope = store_->export_scope(filter.run_id);
    EXPECT_TRUE(scope) << scope.error().message;
    PairPointMemo memo;
    for (std::int64_t after = scope->range.after; after < scope->range.through;) {
      const auto next = store_->read(
          visit_pair_points, filter, PointRange{after, scope->range.through}, memo,
          [&](const PairPointRow& row) -> Status {
            found.push_back({.task = std::string(row.task_id),
                             .first = std::string(row.first),
                             .second = std::string(row.second),
                             .words = fmt::format("{} {} {} {}", row.kernel, row.metric,
                                                  row.memory_fact, row.direction),
                             .value = row.value,
                             .width = row.high.value_or(0) - row.low.value_or(0)});
            return {};
          });
      EXPECT_TRUE(next) << next.error().message;
      if (!next) return found;
      after = *next;
    }
    return found;
  }
  static std::vector<std::string> tasks(const std::vector<Visited>& visited) {
    std::vector<std::string> names;
    for (const Visited& each : visited) names.push_back(each.task);
    return names;
  }
  // Both ranks of an attempt, the first with `points` and `outcome`.
  void append_pair(At at, std::vector<Record> points, const std::string& outcome) {
    std::vector<Record> records{started_record(at)};
    (*records[0].mutable_started()->mutable_facts())["memory"] = "cuda";
    (*records[0].mutable_started()->mutable_parameters())["direction"] = "one";
    const auto count = static_cast<std::uint32_t>(points.size());
    for (Record& point : points) records.push_back(std::move(point));
    records.push_back(final_record(at, count + 1, outcome));
    ASSERT_TRUE(append(*store_, "id-1", std::move(records)));
    at.rank = 1;
    ASSERT_TRUE(append(*store_, "id-2", {started_record(at), final_record(at, 1, outcome)}));
  }
  static Record rate(const At& at, std::uint32_t sequence, double value, double seconds) {
    Record record = point_record(at, sequence);
    Point& point = *record.mutable_point();
    point.set_metric("bandwidth_bytes_per_second");
    point.set_rate(value);
    point.set_rate_low(value - 1);
    point.set_rate_high(value + 1);
    point.set_measure_ns(seconds * 1e9);
    return record;
  }
};

TEST_F(PairPoints, HaveTheEndsTheWordsAndTheHeadlineOfTheirTask) {
  plan_run(*store_, "r1", 1);
  const At at;
  append_pair(at, {point_record(at, 1, 1500), rate(at, 2, 9e9, 3)}, "passed");
  const auto found = visit({.run_id = "r1"});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].first, "n1/rxe0:1");
  EXPECT_EQ(found[0].second, "n2/rxe0:1");
  EXPECT_EQ(found[0].words, "verbs.write_lat latency_ns cuda one");
  EXPECT_EQ(found[0].value, 1500);
  EXPECT_EQ(found[0].width, 20.5);
  EXPECT_EQ(found[1].value, 9e9) << "the rate, not the median";
  EXPECT_EQ(found[1].width, 2) << "the rate's interval";
}

TEST_F(PairPoints, AreThoseThatCountAndPassedOrFailedByALimitAlone) {
  plan_run(*store_, "r1", 3);
  plan_run(*store_, "r2", 1);
  append_passed(*store_, {.task_id = "t0001"});
  append_passed(*store_, {.task_id = "t0002"});
  append_passed(*store_, {.task_id = "t0003"});
  append_passed(*store_, {.run_id = "r2"});
  append_passed(*store_, {.task_id = "t0001", .attempt = 2});  // only the newest attempt counts
  // The controller's word about a figure beyond a limit; the ranks passed.
  ASSERT_TRUE(store_->update_task({.run_id = "r1",
                                   .task_id = "t0002",
                                   .state = TaskState::kEnded,
                                   .outcome = "failed",
                                   .attempts = 1}));
  At broken{.task_id = "t0003", .attempt = 2};
  append_pair(broken, {point_record(broken, 1)}, "failed");
  EXPECT_THAT(tasks(visit({.run_id = "r1"})), ElementsAre("t0002", "t0001"));
  EXPECT_THAT(tasks(visit({.run_id = "r2"})), ElementsAre("t0001"));
  EXPECT_EQ(visit({.run_id = "all"}).size(), 3u);
}

TEST_F(PairPoints, AreChosenByKernelMetricSizeAndFlag) {
  plan_run(*store_, "r1", 2);
  const At whole;
  append_pair(whole, {rate(whole, 1, 9e9, 3), point_record(whole, 2)}, "passed");
  const At brief{.task_id = "t0002"};
  append_pair(brief, {rate(brief, 1, 8e9, 0.5), point_record(brief, 2)}, "passed");
  EXPECT_EQ(visit({.run_id = "r1"}).size(), 4u);
  EXPECT_EQ(visit({.run_id = "r1", .metric = "latency_ns"}).size(), 2u);
  EXPECT_THAT(visit({.run_id = "r1", .kernel = "net.stream"}), IsEmpty());
  EXPECT_EQ(visit({.run_id = "r1", .message_bytes = 8}).size(), 4u);
  EXPECT_THAT(visit({.run_id = "r1", .message_bytes = 9}), IsEmpty());
  EXPECT_THAT(tasks(visit({.run_id = "r1", .any_flag = kFlagBrief})), ElementsAre("t0002"));
}

TEST_F(PairPoints, OfTasksOfOneRankAreNone) {
  plan_run(*store_, "r1", 0);
  auto alone = pair_tasks(1);
  alone[0].ranks.pop_back();
  ASSERT_TRUE(store_->create_run(run_row("r3"), alone));
  const At at{.run_id = "r3"};
  ASSERT_TRUE(append(*store_, "id-1",
                     {started_record(at), point_record(at, 1), final_record(at, 2, "passed")}));
  EXPECT_THAT(visit({.run_id = "r3"}), IsEmpty());
}

TEST_F(PairPoints, EndWithTheFirstErrorOfTheVisitorAndWithoutTheRun) {
  plan_run(*store_, "r1", 1);
  append_passed(*store_, {});
  const auto scope = store_->export_scope("r1");
  PairPointMemo memo;
  const auto refuse = [](const PairPointRow&) -> Status {
    return fail(Code::kInvalidArgument, "enough");
  };
  const auto ended = store_->read(visit_pair_points, {.run_id = "r1"}, scope->range, memo, refuse);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().message, "enough");
  const auto none = store_->read(visit_pair_points, {.run_id = "r9"}, scope->range, memo, refuse);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kNotFound);
}

TEST_F(PairPoints, TellWhetherTheyAreSynthetic) {
  plan_run(*store_, "r1", 1);
  plan_run(*store_, "r2", 1);
  append_passed(*store_, {});
  const At at{.run_id = "r2"};
  Record point = point_record(at, 1);
  point.mutable_point()->set_synthetic(true);
  append_pair(at, {point}, "passed");
  const auto is_synthetic = [&](const std::string& run) {
    const auto scope = store_->export_scope(run);
    return store_->read(
        is_pair_synthetic,
        {.run_id = run, .kernel = "verbs.write_lat", .metric = "latency_ns", .message_bytes = 8},
        scope->range);
  };
  EXPECT_FALSE(*is_synthetic("r1"));
  EXPECT_TRUE(*is_synthetic("r2"));
}

}  // namespace
}  // namespace railgauge::store

// Schedules of a suite that measures a slice of the pairs a run.
#include <optional>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/schedule/schedule.h"
#include "controller/store/sqlite/sqlite.h"
#include "controller/testing/schedules_bench.h"

namespace railgauge {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class SlicedNights : public testing_agent::SchedulesTest {
 protected:
  void SetUp() override {
    bench_.write("sliced.yaml", text());
    SchedulesTest::SetUp();
    for (const char* name : {"n3", "n4"}) add_agent(name);
  }
  static std::string text() {
    return "version: 1\nmetadata: {name: sliced}\nstages:\n  - kernel: fake.lat\n    placement: "
           "{pairs: all, slice: 3}\n";
  }
  // The pairs of the slice with that number over these nodes, all of which are attached.
  std::set<std::string> pairs_of(std::uint64_t number, const std::string& nodes = "n1,n2,n3,n4") {
    api::RunRequest request;
    request.mutable_suite()->set_text(
        fmt::format("{}night: {{number: {}, nodes: \"{}\"}}\n", text(), number, nodes));
    request.set_node_set(nodes);
    api::RunPlan plan;
    EXPECT_TRUE(call(&api::Control::Stub::PlanRun, request, plan).ok());
    return ends_of(plan.tasks());
  }
  std::set<std::string> pairs_of(const api::RunSummary& run) {
    return ends_of(bench_.end_of(run.run_id()).tasks());
  }
  template <class Tasks>
  static std::set<std::string> ends_of(const Tasks& tasks) {
    std::set<std::string> pairs;
    for (const auto& task : tasks) pairs.insert(task.endpoints(0) + " " + task.endpoints(1));
    return pairs;
  }
  // That starts the sliced suite; its due times are those of next_due().
  void add_sliced(const std::string& cron, double catch_up_seconds = 0,
                  const std::string& node_set = "") {
    api::ScheduleSpec spec = minutely();
    spec.set_name("sliced");
    spec.set_suite("sliced");
    spec.set_cron(cron);
    spec.set_catch_up_seconds(catch_up_seconds);
    spec.set_node_set(node_set);
    const grpc::Status added = add(spec);
    ASSERT_TRUE(added.ok()) << added.error_message();
    cron_ = *run::compile({.name = "sliced", .cron = cron});
    due_ = fleet::unix_seconds();
  }
  void remove_sliced() {
    api::ScheduleRef ref;
    ref.set_name("sliced");
    api::ScheduleInfo info;
    ASSERT_TRUE(call(&api::Control::Stub::RemoveSchedule, ref, info).ok());
  }
  double next_due() {
    due_ = run::next_start(*cron_, due_)->due_at;
    return due_;
  }
  // The pairs of the run that starts `late` seconds after the next due time; empty without a run.
  std::set<std::string> pairs_of_next(double late = 10) {
    const std::size_t before = runs().size();
    bench_.server_->start_due(next_due() + late);
    const std::vector<api::RunSummary> after = runs();
    EXPECT_LE(after.size(), before + 1);
    return after.size() > before ? pairs_of(after[0]) : std::set<std::string>{};
  }
  void restart_with_four() {
    restart();
    for (const char* name : {"n3", "n4"}) add_agent(name);
  }

  std::optional<run::Schedule> cron_;
  double due_ = 0;
};

// Whatever the time between due times: the third day of a month is the slice of the first by the
// day.
TEST_F(SlicedNights, OfEachScheduleAsManyStartsInARowAsSlicesMeetAllPairs) {
  for (const char* cron : {"30 23 * * *", "0 12 * * mon-fri", "0 3 * * sun", "0 12 1,4,7,10 * *",
                           "*/7 * * * *", "0 0 1 * *"}) {
    add_sliced(cron);
    for (int round = 0; round < 2; ++round) {
      std::set<std::string> met;
      for (int start = 0; start < 3; ++start) met.merge(pairs_of_next());
      EXPECT_THAT(met, SizeIs(6)) << cron << ": all pairs of four";
    }
    remove_sliced();
  }
}

// Due at 23:30 and made up for after midnight; a restart; two weeks that are missed.
TEST_F(SlicedNights, GoOnWithTheNextSliceAfterALateStartARestartAndMissedOnes) {
  add_sliced("30 23 * * *", 7'200);
  EXPECT_EQ(pairs_of_next(3'600), pairs_of(0));
  restart_with_four();
  EXPECT_EQ(pairs_of_next(), pairs_of(1));
  for (int missed = 0; missed < 14; ++missed) next_due();
  EXPECT_EQ(pairs_of_next(), pairs_of(2));
  EXPECT_GT(schedule("sliced").missed(), 0u);
  restart_with_four();
  EXPECT_EQ(pairs_of_next(), pairs_of(0)) << "the fourth start is the first slice's again";
}

TEST_F(SlicedNights, AStartByHandTakesTheNextSliceToo) {
  add_sliced("0 3 * * sun");
  EXPECT_EQ(pairs_of_next(), pairs_of(0));
  api::ScheduleRef ref;
  ref.set_name("sliced");
  api::RunSummary run;
  ASSERT_TRUE(call(&api::Control::Stub::RunSchedule, ref, run).ok());
  EXPECT_EQ(pairs_of(run), pairs_of(1));
  EXPECT_EQ(pairs_of_next(), pairs_of(2));
}

// After an hour without ticks most due times are missed, and two or three of them are in time at
// once.
TEST_F(SlicedNights, OfDueTimesAtTheSameMomentEachStartTakesASliceOfItsOwn) {
  api::ScheduleSpec spec = minutely();
  spec.set_name("sliced");
  spec.set_suite("sliced");
  spec.set_cron("*/2 * * * *");
  spec.set_concurrency("queue");
  spec.set_catch_up_seconds(7'200);
  ASSERT_TRUE(add(spec).ok());
  const double now = next_minute() + 3'600;
  std::set<std::string> met;
  for (std::size_t start = 1; start <= 2; ++start) {
    bench_.server_->start_due(now);
    ASSERT_THAT(runs(), SizeIs(start));
    EXPECT_EQ(pairs_of(runs()[0]), pairs_of(start - 1));
    met.merge(pairs_of(runs()[0]));
  }
  EXPECT_THAT(met, SizeIs(4)) << "two slices of two pairs each";
  EXPECT_GT(schedule("sliced").missed(), 0u);
}

// Also a text to which the night was added is the suite's.
TEST_F(SlicedNights, TheRestOfABrokenOffStartIsOfItsSliceAndTheNextStartTakesTheNextOne) {
  agents_.clear();
  for (const char* name : {"n1", "n2", "n3", "n4"}) {
    ASSERT_TRUE(is_lost(name));
    add_agent(name, testing_agent::Script::kHang);
  }
  add_sliced("0 12 * * *");
  const double due = next_due();
  bench_.server_->start_due(due);
  ASSERT_THAT(runs(), SizeIs(1));
  restart_with_four();
  bench_.server_->start_due(due + 60);
  ASSERT_THAT(runs(), SizeIs(2));
  EXPECT_EQ(pairs_of(runs()[0]), pairs_of(0));
  EXPECT_EQ(pairs_of_next(), pairs_of(1));
}

// The slices in which n2 and n3 do not meet are waited for until they are missed, and not again.
TEST_F(SlicedNights, WithABusyAndAnAbsentNodeTheOthersMeetAsTheyWouldHave) {
  std::vector<std::set<std::string>> expected;
  for (std::uint64_t number = 0; number < 3; ++number) {
    expected.push_back(pairs_of(number));
    std::erase_if(expected.back(), [](const std::string& pair) {
      return pair.find("n1/") != std::string::npos || pair.find("n4/") != std::string::npos;
    });
  }
  agents_.pop_back();
  ASSERT_TRUE(is_lost("n4"));
  tell_busy(0, "n1", "job 4711 here");
  add_sliced("0 12 * * *");
  std::size_t measured = 0;
  for (const std::set<std::string>& pairs : expected) {
    EXPECT_EQ(pairs_of_next(pairs.empty() ? run::kInTimeSeconds - 1 : 10), pairs);
    if (!pairs.empty()) {
      ++measured;
    } else {
      EXPECT_THAT(schedule("sliced").dues(0).reason(), HasSubstr("each pair of the slice has"));
    }
  }
  EXPECT_EQ(measured, 1u) << "n2 with n3, at one start of three";
}

// Two of a set of three are there, and a fourth node that is not in it: the third keeps its place.
TEST_F(SlicedNights, AreOfTheNodesThatAreAskedFor) {
  const std::string set = "n2,n3,n4";
  std::vector<std::set<std::string>> expected;
  for (std::uint64_t number = 0; number < 3; ++number) {
    expected.push_back(pairs_of(number, set));
    std::erase_if(expected.back(),
                  [](const std::string& pair) { return pair.find("n4/") != std::string::npos; });
  }
  agents_.pop_back();
  ASSERT_TRUE(is_lost("n4"));
  add_sliced("0 12 * * *", 0, set);
  for (const std::set<std::string>& pairs : expected)
    EXPECT_EQ(pairs_of_next(pairs.empty() ? run::kInTimeSeconds - 1 : 10), pairs);
}

TEST_F(SlicedNights, ANodeThatWasNotSeenForAMonthKeepsNoPlace) {
  std::vector<std::set<std::string>> expected;
  for (std::uint64_t number = 0; number < 3; ++number)
    expected.push_back(pairs_of(number, "n1,n2,n3"));
  agents_.clear();
  bench_.stop();
  {
    auto database =
        store::Connection::open(bench_.config_.database, store::Connection::Mode::kCreate, 1);
    ASSERT_TRUE(database) << database.error().message;
    ASSERT_TRUE(database->script("UPDATE node SET last_seen_at = 1e9"));
  }
  bench_.start();
  for (const char* name : {"n1", "n2", "n3"}) add_agent(name);
  add_sliced("0 12 * * *");
  for (const std::set<std::string>& pairs : expected) EXPECT_EQ(pairs_of_next(), pairs);
}

}  // namespace
}  // namespace railgauge

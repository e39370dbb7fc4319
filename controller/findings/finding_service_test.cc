// The lines of a finding's screen about a change that came to node after node. Points are
// synthetic.
#include "controller/findings/finding_service.h"

#include <limits>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/findings/finding_sketch.h"
#include "controller/findings/measured_again.h"
#include "controller/store/testing/store_testing.h"
#include "controller/verdict/testing/simulate.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr double kDay = 86'400;
constexpr double kFirstNight = 19'700 * kDay + 7'200;
constexpr int kNodes = 8;
constexpr int kNights = 22;

class Rollout : public store::StoreTest {
 protected:
  Rollout() {
    store_ = store::open_store(folder_.file("own"), {.clock = [this] { return now_; }});
  }

  void attach(int node, const std::string& kernel) {
    store::NodeRow row = store::node_row(node);
    row.facts = {{"linux_kernel", kernel}};
    ASSERT_TRUE(store_->put_node(std::move(row)));
  }

  // Every node measured by itself; those that have the new kernel are `loss` slower.
  void night(int number, double loss) {
    now_ = kFirstNight + kDay * number;
    const std::string run_id = fmt::format("night{:03}", number);
    std::vector<store::TaskRow> tasks = store::pair_tasks(kNodes);
    for (int node = 1; node <= kNodes; ++node)
      tasks[static_cast<std::size_t>(node - 1)].ranks = {{.node_id = fmt::format("id-{}", node),
                                                          .node = fmt::format("n{}", node),
                                                          .endpoint = "rxe0:1"}};
    ASSERT_TRUE(store_->create_run(store::run_row(run_id), tasks));
    for (int node = 1; node <= kNodes; ++node) {
      const store::At at{.run_id = run_id, .task_id = fmt::format("t{:04}", node)};
      Record started = store::started_record(at);
      started.mutable_started()->set_size(1);
      const double slower = upgraded(node, number) ? 1 + loss : 1;
      Record point = store::point_record(at, 1, 1500 * slower * (1 + 0.003 * chance_.normal()));
      point.set_unix_time_seconds(now_);
      point.mutable_point()->set_synthetic(true);
      ASSERT_TRUE(store::append(
          *store_, fmt::format("id-{}", node),
          {std::move(started), std::move(point), store::final_record(at, 2, "passed")}));
    }
    ASSERT_TRUE(store_->update_run(
        {.run_id = run_id, .state = store::RunState::kEnded, .outcome = "passed"}));
    ASSERT_TRUE(store_->flush());
  }
  // The first four get it at the noons of days 12 to 15.
  static bool upgraded(int node, int night) { return node <= 4 && night > 11 + node; }

  void roll_out(double loss) {
    now_ = kFirstNight - kDay;
    for (int node = 1; node <= kNodes; ++node) attach(node, "6.1.0");
    for (int number = 0; number < kNights; ++number) {
      night(number, loss);
      now_ += kDay / 2;
      for (int node = 1; node <= 4; ++node)
        if (number == 11 + node) attach(node, "6.1.1");
    }
  }
  // By the figures of the node; opened now.
  void open(const std::string& id, const std::string& kind, int node, double loss) {
    store::FindingRow row{.finding_id = id, .kind = kind, .severity = "warning", .opened_at = now_};
    row.summary = "slower on " + fmt::format("n{}", node);
    const auto points = store_->read(store::read_side_points, {"night000"}, {});
    ASSERT_TRUE(points);
    for (const store::SidePointRow& point : *points)
      if (store_->read(store::read_one_series, point.series)->endpoints.front() ==
          fmt::format("n{}/rxe0:1", node))
        row.series.push_back({.series = point.series, .before = 1500, .after = 1500 * (1 + loss)});
    ASSERT_EQ(row.series.size(), 1U);
    ASSERT_TRUE(store_->write(store::write_finding, std::move(row)));
    ASSERT_TRUE(store_->flush());
  }

  api::Finding explained(double loss) {
    roll_out(loss);
    const auto points = store_->read(store::read_side_points, {"night000"}, {});
    EXPECT_TRUE(points);
    EXPECT_TRUE(store_->write(store::write_finding, {.finding_id = "f1",
                                                     .kind = "step",
                                                     .severity = "warning",
                                                     .opened_at = now_,
                                                     .series = {{.series = points->front().series,
                                                                 .before = 1500,
                                                                 .after = 1500 * (1 + loss)}}}));
    EXPECT_TRUE(store_->flush());
    const auto told = FindingService(*store_).get("f1", now_);
    EXPECT_TRUE(told) << told.error().message;
    return told.value_or(api::Finding());
  }

  double now_ = kFirstNight;
  analysis::Chance chance_{7};
};

TEST_F(Rollout, IsStudiedOverAllNodesThatGotIt) {
  const api::Finding told = explained(0.05);
  EXPECT_THAT(told.causes(), Contains(HasSubstr("n1: linux_kernel 6.1.0 -> 6.1.1")));
  EXPECT_THAT(told.causes(),
              Contains(AllOf(HasSubstr("rollout of linux_kernel 6.1.0 -> 6.1.1 to 4 nodes since "),
                             HasSubstr("% worse than nodes that did not have it yet"))))
      << told.DebugString();
  EXPECT_THAT(told.excluded(), Not(Contains(HasSubstr("rollout of"))));
}

// Two nodes got slow with the same change in two nights that follow each other; n8 is another
// story.
TEST_F(Rollout, FindingsThatBeganTogetherAndMeetAreOneEvent) {
  roll_out(0.05);
  open("f1", "step", 1, 0.05);
  open("f2", "step", 2, 0.05);
  open("f8", "variance", 8, 0.05);
  FindingService desk(*store_);
  const auto list = desk.list({}, now_);
  ASSERT_TRUE(list) << list.error().message;
  std::map<std::string, std::string> events;
  for (const api::Finding& one : list->findings()) events[one.finding_id()] = one.event_id();
  EXPECT_THAT(events, testing::ElementsAre(testing::Pair("f1", "f1"), testing::Pair("f2", "f1"),
                                           testing::Pair("f8", "f8")));
  const auto told = desk.get("f2", now_);
  ASSERT_TRUE(told) << told.error().message;
  EXPECT_EQ(told->event_id(), "f1");
  EXPECT_THAT(told->same_event(), testing::ElementsAre("f1: slower on n1"));
  ASSERT_EQ(told->differences_size(), 1);
  const api::UpgradeCause& difference = told->differences(0);
  EXPECT_THAT(difference.changes(), testing::ElementsAre("linux_kernel 6.1.0 -> 6.1.1"));
  EXPECT_THAT((std::vector{difference.exposed_worse(), difference.exposed(),
                           difference.unexposed_worse(), difference.unexposed()}),
              testing::ElementsAre(2, 3, 0, 5));
  EXPECT_THAT(told->causes(),
              Contains("linux_kernel 6.1.0 -> 6.1.1: 2 of 3 nodes that have it got worse, 0 of 5 "
                       "others"))
      << told->DebugString();
}

// n1 got the change between its nights 12 and 13.
TEST_F(Rollout, APersonMovesTheBeginAndTheCausesAreLookedForThere) {
  roll_out(0.05);
  open("f1", "step", 1, 0.05);
  FindingService desk(*store_);
  const auto nudge = [&](int figures) {
    api::FindingStepRequest request;
    request.set_finding_id("f1");
    request.set_action("nudge");
    request.set_figures(figures);
    return desk.step(request, "ada", now_);
  };
  const std::string night13 = rfc3339(kFirstNight + 13 * kDay);
  const std::string night14 = rfc3339(kFirstNight + 14 * kDay);
  const auto change = HasSubstr("n1: linux_kernel 6.1.0 -> 6.1.1");
  const auto before = desk.get("f1", now_);
  ASSERT_TRUE(before) << before.error().message;
  EXPECT_EQ(before->since(), night13);
  EXPECT_THAT(before->causes(), Contains(change));
  EXPECT_FALSE(before->has_since_judged());
  // 5 % in noise of 0.3 %: nobody overlooks it.
  EXPECT_EQ(before->begin_from(), night13);
  EXPECT_EQ(before->begin_until(), night13);
  const auto later = nudge(1);
  ASSERT_TRUE(later) << later.error().message;
  EXPECT_EQ(later->since(), night14);
  EXPECT_EQ(later->good_at(), night13);
  EXPECT_EQ(later->since_judged(), night13);
  EXPECT_THAT(later->causes(), Not(Contains(change))) << later->DebugString();
  EXPECT_EQ(later->before_levels_size(), before->before_levels_size() + 1);
  const api::FindingStep& step = *later->steps().rbegin();
  EXPECT_EQ(step.action(), "nudge");
  EXPECT_EQ(step.who(), "ada");
  EXPECT_EQ(step.text(), night14);
  const auto back = nudge(-1);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->since(), night13);
  EXPECT_FALSE(back->has_since_judged());
  EXPECT_THAT(back->causes(), Contains(change));
  for (const int figures : {0, 3, -3, std::numeric_limits<int>::min()})
    EXPECT_THAT(nudge(figures).error().message, HasSubstr("-2, -1, 1 or 2 is needed"));
  while (nudge(2)) {
  }
  EXPECT_THAT(nudge(2).error().message, HasSubstr("there is no such figure"));
  EXPECT_EQ(nudge(2).error().code, Code::kInvalidArgument);
}

// A browser sends a request again whose answer it has lost, and two people may move one begin.
TEST_F(Rollout, ABeginThatMovedSinceItWasReadIsNotMovedAgain) {
  roll_out(0.05);
  open("f1", "step", 1, 0.05);
  FindingService desk(*store_);
  api::FindingStepRequest request;
  request.set_finding_id("f1");
  request.set_action("nudge");
  request.set_figures(1);
  request.set_since_seen(rfc3339(kFirstNight + 13 * kDay));
  const auto moved = desk.step(request, "ada", now_);
  ASSERT_TRUE(moved) << moved.error().message;
  const std::string night14 = rfc3339(kFirstNight + 14 * kDay);
  EXPECT_EQ(moved->since(), night14);
  const auto repeated = desk.step(request, "ada", now_);
  ASSERT_FALSE(repeated);
  EXPECT_EQ(repeated.error().code, Code::kInvalidArgument);
  EXPECT_THAT(repeated.error().message, HasSubstr("its begin is " + night14 + ", not "));
  EXPECT_EQ(desk.get("f1", now_)->since(), night14);
  request.set_since_seen(night14);
  EXPECT_TRUE(desk.step(request, "ada", now_));
}

TEST_F(Rollout, AListHasMetricNoiseConfidenceAndRangeOfEachFinding) {
  roll_out(0.05);
  open("f1", "step", 1, 0.05);
  open("f2", "step", 2, 0.05);
  FindingService desk(*store_);
  ASSERT_TRUE(store_->write(store::write_finding_step, "f2", {.at = now_, .action = "accept"}));
  const auto list = desk.list({}, now_);
  ASSERT_TRUE(list) << list.error().message;
  ASSERT_EQ(list->findings_size(), 2) << "an open one, and a settled one";
  for (const api::Finding& one : list->findings()) {
    EXPECT_THAT(one.metric(), HasSubstr("latency_ns")) << one.finding_id();
    EXPECT_EQ(one.noise(), "ok") << one.finding_id();
    EXPECT_TRUE(one.has_begin_from() && one.has_begin_until()) << one.finding_id();
    EXPECT_FALSE(one.has_confidence_percent()) << "its evidence has no p";
  }
  EXPECT_EQ(list->findings(1).begin_from(), rfc3339(kFirstNight + 13 * kDay));
  EXPECT_EQ(desk.get("f1", now_)->metric(), list->findings(1).metric());
}

TEST(FindingSketch, HasTheConfidenceOfItsJudge) {
  store::FindingRow row{
      .finding_id = "f", .kind = "step", .evidence = R"({"p": 0.002, "series": 3})"};
  EXPECT_NEAR(*confidence_percent(row), 99.8, 1e-9);
  row.evidence = R"({"tasks": 3, "partners": 2})";
  EXPECT_FALSE(confidence_percent(row)) << "a proof is no test";
  row.evidence = R"({"p": 7})";
  EXPECT_FALSE(confidence_percent(row));
  row.kind = "part";
  row.evidence = R"({"loss": 0.1, "low": 0.06, "high": 0.14})";
  EXPECT_NEAR(*confidence_percent(row), 99.99995, 1e-4);
  row.evidence = R"({"loss": 0.1})";
  EXPECT_FALSE(confidence_percent(row)) << "without an interval";
  row.upgrade_id = "u1";
  row.kind = "regression";
  row.evidence = R"({"metrics": [{"name": "a", "p": 0.01}, {"name": "b", "p": 0.5}]})";
  EXPECT_NEAR(*confidence_percent(row), 99, 1e-9);
}

TEST_F(Rollout, TagsAreWordsAndFilterTheList) {
  roll_out(0.05);
  open("f1", "step", 1, 0.05);
  open("f2", "step", 2, 0.05);
  FindingService desk(*store_);
  const auto step = [&](const std::string& action, const std::string& text) {
    api::FindingStepRequest request;
    request.set_finding_id("f1");
    request.set_action(action);
    request.set_text(text);
    return desk.step(request, "ada", now_);
  };
  ASSERT_TRUE(step("tag", "cable"));
  EXPECT_EQ(step("tag", "cable")->steps_size(), 2) << "opened and tagged: once more is no change";
  api::ListFindingsRequest request;
  request.set_tag("cable");
  ASSERT_EQ(desk.list(request, now_)->findings_size(), 1);
  EXPECT_EQ(desk.list(request, now_)->findings(0).finding_id(), "f1");
  request.set_tag("cab");
  EXPECT_EQ(desk.list(request, now_)->findings_size(), 0);
  for (const std::string& wrong : {std::string(), std::string("two words"), std::string("<b>"),
                                   std::string("a,b"), std::string(41, 'a')})
    EXPECT_EQ(step("tag", wrong).error().code, Code::kInvalidArgument) << wrong;
  EXPECT_THAT(step("untag", "rack7").error().message, HasSubstr("it has no tag rack7"));
  EXPECT_EQ(step("untag", "cable")->tags_size(), 0);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(step("tag", fmt::format("t{}", i)));
  EXPECT_THAT(step("tag", "more").error().message, HasSubstr("20 tags, the most there may be"));
  for (const char* own : {"rerun", "control", "worse"})
    EXPECT_EQ(step(own, "r1").error().code, Code::kInvalidArgument) << own;
  EXPECT_EQ(step("downstream", "").error().code, Code::kInvalidArgument);
  EXPECT_EQ(step("downstream", "f2")->caused_by(), "f2");
  EXPECT_EQ(step("comment", "").error().code, Code::kInvalidArgument);
}

// A rerun is a night of its own here: what it measured is in the store like any other.
TEST_F(Rollout, ARerunConfirmsByItsFiguresAndAControlSaysWhetherOthersMoved) {
  roll_out(0.05);
  open("f1", "step", 1, 0.05);
  FindingService desk(*store_);
  const auto bind = [&](const std::string& kind, const std::string& run_id) {
    ASSERT_TRUE(store_->write(store::write_finding_step, "f1",
                              {.at = now_, .who = "ada", .action = kind, .text = run_id}));
  };
  EXPECT_FALSE(desk.get("f1", now_)->has_confirmation());
  store::RunRow planned = store::run_row("planned");
  planned.state = store::RunState::kPlanned;
  ASSERT_TRUE(store_->create_run(planned, store::pair_tasks(2)));
  bind("rerun", "planned");
  bind("rerun", "pruned");
  EXPECT_EQ(desk.get("f1", now_)->confirmation(), "planned");
  EXPECT_EQ(desk.get("f1", now_)->runs_size(), 1) << "a run that is gone says nothing";
  night(kNights, 0.05);
  bind("rerun", fmt::format("night{:03}", kNights));
  auto told = desk.get("f1", now_);
  ASSERT_TRUE(told) << told.error().message;
  EXPECT_EQ(told->confirmation(), "confirmed") << told->DebugString();
  EXPECT_NEAR(told->runs(1).worse_percent(), 5, 1.5);
  EXPECT_EQ(told->runs(1).figures(), 1U);
  night(kNights + 1, 0);
  bind("rerun", fmt::format("night{:03}", kNights + 1));
  bind("control", fmt::format("night{:03}", kNights + 1));
  told = desk.get("f1", now_);
  EXPECT_EQ(told->confirmation(), "failed") << told->DebugString();
  const api::FindingRun& control = *told->runs().rbegin();
  EXPECT_EQ(control.kind(), "control");
  EXPECT_EQ(control.state(), "measured") << control.DebugString();
  EXPECT_GT(control.figures(), 0U);
  EXPECT_EQ(desk.list({}, now_)->findings(0).confirmation(), "failed");
  EXPECT_EQ(desk.list({}, now_)->findings(0).runs_size(), 0) << "a list is short";
}

TEST(MeasuredAgain, MostSeriesWithHalfOfTheLossConfirm) {
  EXPECT_TRUE(is_shown_again({.now = {0.05, 0.06, 0.01}, .found = 0.1}));
  EXPECT_FALSE(is_shown_again({.now = {0.05, 0.04}, .found = 0.1})) << "half of them";
  EXPECT_FALSE(is_shown_again({.now = {}, .found = 0.1}));
  EXPECT_FALSE(is_shown_again({.now = {0.5}, .found = 0})) << "no loss to compare with";
}

TEST_F(Rollout, AnOwnerIsInTheListUntilNobodyIs) {
  roll_out(0.05);
  open("f1", "step", 1, 0.05);
  open("f2", "step", 2, 0.05);
  FindingService desk(*store_);
  const auto assign = [&](const std::string& who) {
    api::FindingStepRequest request;
    request.set_finding_id("f1");
    request.set_action("assign");
    request.set_text(who);
    return desk.step(request, "bob", now_);
  };
  ASSERT_TRUE(assign("ada"));
  const auto list = desk.list({}, now_);
  ASSERT_TRUE(list) << list.error().message;
  for (const api::Finding& one : list->findings())
    EXPECT_EQ(one.owner(), one.finding_id() == "f1" ? "ada" : "");
  EXPECT_EQ(desk.get("f1", now_)->owner(), "ada");
  EXPECT_EQ(assign(std::string(101, 'a')).error().code, Code::kInvalidArgument);
  ASSERT_TRUE(assign(""));
  EXPECT_FALSE(desk.get("f1", now_)->has_owner());
}

}  // namespace
}  // namespace railgauge

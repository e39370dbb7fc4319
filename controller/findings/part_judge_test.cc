// Sliced nights of a modelled site over a real store. Figures are synthetic.
#include "controller/findings/part_judge.h"

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/findings/changes/part_levels.h"
#include "controller/findings/finding_service.h"
#include "controller/findings/testing/sliced_nights.h"
#include "controller/history/pair_matrices.h"
#include "controller/sim/nights.h"
#include "controller/store/nodes/node_words.h"

namespace railgauge {
namespace {

using localise::Direction;
using localise::Element;
using localise::Kind;
using simulator::Site;
using simulator::SiteFault;
using simulator::SiteSpec;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class PartJudgement : public SlicedNights {
 protected:
  // During the next nights, and no longer.
  void pause_slow_node_for(std::uint32_t nights) {
    const auto at = [&](double night) { return kFirstNight + kNightSeconds * (nights_ + night); };
    ASSERT_TRUE(store_->write(
        store::write_pauses, std::vector<std::string>{"sim0009"},
        store::PauseRow{
            .since = at(-0.5), .until = at(nights - 0.5), .who = "ann", .reason = "DIMM"}));
    ASSERT_TRUE(store_->write(store::write_pauses_over, at(nights - 0.5)));
  }
  // "part-sim0009-rail-1 confirmed", of all findings.
  std::vector<std::string> findings() {
    std::vector<std::string> all;
    const auto rows = store_->read(store::read_findings, {}, 100);
    EXPECT_TRUE(rows);
    for (const store::FindingRow& row : *rows)
      all.push_back(fmt::format("{} {}", row.finding_id, text_of(row.state)));
    return all;
  }
  store::RunRow run() { return store_->run_summary(run_id_)->run; }
};

const Element kSlowPort{.kind = Kind::kPort, .first = 9, .rail = 1, .direction = Direction::kSends};
const std::vector<SiteFault> kTenth{{.element = kSlowPort, .drop = 0.1}};

TEST_F(PartJudgement, APortThatLosesATenthIsConfirmedByTheSecondNight) {
  for (int i = 0; i < 6; ++i) night();
  ASSERT_THAT(findings(), IsEmpty());
  night(kTenth);
  night(kTenth);
  EXPECT_THAT(findings(), testing::ElementsAre("part-sim0009-rail-1 confirmed"));
  EXPECT_EQ(run().findings_confirmed, 1U);
  EXPECT_EQ(run().judged_at, 2e9);
  night(kTenth);
  EXPECT_THAT(findings(), testing::ElementsAre("part-sim0009-rail-1 confirmed"));
  EXPECT_EQ(run().findings_confirmed, 0U) << "a night that says the same again found nothing new";

  FindingService desk(*store_);
  const auto told = desk.get("part-sim0009-rail-1", 2e9);
  ASSERT_TRUE(told) << told.error().message;
  EXPECT_EQ(told->kind(), "part");
  EXPECT_EQ(told->node_id(), "id-9");
  EXPECT_EQ(told->suspect(), "sim0009 rail 1, sending");
  EXPECT_NEAR(told->worse_percent(), 10, 2);
  EXPECT_EQ(told->good_at(), "2023-11-19T22:13:20.000Z");
  EXPECT_EQ(told->since(), "2023-11-20T22:13:20.000Z");
  EXPECT_THAT(told->next(),
              Contains("railgauge runs matrix night007"
                       " --kernel verbs.write_bw --size 65536 --rail 1: the figures"));
  EXPECT_THAT(told->before_levels(), SizeIs(6));
  EXPECT_THAT(told->after_levels(), SizeIs(2));
  EXPECT_NEAR(told->after_levels(1), 0.9, 0.02);
  EXPECT_THAT(told->causes(0), HasSubstr("figures of the run that use it show half of the loss"));
  EXPECT_THAT(told->excluded(), Contains(HasSubstr("receiving as expected")));
  EXPECT_THAT(told->next(), Contains("railgauge preflight sim0009"));
}

TEST_F(PartJudgement, NightsOfAPausedNodeNeitherOpenNorEndAFinding) {
  for (int i = 0; i < 4; ++i) night();
  pause_slow_node_for(3);
  for (int i = 0; i < 3; ++i) night(kTenth);
  EXPECT_THAT(findings(), IsEmpty());
  for (int i = 0; i < 2; ++i) night(kTenth);
  ASSERT_THAT(findings(), testing::ElementsAre("part-sim0009-rail-1 confirmed"));
  pause_slow_node_for(4);
  for (int i = 0; i < 4; ++i) night();
  EXPECT_THAT(findings(), testing::ElementsAre("part-sim0009-rail-1 confirmed"));
  for (int i = 0; i < 3; ++i) night();
  EXPECT_THAT(findings(), testing::ElementsAre("part-sim0009-rail-1 acknowledged"));
}

TEST_F(PartJudgement, HealthyNightsOpenNothing) {
  for (int i = 0; i < 16; ++i) night();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(PartJudgement, AFindingLooksOverAfterThreeNightsAsExpectedAndStaysOpen) {
  for (int i = 0; i < 4; ++i) night();
  for (int i = 0; i < 2; ++i) night(kTenth);
  ASSERT_THAT(findings(), testing::ElementsAre("part-sim0009-rail-1 confirmed"));
  for (int i = 0; i < 2; ++i) night();
  EXPECT_THAT(findings(), testing::ElementsAre("part-sim0009-rail-1 confirmed"));
  night();
  EXPECT_THAT(findings(), testing::ElementsAre("part-sim0009-rail-1 acknowledged"));
  for (int i = 0; i < 5; ++i) night();
  EXPECT_THAT(findings(), testing::ElementsAre("part-sim0009-rail-1 acknowledged"))
      << "no number of good nights ends it";
  const auto told = store_->read(store::read_finding, "part-sim0009-rail-1");
  ASSERT_TRUE(told);
  EXPECT_EQ(told->steps.back().action, "ack");
  EXPECT_THAT(told->steps.back().text, HasSubstr("looks over"));
  EXPECT_THAT(told->steps.back().text, HasSubstr("railgauge prove sim0009 ends it"));
  EXPECT_THAT(told->steps, SizeIs(3)) << "said once: opened, confirm, ack";
  // An owner changes nothing of it.
  ASSERT_TRUE(store_->write(store::write_finding_step, "part-sim0009-rail-1",
                            {.at = 2e9, .who = "ada", .action = "assign", .text = "ada"}));
  night();
  EXPECT_THAT(store_->read(store::read_finding, "part-sim0009-rail-1")->steps, SizeIs(4));
  night(kTenth);
  EXPECT_THAT(findings(), testing::ElementsAre("part-sim0009-rail-1 acknowledged"));
  night(kTenth);
  EXPECT_THAT(findings(), testing::ElementsAre("part-sim0009-rail-1 reopened"))
      << "slow again, which two nights confirm";
  night(kTenth);
  EXPECT_THAT(findings(), testing::ElementsAre("part-sim0009-rail-1 confirmed"));
}

TEST_F(PartJudgement, WhatAPersonAcceptedOpensAgainOnlyWhenItGetsWorse) {
  for (int i = 0; i < 4; ++i) night();
  for (int i = 0; i < 2; ++i) night(kTenth);
  ASSERT_TRUE(store_->write(store::write_finding_step, "part-sim0009-rail-1",
                            {.at = 2e9, .who = "ada", .action = "accept"}));
  for (int i = 0; i < 3; ++i) night(kTenth);
  EXPECT_THAT(findings(), testing::ElementsAre("part-sim0009-rail-1 accepted"));
  for (int i = 0; i < 2; ++i) night({{.element = kSlowPort, .drop = 0.2}});
  EXPECT_THAT(findings(), testing::ElementsAre("part-sim0009-rail-1 reopened"));
}

TEST_F(PartJudgement, ARunThatIsJudgedAgainChangesNothing) {
  for (int i = 0; i < 6; ++i) night();
  night(kTenth);
  const std::vector<std::string> before = findings();
  judge();
  judge();
  EXPECT_EQ(findings(), before);
}

TEST_F(PartJudgement, NightsOfAnotherSuiteAreNoPast) {
  for (int i = 0; i < 6; ++i) night();
  night({}, "other");
  const auto series = part_series_of(*store_, run_id_);
  ASSERT_TRUE(series);
  ASSERT_THAT(*series, SizeIs(1));
  EXPECT_THAT(*read_nights(*store_, run_id_, series->front().series), SizeIs(1));
  EXPECT_THAT(*read_nights(*store_, "night005", series->front().series), SizeIs(6));
}

// All pairs of eight nodes as points of `seconds` each; node n8 loses half.
class PartJudgementOfPoints : public store::StoreTest {
 protected:
  void all_pairs(const std::string& run_id, double seconds) {
    constexpr int kNodes = 8;
    std::vector<store::TaskRow> tasks;
    store::RunRow run = store::run_row(run_id);
    run.nodes.clear();
    for (int node = 1; node <= kNodes; ++node) {
      ASSERT_TRUE(store_->put_node(store::node_row(node)));
      run.nodes.push_back(fmt::format("n{}", node));
    }
    for (int i = 0; i < kNodes * kNodes; ++i) {
      const int from = i / kNodes + 1;
      const int to = i % kNodes + 1;
      if (from == to) continue;
      store::TaskRow task = store::pair_tasks(1).front();
      task.task_id = fmt::format("t{:02}{:02}", from, to);
      task.kernel = "verbs.write_bw";
      task.ranks[0].node_id = fmt::format("id-{}", from);
      task.ranks[0].node = fmt::format("n{}", from);
      task.ranks[1].node_id = fmt::format("id-{}", to);
      task.ranks[1].node = fmt::format("n{}", to);
      tasks.push_back(task);
    }
    ASSERT_TRUE(store_->create_run(run, tasks));
    for (const store::TaskRow& task : tasks) {
      store::At at{.run_id = run_id, .task_id = task.task_id};
      Record start = store::started_record(at);
      start.mutable_started()->set_kernel(task.kernel);
      Record figure = store::point_record(at, 1);
      Point& point = *figure.mutable_point();
      point.set_metric("bandwidth_bytes_per_second");
      point.set_larger_is_better(true);
      const bool is_slow = task.ranks[0].node == "n8" || task.ranks[1].node == "n8";
      point.set_rate((is_slow ? 5e9 : 1e10) + 1e6 * static_cast<double>(tasks.size() % 7));
      point.set_measure_ns(seconds * 1e9);
      ASSERT_TRUE(store::append(*store_, task.ranks[0].node_id,
                                {start, figure, store::final_record(at, 2, "passed")}));
      at.rank = 1;
      start = store::started_record(at);
      start.mutable_started()->set_kernel(task.kernel);
      ASSERT_TRUE(store::append(*store_, task.ranks[1].node_id,
                                {start, store::final_record(at, 1, "passed")}));
    }
    ASSERT_TRUE(store_->update_run({.run_id = run_id, .state = store::RunState::kEnded}));
    ASSERT_TRUE(store_pair_matrices(*store_, run_id, {}));
    const auto judged = judge_run(*store_, run_id, 2e9);
    ASSERT_TRUE(judged) << judged.error().message;
  }
  std::size_t levels_of(const std::string& run_id) {
    const auto series = part_series_of(*store_, run_id);
    EXPECT_TRUE(series);
    EXPECT_THAT(*series, SizeIs(1)) << "the matrix is there all the same";
    return read_nights(*store_, run_id, series->front().series)->size();
  }
};

TEST_F(PartJudgementOfPoints, RatesThatWereMeasuredTooBrieflyGiveNoLevelsAndNoFinding) {
  all_pairs("brief", 0.5);
  EXPECT_EQ(levels_of("brief"), 0u);
  EXPECT_THAT(*store_->read(store::read_findings, {}, 100), IsEmpty());
  all_pairs("whole", 3);
  EXPECT_EQ(levels_of("whole"), 1u) << "the same figures, measured for long enough";
}

TEST(PartLevelsAsBytes, ComeBackWithinTheirResolution) {
  SiteSpec spec = kSlicedSite;
  spec.gpu_memory = true;
  Site site(spec);
  const SiteFault slow{.element = {.kind = Kind::kPair, .first = 2, .second = 20, .rail = 0},
                       .drop = 0.6};
  std::uint32_t number = 0;
  while (!site.measures(number, 2, 20)) ++number;
  const auto levels = parts::levels_of(site.night(number, {&slow, 1}));
  ASSERT_TRUE(levels);
  ASSERT_FALSE(levels->pairs.empty());
  const auto back = levels_of_bytes(bytes_of_levels(*levels));
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_EQ(back->ends.size(), levels->ends.size());
  for (std::size_t i = 0; i < back->ends.size(); ++i) {
    ASSERT_EQ(back->ends[i].known(), levels->ends[i].known());
    if (!levels->ends[i].known()) continue;
    EXPECT_NEAR(back->ends[i].loss, levels->ends[i].loss, 1e-5);
    EXPECT_NEAR(back->ends[i].error, levels->ends[i].error, 1e-5);
  }
  EXPECT_EQ(back->blocks.size(), levels->blocks.size());
  EXPECT_EQ(back->leaves, levels->leaves);
  EXPECT_EQ(back->pairs.front().loss, levels->pairs.front().loss);
  EXPECT_EQ(back->figures, levels->figures);
}

TEST(PartLevelsAsBytes, ThatDoNotFitAreDamaged) {
  Site site(kSlicedSite);
  auto levels = parts::levels_of(site.night(0));
  ASSERT_TRUE(levels);
  const std::string bytes = bytes_of_levels(*levels);
  EXPECT_EQ(levels_of_bytes(bytes.substr(0, bytes.size() / 2)).error().code, Code::kDataLoss);
  levels->ends.pop_back();
  EXPECT_EQ(levels_of_bytes(bytes_of_levels(*levels)).error().code, Code::kDataLoss);
}

}  // namespace
}  // namespace railgauge

// Wrong bytes of modelled tasks over a real store.
#include "controller/findings/wrong_bytes.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/findings/run_judge.h"
#include "controller/store/testing/store_testing.h"

namespace railgauge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using Pairs = std::vector<std::pair<int, int>>;

std::vector<store::TaskEnd> ends_of_pairs(const Pairs& pairs, const std::string& reason) {
  std::vector<store::TaskEnd> ends;
  for (const auto& [a, b] : pairs)
    ends.push_back({.state = store::TaskState::kEnded,
                    .outcome = "failed",
                    .reason = reason,
                    .endpoints = {fmt::format("n{}/rxe0:1", a), fmt::format("n{}/rxe0:1", b)}});
  return ends;
}

std::vector<std::string> bad_places(const Pairs& pairs, const std::string& reason =
                                                            "byte 4: wrong "
                                                            "bytes") {
  std::vector<std::string> places;
  for (const WrongBytes& place : places_of_wrong_bytes(ends_of_pairs(pairs, reason)))
    places.push_back(fmt::format("{} {}", place.where, place.tasks));
  return places;
}

TEST(WrongBytesPlaces, TheNodeThatAllHaveInCommonIsNamed) {
  EXPECT_THAT(bad_places({{1, 9}, {9, 2}, {3, 9}, {9, 3}}), ElementsAre("n9 4"));
}

TEST(WrongBytesPlaces, TwoBadNodesAreTwoPlaces) {
  EXPECT_THAT(bad_places({{1, 9}, {9, 2}, {3, 9}, {8, 1}, {8, 2}, {8, 3}, {8, 9}}),
              ElementsAre("n8 4", "n9 3"));
}

TEST(WrongBytesPlaces, WithoutACommonNodeEachPairIsNamed) {
  EXPECT_THAT(bad_places({{1, 2}, {2, 1}}), ElementsAre("n1 n2 2"));
  EXPECT_THAT(bad_places({{1, 2}, {3, 4}}), ElementsAre("n1 n2 1", "n3 n4 1"));
  EXPECT_THAT(bad_places({{1, 2}, {2, 3}, {3, 1}}), ElementsAre("n1 n2 1", "n1 n3 1", "n2 n3 1"));
}

TEST(WrongBytesPlaces, AMissedFloorIsNone) {
  EXPECT_THAT(bad_places({{1, 9}, {9, 2}}, "9 GB/s is below the floor of 20 GB/s"), IsEmpty());
}

class WrongBytesJudgement : public store::StoreTest {
 protected:
  WrongBytesJudgement() {
    for (int node = 1; node <= 9; ++node) EXPECT_TRUE(store_->put_node(store::node_row(node)));
  }
  // A night in which the pairs fail; the other tasks, of n9 with n1 to n4, pass.
  void night(const Pairs& bad, const std::string& trigger = "schedule") {
    const std::string run_id = fmt::format("night{:03}", ++nights_);
    Pairs pairs = bad;
    for (int partner = 1; partner <= 4; ++partner) pairs.emplace_back(9, partner);
    std::vector<store::TaskRow> tasks = store::pair_tasks(static_cast<int>(pairs.size()));
    for (std::size_t i = 0; i < pairs.size(); ++i)
      for (std::size_t rank = 0; rank < 2; ++rank) {
        const int node = rank == 0 ? pairs[i].first : pairs[i].second;
        tasks[i].ranks[rank].node_id = fmt::format("id-{}", node);
        tasks[i].ranks[rank].node = fmt::format("n{}", node);
      }
    store::RunRow run = store::run_row(run_id);
    run.trigger = trigger;
    ASSERT_TRUE(store_->create_run(run, tasks));
    for (std::size_t i = 0; i < tasks.size(); ++i)
      ASSERT_TRUE(store_->update_task({.run_id = run_id,
                                       .task_id = tasks[i].task_id,
                                       .state = store::TaskState::kEnded,
                                       .outcome = i < bad.size() ? "failed" : "passed",
                                       .reason = i < bad.size() ? "byte 4: wrong bytes" : ""}));
    ASSERT_TRUE(store_->update_run({.run_id = run_id,
                                    .state = store::RunState::kEnded,
                                    .outcome = bad.empty() ? "passed" : "failed"}));
    ASSERT_TRUE(store_->flush());
    const auto judged = judge_run(*store_, run_id, 2e9 + nights_);
    ASSERT_TRUE(judged) << judged.error().message;
    ASSERT_TRUE(store_->write(store::write_judged, run_id, 2e9 + nights_));
    confirmed_ = store_->run_summary(run_id)->run.findings_confirmed;
  }
  std::vector<std::string> findings() {
    std::vector<std::string> all;
    const auto rows = store_->read(store::read_findings, {}, 100);
    for (const store::FindingRow& row : *rows)
      all.push_back(fmt::format("{} {}", row.finding_id, text_of(row.state)));
    return all;
  }
  int nights_ = 0;
  std::uint32_t confirmed_ = 0;
};

TEST_F(WrongBytesJudgement, TwoPartnersConfirmANodeAtOnce) {
  night({{9, 5}, {6, 9}, {7, 9}});
  EXPECT_THAT(findings(), ElementsAre("corruption-n9 confirmed"));
  EXPECT_EQ(confirmed_, 1U) << "the exit code of `run` is 1";
  const auto row = store_->read(store::read_finding, std::string("corruption-n9"));
  ASSERT_TRUE(row);
  EXPECT_EQ(row->kind, "corruption");
  EXPECT_EQ(row->severity, "critical");
  EXPECT_EQ(row->node_id, "id-9");
  EXPECT_EQ(row->suspect, "n9");
  EXPECT_EQ(row->summary, "n9: wrong bytes in 3 tasks, with n[5-7]: byte 4: wrong bytes");
}

// The figures of such a run are judged with the upgrade; its bytes are wrong now.
TEST_F(WrongBytesJudgement, AnUpgradesRunNamesItsNodesToo) {
  night({{9, 5}, {6, 9}, {7, 9}}, "upgrade");
  EXPECT_THAT(findings(), ElementsAre("corruption-n9 confirmed"));
}

TEST_F(WrongBytesJudgement, APairIsConfirmedByASecondRun) {
  night({{5, 6}});
  EXPECT_THAT(findings(), ElementsAre("corruption-n5-n6 new"));
  night({{6, 5}});
  EXPECT_THAT(findings(), ElementsAre("corruption-n5-n6 confirmed"));
}

TEST_F(WrongBytesJudgement, AsManyTasksThatPassEndItAndWrongBytesReopenIt) {
  night({{9, 5}, {6, 9}});
  night({{7, 8}});
  EXPECT_THAT(findings(), testing::Contains("corruption-n9 fixed"));
  EXPECT_THAT(findings(), testing::Contains("corruption-n7-n8 new")) << "nobody measured it since";
  night({});
  EXPECT_THAT(findings(), testing::Contains("corruption-n7-n8 new"));
  night({{9, 5}, {6, 9}});
  EXPECT_THAT(findings(), testing::Contains("corruption-n9 reopened"));
}

TEST_F(WrongBytesJudgement, ARunWithFewerTasksThanHadFailedEndsNothing) {
  night({{9, 5}, {6, 9}, {7, 9}, {8, 9}, {9, 6}});
  night({});
  EXPECT_THAT(findings(), ElementsAre("corruption-n9 confirmed"));
}

TEST_F(WrongBytesJudgement, ARunThatIsJudgedTwiceChangesNothing) {
  night({{5, 6}});
  ASSERT_TRUE(judge_run(*store_, "night001", 3e9));
  EXPECT_THAT(findings(), ElementsAre("corruption-n5-n6 new"));
}

}  // namespace
}  // namespace railgauge

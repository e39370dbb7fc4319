// Ports of modelled collectives over a real store.
#include "controller/findings/failed_ports.h"

#include <string>
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

store::ResultRow figure(double share, double bytes, const char* rank, const char* outcome) {
  store::ResultRow row{
      .kernel = "nccl.all_reduce", .endpoints = {"n1/gpu0", "n2/gpu0"}, .outcome = outcome};
  row.point.set_metric("busiest_port_share");
  row.point.set_message_bytes(bytes);
  row.point.set_median(share);
  (*row.point.mutable_facts())["unequal_host_rank"] = rank;
  (*row.point.mutable_facts())["port_bytes"] = "rank 1's host: mlx5_0:1 sent 8 received 8";
  return row;
}

std::vector<std::string> nodes_of(const std::vector<store::ResultRow>& rows) {
  std::vector<std::string> nodes;
  for (const FailedPort& port : failed_ports_among(rows))
    nodes.push_back(fmt::format("{} {:.1f}", port.node, port.share));
  return nodes;
}

TEST(FailedPorts, AreThoseOfTheMostUnequalHost) {
  EXPECT_THAT(nodes_of({figure(2, 8 << 20, "1", "passed"), figure(1.9, 1 << 20, "1", "passed"),
                        figure(1.6, 8 << 20, "0", "passed")}),
              ElementsAre("n2 2.0", "n1 1.6"));
}

TEST(FailedPorts, AreNotThoseOfSmallMessagesOrEvenSharesOrFailedTasks) {
  EXPECT_THAT(nodes_of({figure(2, 64 << 10, "1", "passed"), figure(1.2, 8 << 20, "1", "passed"),
                        figure(2, 8 << 20, "1", "failed"), figure(2, 8 << 20, "7", "passed"),
                        figure(2, 8 << 20, "", "passed")}),
              IsEmpty());
}

// The figure of N ports of which one failed: its traffic is on one other port, or on all others.
store::ResultRow failed_over(int ports, double busiest) {
  store::ResultRow row = figure(busiest, 8 << 20, "1", "passed");
  (*row.point.mutable_facts())["ports"] = std::to_string(ports);
  (*row.point.mutable_facts())["quietest_port_share"] = "0.0000";
  return row;
}

TEST(FailedPorts, AreFoundWhereOneOfTwoFourOrEightFailed) {
  for (const int ports : {2, 4, 8}) {
    SCOPED_TRACE(ports);
    EXPECT_THAT(nodes_of({failed_over(ports, 2)}), ElementsAre("n2 2.0"));
    const double spread = ports / (ports - 1.0);
    EXPECT_THAT(nodes_of({failed_over(ports, spread)}),
                ElementsAre(fmt::format("n2 {:.1f}", spread)));
    EXPECT_LT(least_suspect_share(ports), spread);
    EXPECT_GT(least_suspect_share(ports), 1);
  }
  EXPECT_DOUBLE_EQ(least_suspect_share(2), 1.5);
}

// Twelve channels over eight ports: four carry twice what the others do, and none is quiet.
TEST(FailedPorts, AreNotThoseOfChannelsThatTheirNumberDoesNotDivide) {
  store::ResultRow uneven = failed_over(8, 2 / 1.5);
  (*uneven.point.mutable_facts())["quietest_port_share"] = "0.6667";
  EXPECT_THAT(nodes_of({uneven}), IsEmpty());
  EXPECT_THAT(nodes_of({failed_over(1, 1)}), IsEmpty());
}

class FailedPortJudgement : public store::StoreTest {
 protected:
  // A night with one collective of n1 and n2, whose busiest port has this share on n2.
  void night(double share, const char* quietest = "") {
    const std::string run_id = fmt::format("night{:03}", ++nights_);
    for (int node = 1; node <= 2; ++node) EXPECT_TRUE(store_->put_node(store::node_row(node)));
    store::RunRow run = store::run_row(run_id);
    run.trigger = "schedule";
    ASSERT_TRUE(store_->create_run(run, store::pair_tasks(1)));
    store::dispatch(*store_, run_id, "t0001");
    const store::At first{.run_id = run_id};
    const store::At second{.run_id = run_id, .rank = 1};
    Record point = store::point_record(first, 1, share);
    point.mutable_point()->set_metric("busiest_port_share");
    point.mutable_point()->set_meaning("completion");
    point.mutable_point()->set_unit("1");
    point.mutable_point()->set_message_bytes(8 << 20);
    (*point.mutable_point()->mutable_facts())["unequal_host_rank"] = "1";
    if (*quietest != '\0') {
      (*point.mutable_point()->mutable_facts())["ports"] = "8";
      (*point.mutable_point()->mutable_facts())["quietest_port_share"] = quietest;
    }
    (*point.mutable_point()->mutable_facts())["port_bytes"] = "mlx5_1:1 sent 0 received 0";
    ASSERT_TRUE(store::deliver(
        *store_, "id-1",
        {store::started_record(first), point, store::final_record(first, 2, "passed")}));
    ASSERT_TRUE(
        store::deliver(*store_, "id-2",
                       {store::started_record(second), store::final_record(second, 1, "passed")}));
    ASSERT_TRUE(store_->update_task({.run_id = run_id,
                                     .task_id = "t0001",
                                     .state = store::TaskState::kEnded,
                                     .outcome = "passed",
                                     .reason = ""}));
    ASSERT_TRUE(store_->update_run(
        {.run_id = run_id, .state = store::RunState::kEnded, .outcome = "passed"}));
    ASSERT_TRUE(store_->flush());
    const auto judged = judge_run(*store_, run_id, 2e9 + nights_);
    ASSERT_TRUE(judged) << judged.error().message;
  }
  std::vector<std::string> findings() {
    std::vector<std::string> all;
    const auto rows = store_->read(store::read_findings, {}, 100);
    for (const store::FindingRow& row : *rows)
      if (row.kind == kFailedPortKind)
        all.push_back(fmt::format("{} {}", row.finding_id, text_of(row.state)));
    return all;
  }
  int nights_ = 0;
};

TEST_F(FailedPortJudgement, IsNewAtTheFirstRunAndConfirmedByASecond) {
  night(2);
  EXPECT_THAT(findings(), ElementsAre("port_failover-n2 new"));
  const auto row = store_->read(store::read_finding, std::string("port_failover-n2"));
  ASSERT_TRUE(row);
  EXPECT_EQ(row->suspect, "n2");
  EXPECT_EQ(row->node_id, "id-2");
  EXPECT_THAT(row->summary, HasSubstr("carried 2.00 times the mean"));
  EXPECT_THAT(row->summary, HasSubstr("mlx5_1:1 sent 0 received 0"));
  night(2);
  EXPECT_THAT(findings(), ElementsAre("port_failover-n2 confirmed"));
}

TEST_F(FailedPortJudgement, IsEndedByARunWithEvenPortsAndReopened) {
  night(2);
  night(1);
  EXPECT_THAT(findings(), ElementsAre("port_failover-n2 fixed"));
  night(2);
  EXPECT_THAT(findings(), ElementsAre("port_failover-n2 reopened"));
}

TEST_F(FailedPortJudgement, SaysWhatTheQuietPortOfEightCarriedAndEndsOnceItCarriesAgain) {
  night(8 / 7.0, "0.0000");
  EXPECT_THAT(findings(), ElementsAre("port_failover-n2 new"));
  const auto row = store_->read(store::read_finding, std::string("port_failover-n2"));
  ASSERT_TRUE(row);
  EXPECT_THAT(row->summary,
              HasSubstr("carried 1.14 times the mean of the node's ports, another 0.00 times,"));
  night(1.02, "0.9800");
  EXPECT_THAT(findings(), ElementsAre("port_failover-n2 fixed"));
}

TEST_F(FailedPortJudgement, IsNoneWhereThePortsCarryAlike) {
  night(1.1);
  EXPECT_THAT(findings(), IsEmpty());
}

}  // namespace
}  // namespace railgauge

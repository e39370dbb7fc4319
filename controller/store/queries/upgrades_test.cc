// Upgrades, their two sides, and levels that people set; points are synthetic.
#include "controller/store/queries/upgrades.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/testing/store_testing.h"

namespace railgauge::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class Upgrades : public StoreTest {
 protected:
  void SetUp() override { plan_run(*store_, "r1", 2); }
  static UpgradeRow upgrade(const std::string& id) {
    return {.upgrade_id = id,
            .suite = "upgrade",
            .requested_by = "ada",
            .created_at = 1e9,
            .nodes = {{.node_id = "id-1", .changed = true}, {.node_id = "id-2"}},
            .runs = {{.run_id = "r1"}}};
  }
  void put(int number, const std::string& kernel) {
    NodeRow node = node_row(number);
    node.facts["linux_kernel"] = kernel;
    ASSERT_TRUE(store_->put_node(node));
    ASSERT_TRUE(store_->flush());
  }
};

TEST_F(Upgrades, AnUpgradeKeepsItsNodesStacksRunsAndVerdict) {
  UpgradeRow row = upgrade("u1");
  row.nodes[0].stack_before = store_->read(read_epochs, "id-1", 1)->at(0).stack;
  ASSERT_TRUE(store_->write(write_upgrade, row));
  EXPECT_EQ(store_->write(write_upgrade, row).error().code, Code::kAlreadyExists);
  put(1, "6.5.0");
  ASSERT_TRUE(store_->create_run(run_row("r2"), pair_tasks(1)));
  ASSERT_TRUE(store_->write(write_upgrade_after, "u1", "r2", true));
  auto read = store_->read(read_upgrade, "u1");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->state, UpgradeState::kMeasuring);
  ASSERT_THAT(read->nodes, SizeIs(2));
  EXPECT_TRUE(read->nodes[0].changed);
  EXPECT_EQ(read->nodes[0].node, "n1");
  EXPECT_NE(read->nodes[0].stack_before, read->nodes[0].stack_after);
  EXPECT_EQ(read->nodes[1].stack_before, 0);
  ASSERT_THAT(read->runs, SizeIs(2));
  EXPECT_FALSE(read->runs[0].after);
  EXPECT_TRUE(read->runs[1].after);
  row.verdict = "regressed";
  row.kind = "performance";
  row.reason = "slower";
  row.judged_at = 2e9;
  row.report = "{}";
  ASSERT_TRUE(store_->write(write_upgrade_verdict, row));
  EXPECT_EQ(store_->read(read_upgrade, "u1")->verdict, "regressed");
  ASSERT_TRUE(store_->write(write_upgrade_after, "u1", "", true));
  read = store_->read(read_upgrade, "u1");
  EXPECT_THAT(read->runs, SizeIs(1)) << "the after side begins anew";
  EXPECT_EQ(read->verdict, "") << "what was said of the earlier one does not stand for it";
  EXPECT_EQ(store_->read(read_upgrades, 10)->at(0).upgrade_id, "u1");
  EXPECT_EQ(store_->read(read_upgrade, "u9").error().code, Code::kNotFound);
  EXPECT_EQ(store_->write(write_upgrade_after, "u9", "", true).error().code, Code::kNotFound);
  UpgradeRow stranger = upgrade("u2");
  stranger.nodes[0].node_id = "id-9";
  EXPECT_EQ(store_->write(write_upgrade, stranger).error().code, Code::kNotFound);
  EXPECT_THAT(*store_->read(read_upgrades, 10), SizeIs(1)) << "nothing of it stays";
}

TEST_F(Upgrades, EpochsAreNewestFirstWithTheirStacks) {
  put(1, "6.5.0");
  put(1, "6.1.0");
  const auto epochs = store_->read(read_epochs, "id-1", 10);
  ASSERT_TRUE(epochs) << epochs.error().message;
  ASSERT_THAT(*epochs, SizeIs(3));
  EXPECT_FALSE(epochs->at(0).valid_to);
  EXPECT_EQ(epochs->at(0).stack, epochs->at(2).stack) << "rolled back";
  EXPECT_EQ(epochs->at(1).parts.versions.at("linux_kernel"), "6.5.0");
  EXPECT_EQ(store_->read(read_epochs, "id-9", 1).error().code, Code::kNotFound);

  const double newest = epochs->at(0).valid_from;
  EXPECT_THAT(*store_->read(read_changed_nodes, newest), testing::ElementsAre("id-1"))
      << "the others have their first stack";
  EXPECT_THAT(*store_->read(read_changed_nodes, newest + 1), testing::IsEmpty());
}

TEST_F(Upgrades, ASideIsThePointsThatCountAndAllTasks) {
  append_passed(*store_, {}, 1500);
  const At second{.task_id = "t0002"};
  ASSERT_TRUE(append(*store_, "id-1",
                     {started_record(second), point_record(second, 1, 1600),
                      final_record(second, 2, "failed", "byte 17 is 0x00; 0x2a was written")}));
  const auto points = store_->read(read_side_points, {"r1", "r9"}, {});
  ASSERT_TRUE(points) << points.error().message;
  ASSERT_THAT(*points, SizeIs(1));
  EXPECT_EQ(points->at(0).headline, 1500);
  EXPECT_EQ(points->at(0).p99, 4500);
  EXPECT_FALSE(points->at(0).synthetic);
  EXPECT_THAT(store_->read(read_one_series, points->at(0).series)->endpoints,
              ElementsAre("n1/rxe0:1", "n2/rxe0:1"));
  const auto tasks = store_->read(read_side_tasks, {"r1"}, {});
  ASSERT_TRUE(tasks) << tasks.error().message;
  ASSERT_THAT(*tasks, SizeIs(2));
  EXPECT_EQ(tasks->at(0).outcome, "passed");
  EXPECT_EQ(tasks->at(0).path, "host, RC");
  EXPECT_THAT(tasks->at(0).nodes, ElementsAre("n1", "n2"));
  EXPECT_THAT(tasks->at(0).endpoints, ElementsAre("rxe0:1", "rxe0:1"));
}

TEST_F(Upgrades, ATasksPathIsThatOfBothEnds) {
  Record started = started_record({});
  auto& facts = *started.mutable_started()->mutable_facts();
  facts["path"] = "host";
  facts["peer_path"] = "dma-buf";
  facts["transport"] = "RC";
  ASSERT_TRUE(append(*store_, "id-1", {started, final_record({}, 1, "passed")}));
  EXPECT_EQ(store_->read(read_side_tasks, {"r1"}, {})->at(0).path, "host to dma-buf RC");
}

TEST_F(Upgrades, AnEndpointThatIsGoneIsToldWithItsName) {
  auto states = store_->read(read_endpoint_states, {"id-1"});
  ASSERT_TRUE(states) << states.error().message;
  ASSERT_THAT(*states, SizeIs(1));
  EXPECT_EQ(states->at(0).endpoint, "rxe0:1");
  EXPECT_FALSE(states->at(0).gone);
  NodeRow node = node_row(1);
  node.endpoints.clear();
  ASSERT_TRUE(store_->put_node(node));
  ASSERT_TRUE(store_->flush());
  states = store_->read(read_endpoint_states, {"id-1"});
  ASSERT_THAT(*states, SizeIs(1));
  EXPECT_TRUE(states->at(0).gone);
}

TEST_F(Upgrades, RunsOfNodesAreThoseThatEndedInTheTime) {
  EXPECT_THAT(*store_->read(read_runs_of_nodes, {"id-1"}, 0, 1e12, 10), IsEmpty()) << "it goes on";
  ASSERT_TRUE(store_->update_run({.run_id = "r1", .state = RunState::kEnded, .outcome = "passed"}));
  ASSERT_TRUE(store_->flush());
  EXPECT_THAT(*store_->read(read_runs_of_nodes, {"id-1"}, 0, 1e12, 10), ElementsAre("r1"));
  EXPECT_THAT(*store_->read(read_runs_of_nodes, {"id-1"}, 1e12, 2e12, 10), IsEmpty());
  EXPECT_THAT(*store_->read(read_runs_of_nodes, {"id-9"}, 0, 1e12, 10), IsEmpty());
}

TEST_F(Upgrades, AnAcceptedFindingResetsTheLevelAndTheGoldenOneStays) {
  append_passed(*store_, {}, 1500);
  const std::int64_t series = store_->read(read_side_points, {"r1"}, {})->at(0).series;
  ASSERT_TRUE(
      store_->write(write_baselines, {{.series_id = series, .kind = "golden", .who = "ada"}}));
  EXPECT_EQ(store_->write(write_baselines, {{.series_id = 99, .kind = "golden"}}).error().code,
            Code::kNotFound);
  ASSERT_TRUE(store_->write(write_upgrade, upgrade("u1")));
  ASSERT_TRUE(store_->write(write_finding,
                            {.finding_id = "f1",
                             .kind = "regression",
                             .run_id = "r1",
                             .opened_at = 1e9,
                             .upgrade_id = "u1",
                             .worse = 0.2,
                             .series = {{.series = series, .before = 1500, .after = 1800}}}));
  ASSERT_TRUE(store_->write(write_finding_step, "f1", {.at = 2e9, .action = "ack", .until = 3e9}));
  EXPECT_EQ(store_->read(read_finding, "f1")->until, 3e9);
  EXPECT_EQ(store_->read(read_finding, "f1")->upgrade_id, "u1");
  EXPECT_EQ(store_->read(read_finding, "f1")->worse, 0.2);
  ASSERT_TRUE(
      store_->write(write_finding_step, "f1", {.at = 4e9, .who = "ada", .action = "accept"}));
  const auto levels = store_->read(read_baselines, "");
  ASSERT_TRUE(levels) << levels.error().message;
  ASSERT_THAT(*levels, SizeIs(2));
  EXPECT_EQ(levels->at(0).kind, "golden");
  EXPECT_EQ(levels->at(0).level, 1500);
  EXPECT_EQ(levels->at(0).now, 1500);
  EXPECT_EQ(levels->at(1).kind, "accepted");
  EXPECT_EQ(levels->at(1).level, 1800);
  EXPECT_EQ(levels->at(1).finding_id, "f1");
  EXPECT_THAT(*store_->read(read_baselines, "golden"), SizeIs(1));
}

}  // namespace
}  // namespace railgauge::store

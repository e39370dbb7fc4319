// Runs, tasks, nodes and events in the store.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/ingest/node_changes.h"
#include "controller/store/queries/queries.h"
#include "controller/store/sqlite/sqlite.h"
#include "controller/store/testing/store_testing.h"
#include "controller/store/upkeep/schema.h"

namespace railgauge::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using RunStoreTest = StoreTest;

TEST_F(RunStoreTest, RunsAndTasksComeBackAsTheyWereLastUpdated) {
  plan_run(*store_, "r1", 2);
  ASSERT_TRUE(store_->update_run({.run_id = "r1", .started_at = 1.7e9}));
  ASSERT_TRUE(store_->update_task({.run_id = "r1",
                                   .task_id = "t0001",
                                   .state = TaskState::kEnded,
                                   .outcome = "passed",
                                   .attempts = 1}));
  append_passed(*store_, {});
  ASSERT_TRUE(append(*store_, "id-1", {note_record({.task_id = "t0002"}, 0, "odd")}));
  reopen();
  const auto detail = store_->run_detail("r1");
  ASSERT_TRUE(detail) << detail.error().message;
  const RunRow& run = detail->summary.run;
  EXPECT_EQ(run.suite, "quick");
  EXPECT_EQ(run.suite_text, "version: 1\n");
  EXPECT_EQ(run.requested_by, "root");
  EXPECT_EQ(run.started_at, 1.7e9);
  EXPECT_GT(run.created_at, 1.7e9);
  EXPECT_THAT(run.nodes, ElementsAre("n1", "n2"));
  EXPECT_EQ(detail->summary.tasks_total, 2u);
  EXPECT_EQ(detail->summary.tasks_ended, 1u);
  EXPECT_EQ(detail->summary.outcomes.at("passed"), 1u);
  ASSERT_EQ(detail->tasks.size(), 2u);
  const TaskDetailRow& task = detail->tasks[0];
  EXPECT_EQ(task.task.outcome, "passed");
  EXPECT_EQ(task.task.parameters.at("depth"), "1");
  EXPECT_THAT(task.task.identity_parameters, ElementsAre("depth"));
  ASSERT_EQ(task.ranks.size(), 2u);
  EXPECT_EQ(task.ranks[1].node, "n2");
  EXPECT_EQ(task.ranks[1].endpoint, "rxe0:1");
  EXPECT_EQ(task.ranks[0].facts.at("path"), "host, RC");
  ASSERT_TRUE(task.ranks[0].final_record);
  EXPECT_EQ(task.ranks[0].final_record->SerializeAsString(),
            final_record({}, 2, "passed").final().SerializeAsString());
  EXPECT_EQ(detail->tasks[1].counted_attempt, 1u) << "none has ended: the last at all";
  EXPECT_EQ(detail->tasks[1].ranks[0].notes.at(0).text(), "odd");
}

TEST_F(RunStoreTest, ARunWhoseRanksHadAllEndedIsNotCutShortByARestart) {
  plan_run(*store_, "r1", 2);
  ASSERT_TRUE(store_->update_task(
      {.run_id = "r1", .task_id = "t0001", .state = TaskState::kRunning, .attempts = 1}));
  append_passed(*store_, {});
  reopen();
  EXPECT_THAT(*store_->end_interrupted_runs(), ElementsAre("r1"));
  EXPECT_FALSE(*store_->read(is_cut_short, "r1"));
  EXPECT_EQ(store_->run_summary("r1")->run.outcome, "crashed");
}

// A node that stays attached for months and then does not come back is missed all the same.
TEST_F(RunStoreTest, ANodeThatIsAttachedStillIsSeenWithAllThatItHas) {
  ASSERT_TRUE(store_->put_node(node_row(1)));
  ASSERT_TRUE(store_->flush());
  const auto before = store_->list_nodes();
  ASSERT_TRUE(before && before->size() == 1);
  ASSERT_FALSE(before->at(0).endpoints.empty());
  const double later = before->at(0).last_seen_at + 60;
  ASSERT_TRUE(store_->note_seen({{before->at(0).node_id, later}, {"never heard of", later}}));
  ASSERT_TRUE(store_->note_seen({{before->at(0).node_id, later - 30}}));
  ASSERT_TRUE(store_->flush());
  const auto after = store_->list_nodes();
  ASSERT_TRUE(after && after->size() == 1);
  EXPECT_EQ(after->at(0).last_seen_at, later) << "never back";
  EXPECT_EQ(after->at(0).endpoints.size(), before->at(0).endpoints.size());
}

TEST_F(RunStoreTest, RunsAreListedNewestFirst) {
  for (const char* id : {"r1", "r2", "r3"}) ASSERT_TRUE(store_->create_run(run_row(id), {}));
  const auto runs = store_->list_runs(2);
  ASSERT_TRUE(runs);
  ASSERT_EQ(runs->size(), 2u);
  EXPECT_EQ(runs->at(0).run.run_id, "r3");
  EXPECT_EQ(runs->at(1).run.run_id, "r2");
}

TEST_F(RunStoreTest, TimesOfStagesStayForTheNewestRuns) {
  const auto end_run = [&](int number) {
    const std::string id = fmt::format("r{}", number);
    plan_run(*store_, id, 1);
    const StageTimeRow time{
        .key = "k on pairs", .rounds = 2, .longest_seconds = 10, .seconds = 1.0 * number};
    // Two stages of one key are one time; another key has its own.
    ASSERT_TRUE(store_->update_run(
        {.run_id = id, .ended_at = 1.7e9 + number, .stage_times = {time, time, {.key = "other"}}}));
  };
  for (int number = 1; number <= 10; ++number) end_run(number);
  reopen();
  const auto times = store_->stage_times();
  ASSERT_TRUE(times) << times.error().message;
  ASSERT_EQ(times->size(), 2 * kKeptStageTimes);
  EXPECT_EQ(times->front().key, "k on pairs");
  EXPECT_EQ(times->front().rounds, 4U);
  EXPECT_EQ(times->front().longest_seconds, 20);
  EXPECT_EQ(times->front().seconds, 2 * 3) << "runs 1 and 2 made room";
}

TEST_F(RunStoreTest, MistakesAreToldToTheCallerAlone) {
  plan_run(*store_, "r1", 1);
  const Status again = store_->create_run(run_row("r1"), pair_tasks(1));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::kAlreadyExists);
  std::vector<TaskRow> twice = pair_tasks(1);
  twice.push_back(twice[0]);
  EXPECT_FALSE(store_->create_run(run_row("r2"), twice));
  EXPECT_EQ(store_->list_runs(10)->size(), 1u) << "half a run is no run";
  Status told;
  ASSERT_TRUE(store_->update_task({.run_id = "r1", .task_id = "t7", .state = TaskState::kEnded},
                                  [&](const Status& status) { told = status; }));
  append_passed(*store_, {});
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, Code::kNotFound);
  EXPECT_EQ(all().size(), 1u);
}

TEST_F(RunStoreTest, ARestartEndsTheRunsThatWereOpen) {
  plan_run(*store_, "r1", 3);
  ASSERT_TRUE(store_->create_run(run_row("r2"), {}));
  ASSERT_TRUE(store_->update_run({.run_id = "r2", .state = RunState::kEnded, .outcome = "passed"}));
  ASSERT_TRUE(store_->update_task({.run_id = "r1",
                                   .task_id = "t0001",
                                   .state = TaskState::kEnded,
                                   .outcome = "passed",
                                   .attempts = 1}));
  ASSERT_TRUE(store_->update_task(
      {.run_id = "r1", .task_id = "t0002", .state = TaskState::kRunning, .attempts = 1}));
  reopen();
  const auto ended = store_->end_interrupted_runs();
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_THAT(*ended, ElementsAre("r1"));
  EXPECT_TRUE(*store_->read(is_cut_short, "r1"));
  EXPECT_FALSE(*store_->read(is_cut_short, "r2"));
  const auto detail = store_->run_detail("r1");
  EXPECT_EQ(detail->summary.run.state, RunState::kEnded);
  EXPECT_EQ(detail->summary.run.outcome, "crashed");
  EXPECT_EQ(detail->summary.run.reason, "controller restarted");
  EXPECT_GT(detail->summary.run.ended_at, 1.7e9);
  EXPECT_EQ(detail->tasks[0].task.outcome, "passed");
  EXPECT_EQ(detail->tasks[1].task.outcome, "crashed");
  EXPECT_EQ(detail->tasks[2].task.outcome, "cancelled");
  EXPECT_EQ(store_->run_summary("r2")->run.outcome, "passed");
  EXPECT_THAT(*store_->end_interrupted_runs(), IsEmpty());
  append_passed(*store_, {.task_id = "t0002"});
  EXPECT_EQ(all().size(), 1u) << "what agents deliver late is stored";
  EXPECT_EQ(all()[0].outcome, "crashed");
}

TEST_F(RunStoreTest, NodesKeepTheirIdThroughNewNamesAndNics) {
  ASSERT_TRUE(store_->put_node(node_row(1)));
  ASSERT_TRUE(store_->put_node(node_row(2)));
  NodeRow renamed = node_row(1);
  renamed.name = "gpu-a";
  renamed.endpoints[0].state = "down";
  renamed.endpoints.push_back({.kind = "nic",
                               .device = "mlx5_0",
                               .port = 1,
                               .pci_address = "0000:3b:00.0",
                               .state = "active"});
  ASSERT_TRUE(store_->put_node(renamed));
  ASSERT_TRUE(store_->flush());
  auto nodes = store_->list_nodes();
  ASSERT_TRUE(nodes) << nodes.error().message;
  ASSERT_EQ(nodes->size(), 2u);
  EXPECT_EQ(nodes->at(0).name, "gpu-a");
  EXPECT_EQ(nodes->at(0).node_id, "id-1");
  EXPECT_EQ(nodes->at(0).facts.at("linux_kernel"), "6.1.0");
  ASSERT_EQ(nodes->at(0).endpoints.size(), 2u);
  EXPECT_EQ(nodes->at(0).endpoints[0].pci_address, "0000:3b:00.0");
  EXPECT_EQ(nodes->at(0).endpoints[1].netdev, "eth0");
  EXPECT_EQ(nodes->at(0).endpoints[1].state, "down");

  renamed.endpoints.erase(renamed.endpoints.begin());
  ASSERT_TRUE(store_->put_node(renamed));
  ASSERT_TRUE(store_->flush());
  EXPECT_EQ(store_->list_nodes()->at(0).endpoints.size(), 1u) << "the other one is gone";
}

TEST_F(RunStoreTest, AGpuComesBackWithWhatTheAgentTold) {
  NodeRow node = node_row(1);
  node.endpoints.push_back({.kind = "gpu",
                            .device = "gpu0",
                            .pci_address = "0000:17:00.0",
                            .guid = "GPU-0011",
                            .state = "active",
                            .driver = "nvidia",
                            .firmware = "96.00.bc.00.01",
                            .model = "NVIDIA H200",
                            .numa_node_plus_one = 2});
  ASSERT_TRUE(store_->put_node(node));
  ASSERT_TRUE(store_->flush());
  const auto nodes = store_->list_nodes();
  ASSERT_TRUE(nodes);
  ASSERT_EQ(nodes->at(0).endpoints.size(), 2u);
  const EndpointRow& gpu = nodes->at(0).endpoints.at(0);  // by slot
  EXPECT_EQ(gpu.kind, "gpu");
  EXPECT_EQ(gpu.device, "gpu0");
  EXPECT_EQ(gpu.pci_address, "0000:17:00.0");
  EXPECT_EQ(gpu.guid, "GPU-0011");
  EXPECT_EQ(gpu.model, "NVIDIA H200");
  EXPECT_EQ(gpu.firmware, "96.00.bc.00.01");
  EXPECT_EQ(gpu.numa_node_plus_one, 2u);
}

// A certificate that was stolen may say something else with each attach.
TEST_F(RunStoreTest, ANodeThatChangesWithEachAttachLeavesFewRows) {
  for (int i = 0; i < 60; ++i) {
    NodeRow node = node_row(1);
    for (int key = 0; key < 8; ++key) {
      const std::string name = fmt::format("k{}", key);
      node.facts[name] = node.settings[name] = node.described[name] =
          std::string(3'000, 'a') + std::to_string(i);
    }
    node.endpoints[0].firmware = std::to_string(i);
    node.endpoints.push_back(
        {.kind = "nic", .device = "evil", .pci_address = fmt::format("slot {}", i)});
    ASSERT_TRUE(store_->put_node(node));
  }
  ASSERT_TRUE(store_->flush());
  auto connection = Connection::open(folder_.file("db"), Connection::Mode::kReadOnly, 5);
  ASSERT_TRUE(connection);
  const auto number = [&](std::string_view sql) { return **connection->integer(sql); };
  EXPECT_EQ(number("SELECT count(*) FROM epoch"), NodeChanges::kMostAnHour);
  EXPECT_LE(number("SELECT count(*) FROM fact_set"), 1 + 2 * NodeChanges::kMostAnHour);
  EXPECT_LE(number("SELECT count(*) FROM endpoint"), 1 + NodeChanges::kMostAnHour);
  EXPECT_LE(number("SELECT max(length(text)) FROM event"), 1'100);
  EXPECT_EQ(number("SELECT count(*) FROM event WHERE kind='node_changes_left_out'"), 2);
  const auto nodes = store_->list_nodes();
  ASSERT_TRUE(nodes && nodes->size() == 1);
  EXPECT_EQ(nodes->at(0).endpoints.size(), 2U) << "those of its last change are present still";
}

TEST_F(RunStoreTest, ANodeThatComesWithNewIdsHasTheChangesOfItsName) {
  for (int i = 0; i < 60; ++i) {
    NodeRow node = node_row(1);
    node.node_id = fmt::format("id-{}", i);
    node.facts["k"] = node.described["k"] = std::string(3'000, 'a') + std::to_string(i);
    ASSERT_TRUE(store_->put_node(node));
  }
  ASSERT_TRUE(store_->flush());
  auto connection = Connection::open(folder_.file("db"), Connection::Mode::kReadOnly, 5);
  ASSERT_TRUE(connection);
  EXPECT_EQ(**connection->integer("SELECT count(*) FROM epoch"), NodeChanges::kMostAnHour);
  EXPECT_EQ(**connection->integer("SELECT count(*) FROM endpoint"), NodeChanges::kMostAnHour);
  EXPECT_LE(**connection->integer("SELECT count(*) FROM fact_set"),
            1 + 2 * NodeChanges::kMostAnHour);
}

TEST_F(RunStoreTest, ALongEventIsCutAndSaysSo) {
  ASSERT_TRUE(store_->add_event({.kind = "node_lost", .text = std::string(121'000, 'x')}));
  ASSERT_TRUE(store_->flush());
  const std::string text = store_->list_events(1)->at(0).text;
  EXPECT_EQ(text, std::string(1'024, 'x') + "... (119976 bytes more)");
}

TEST_F(RunStoreTest, AReinstalledNodeTakesOverItsName) {
  ASSERT_TRUE(store_->put_node(node_row(1)));
  NodeRow fresh = node_row(1);
  fresh.node_id = "id-new";
  ASSERT_TRUE(store_->put_node(fresh));
  ASSERT_TRUE(store_->flush());
  ASSERT_TRUE(store_->flush());
  const auto nodes = store_->list_nodes();
  ASSERT_EQ(nodes->size(), 1u);
  EXPECT_EQ(nodes->at(0).node_id, "id-new");
}

TEST_F(RunStoreTest, EventsComeNewestFirstWithTheirTime) {
  ASSERT_TRUE(store_->add_event({.kind = "node_attached", .node_id = "id-1", .text = "n1"}));
  ASSERT_TRUE(store_->add_event({.at = 5, .kind = "node_lost", .text = "n1"}));
  ASSERT_TRUE(store_->flush());
  const auto events = store_->list_events(10);
  ASSERT_TRUE(events);
  ASSERT_EQ(events->size(), 2u);
  EXPECT_EQ(events->at(0).kind, "node_lost");
  EXPECT_EQ(events->at(0).at, 5);
  EXPECT_GT(events->at(1).at, 1.7e9);
}

TEST_F(RunStoreTest, SaysWhatItHoldsAndDid) {
  plan_run(*store_, "r1", 1);
  append_passed(*store_, {});
  const auto stats = store_->stats();
  ASSERT_TRUE(stats) << stats.error().message;
  EXPECT_EQ(stats->database_version, schema_version());
  EXPECT_GT(stats->file_bytes, 4096);
  EXPECT_EQ(stats->committed_records, 5);
  EXPECT_GE(stats->committed_batches, 3);
  EXPECT_EQ(stats->failed_batches, 0);
  EXPECT_EQ(stats->queued_records, 0);
}

TEST_F(RunStoreTest, TasksComeInPagesOfBoundedSizeAndEachOnce) {
  plan_run(*store_, "r0", 3);
  ASSERT_TRUE(store_->create_run(run_row("r1"), pair_tasks(20)));
  ASSERT_TRUE(store_->create_run(run_row("r2"), pair_tasks(3)));
  ASSERT_TRUE(append(*store_, "id-1",
                     {started_record({.task_id = "t0007"}),
                      note_record({.task_id = "t0007"}, 1, std::string(15'000, 'x')),
                      note_record({.task_id = "t0007"}, 2, std::string(15'000, 'y'))}));
  auto connection = Connection::open(folder_.file("db"), Connection::Mode::kReadOnly, 1);
  ASSERT_TRUE(connection);
  std::vector<std::string> ids;
  std::vector<std::size_t> pages;
  std::int64_t from = 0;
  do {
    const auto page = read_task_page(*connection, "r1", from, 8, 20'000);
    ASSERT_TRUE(page) << page.error().message;
    EXPECT_EQ(page->summary.tasks_total, 20u);
    for (const TaskDetailRow& task : page->tasks) ids.push_back(task.task.task_id);
    pages.push_back(page->tasks.size());
    from = page->next;
  } while (from != 0);
  EXPECT_THAT(pages, testing::ElementsAre(7, 8, 5)) << "the seventh fills its page";
  ASSERT_EQ(ids.size(), 20u);
  for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(ids[i], fmt::format("t{:04}", i + 1));
  EXPECT_EQ(read_task_page(*connection, "r9", 0, 8, 1).error().code, Code::kNotFound);
  ASSERT_TRUE(store_->create_run(run_row("r3"), {}));
  const auto none = store_->task_page("r3", 0);
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_TRUE(none->tasks.empty());
  EXPECT_EQ(none->next, 0);
}

}  // namespace
}  // namespace railgauge::store

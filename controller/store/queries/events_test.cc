#include "controller/store/queries/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/sqlite/sqlite.h"
#include "controller/store/testing/store_testing.h"

namespace railgauge::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class EventQueries : public testing::Test {
 protected:
  void SetUp() override {
    store_ = open_store(folder_.file("db"));
    for (int number : {1, 2}) ASSERT_TRUE(store_->put_node(node_row(number)));
    add({.at = 10, .kind = "stack_changed", .node_id = "id-1", .text = "a"});
    add({.at = 20, .kind = "watch_xid", .node_id = "id-2", .text = "b"});
    add({.at = 30, .kind = "run_forced", .run_id = "r1", .text = "c"});
  }
  void add(const EventRow& event) {
    ASSERT_TRUE(store_->add_event(event));
    ASSERT_TRUE(store_->flush());
  }
  std::vector<std::string> texts(EventFilter filter) {
    filter.limit = filter.limit == 0 ? 100 : filter.limit;
    std::vector<std::string> texts;
    const auto events = store_->read(find_events, filter);
    EXPECT_TRUE(events) << events.error().message;
    for (const StoredEvent& found : events.value_or(std::vector<StoredEvent>{}))
      texts.push_back(found.event.text);
    return texts;
  }

  TempFolder folder_;
  std::unique_ptr<Store> store_;
};

TEST_F(EventQueries, AreNewestFirstWithTheirNodes) {
  const auto events = store_->read(find_events, EventFilter{.limit = 2});
  ASSERT_TRUE(events) << events.error().message;
  ASSERT_EQ(events->size(), 2U);
  EXPECT_EQ(events->at(0).event.run_id, "r1");
  EXPECT_EQ(events->at(0).node, "");
  EXPECT_EQ(events->at(1).node, "n2");
  EXPECT_EQ(store_->read(newest_event).value(), events->at(0).id);
}

TEST_F(EventQueries, AreChosenByTimeKindNodeAndRun) {
  EXPECT_THAT(texts({.since = 20}), ElementsAre("c", "b"));
  EXPECT_THAT(texts({.kinds = {"watch_xid"}}), ElementsAre("b"));
  EXPECT_THAT(texts({.kinds = {"xid", "stack"}}), ElementsAre("b", "a")) << "words of kinds";
  EXPECT_THAT(texts({.kinds = {"sta"}}), IsEmpty()) << "a part of a word is none";
  EXPECT_THAT(texts({.nodes = {"n1"}}), ElementsAre("a"));
  EXPECT_THAT(texts({.run_id = "r1"}), ElementsAre("c"));
}

TEST_F(EventQueries, OfEarlierAgentsHaveTheirSeverityInPresentWords) {
  add({.at = 40, .kind = "watch_counter", .node_id = "id-1", .text = "fail: mlx5_0:1 is down"});
  add({.at = 50, .kind = "run_forced", .run_id = "r2", .text = "fail: a user's own words"});
  EXPECT_THAT(texts({.since = 40}),
              ElementsAre("fail: a user's own words", "critical: mlx5_0:1 is down"));
}

TEST_F(EventQueries, OfARenamedNodeAreFoundByBothNames) {
  NodeRow renamed = node_row(1);
  renamed.name = "m1";
  ASSERT_TRUE(store_->put_node(renamed));
  ASSERT_TRUE(store_->flush());
  EXPECT_THAT(texts({.kinds = {"stack_changed"}, .nodes = {"n1"}}), ElementsAre("a"));
  EXPECT_THAT(texts({.kinds = {"stack_changed"}, .nodes = {"m1"}}), ElementsAre("a"));
}

TEST_F(EventQueries, AfterOneComeTheLaterOnesOldestFirst) {
  const auto all = store_->read(find_events, EventFilter{.limit = 100}).value();
  EXPECT_THAT(texts({.after = all.back().id}), ElementsAre("b", "c"));
  EXPECT_THAT(texts({.after = all.front().id}), IsEmpty());
}

TEST_F(EventQueries, AfterOneReadsNoneBeforeIt) {
  auto connection = Connection::open(folder_.file("db"), Connection::Mode::kReadOnly, 1);
  ASSERT_TRUE(connection);
  auto rows = connection->query("EXPLAIN QUERY PLAN " + sql_of_events({.after = 1}), std::nullopt,
                                "[]", "[]", "", 1, 1);
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_TRUE(rows->next().value_or(false));
  EXPECT_THAT(rows->text(3), HasSubstr("SEARCH event USING INTEGER PRIMARY KEY (rowid>?)"));
}

TEST_F(EventQueries, OfTasksThatEndedPassedOnesAreCounted) {
  ASSERT_TRUE(store_->create_run(run_row("r1"), pair_tasks(3)));
  EXPECT_EQ(store_->read(newest_ended_run).value(), "");
  for (const auto& [task, outcome] :
       {std::pair{"t0001", "passed"}, {"t0002", "passed"}, {"t0003", "failed"}})
    ASSERT_TRUE(store_->update_task({.run_id = "r1",
                                     .task_id = task,
                                     .state = TaskState::kEnded,
                                     .outcome = outcome,
                                     .reason = std::string(outcome) + " so"}));
  ASSERT_TRUE(store_->update_run({.run_id = "r1", .state = RunState::kEnded}));
  ASSERT_TRUE(store_->flush());
  const auto ends = store_->read(read_task_ends, std::string("r1"));
  ASSERT_TRUE(ends) << ends.error().message;
  ASSERT_EQ(ends->size(), 2U);
  EXPECT_EQ(ends->at(0).tasks, 2);
  EXPECT_EQ(ends->at(0).outcome, "passed");
  EXPECT_EQ(ends->at(1).task_id, "t0003");
  EXPECT_EQ(ends->at(1).reason, "failed so");
  EXPECT_THAT(ends->at(1).endpoints, ElementsAre("n1/rxe0:1", "n2/rxe0:1"));
  EXPECT_EQ(store_->read(newest_ended_run).value(), "r1");
  EXPECT_EQ(store_->read(read_task_ends, std::string("none")).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace railgauge::store

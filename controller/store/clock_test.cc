// The controller's clock steps back by years, as after a dead battery: what is stored stays in the
// order in which it came, and nothing is taken for old that is not.
#include <atomic>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/sqlite/sqlite.h"
#include "controller/store/testing/store_testing.h"

namespace railgauge::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kTrue = 1.9e9;
constexpr double kBehind = 1.5e9;  // some 12 years before

class ClockTest : public testing::Test {
 protected:
  void run_of(const std::string& run_id) {
    RunRow row = run_row(run_id);
    ASSERT_TRUE(store_->create_run(row, pair_tasks(1)));
    append_passed(*store_, {.run_id = run_id});
    ASSERT_TRUE(store_->update_run({.run_id = run_id,
                                    .state = RunState::kEnded,
                                    .outcome = "passed",
                                    .ended_at = now_.load() + 60}));
    ASSERT_TRUE(store_->flush());
  }
  void put(NodeRow node) {
    ASSERT_TRUE(store_->put_node(std::move(node)));
    ASSERT_TRUE(store_->flush());
  }
  std::int64_t count(std::string_view sql) {
    auto connection = Connection::open(folder_.file("db"), Connection::Mode::kReadOnly, 1);
    EXPECT_TRUE(connection);
    const auto value = connection->integer(sql);
    EXPECT_TRUE(value) << value.error().message;
    return value && *value ? **value : -1;
  }

  TempFolder folder_;
  std::atomic<double> now_ = kTrue;
  std::unique_ptr<Store> store_ =
      open_store(folder_.file("db"), {.clock = [this] { return now_.load(); }});
};

TEST_F(ClockTest, RunsPointsAndEventsStayInTheOrderInWhichTheyCame) {
  for (int node : {1, 2}) put(node_row(node));
  run_of("before");
  now_ = kBehind;
  run_of("after");
  const auto runs = store_->list_runs(10);
  ASSERT_TRUE(runs);
  ASSERT_EQ(runs->size(), 2u);
  EXPECT_EQ(runs->at(0).run.run_id, "after") << "the newest first";
  EXPECT_LT(runs->at(0).run.created_at, runs->at(1).run.created_at) << "as the clock said";
  const auto newest = store_->results({});
  ASSERT_TRUE(newest);
  ASSERT_EQ(newest->size(), 1u);
  EXPECT_EQ(newest->at(0).run_id, "after") << "the newest ended run is the last one";
  const auto before = store_->export_scope("before");
  const auto rest = store_->results(
      {.run_id = "all",
       .range = PointRange{before->range.through, std::numeric_limits<std::int64_t>::max()}});
  ASSERT_TRUE(rest);
  ASSERT_EQ(rest->size(), 1u) << "keys grow";
  EXPECT_EQ(rest->at(0).run_id, "after");
  for (const char* kind : {"node_lost", "node_back"})
    ASSERT_TRUE(store_->add_event({.kind = kind, .node_id = "id-1"}));
  ASSERT_TRUE(store_->flush());
  EXPECT_EQ(store_->list_events(1)->at(0).kind, "node_back");
}

TEST_F(ClockTest, EpochsAndAttributesFollowEachOtherWithoutOverlap) {
  NodeRow node = node_row(1);
  put(node);
  now_ = kBehind;
  node.facts["linux_kernel"] = "6.5.0";
  node.endpoints[0].firmware = "28.41.1000";
  put(node);
  now_ = kBehind - 10;
  node.facts["linux_kernel"] = "6.8.0";
  put(node);
  EXPECT_EQ(count("SELECT count(*) FROM epoch"), 3);
  EXPECT_EQ(store_->list_nodes()->at(0).facts.at("linux_kernel"), "6.8.0");
  EXPECT_EQ(store_->list_nodes()->at(0).endpoints.at(0).firmware, "28.41.1000");
  for (const char* table : {"epoch", "endpoint_attribute"}) {
    EXPECT_EQ(count(fmt::format("SELECT count(*) FROM {} WHERE valid_to<valid_from", table)), 0);
    EXPECT_EQ(count(fmt::format("SELECT count(*) FROM {} WHERE valid_to IS NULL", table)), 1);
  }
  EXPECT_EQ(count("SELECT count(*) FROM epoch AS a JOIN epoch AS b ON a.id<b.id AND "
                  "a.valid_from>=b.valid_from"),
            0);
  EXPECT_THAT(store_->list_events(1)->at(0).text, HasSubstr("6.5.0 -> 6.8.0"));
}

TEST_F(ClockTest, ANodeThatWasReinstalledHasItsNameAtOnce) {
  put(node_row(1));
  now_ = kBehind;
  NodeRow again = node_row(1);
  again.node_id = "id-new";
  put(again);
  const auto nodes = store_->list_nodes();
  ASSERT_TRUE(nodes);
  ASSERT_EQ(nodes->size(), 1u);
  EXPECT_EQ(nodes->at(0).node_id, "id-new");
  EXPECT_EQ(nodes->at(0).endpoints.size(), 1u) << "they were there when it was seen";
  EXPECT_EQ(count("SELECT count(*) FROM endpoint WHERE rail=0"), 2);
}

TEST_F(ClockTest, RetentionTakesNothingWhileTheClockIsBehindAndTheOldOnceItIsRight) {
  for (int node : {1, 2}) put(node_row(node));
  run_of("right");
  now_ = kBehind;
  run_of("behind");
  run_of("behind-too");
  const auto taken = [&](double now) { return store_->prune({.largest_share = 0.5}, now); };
  auto pruned = taken(kBehind + 3600);
  ASSERT_TRUE(pruned) << pruned.error().message;
  EXPECT_EQ(pruned->points + pruned->distributions, 0) << "nothing is old yet";
  pruned = taken(kTrue + 3600);
  ASSERT_TRUE(pruned) << pruned.error().message;
  EXPECT_EQ(pruned->points + pruned->distributions, 0)
      << "an earlier run is of today, so these two are not 12 years old";
  pruned = taken(kTrue + 400 * 86'400.0);
  ASSERT_FALSE(pruned) << "all at once: a person has to say that the clock is right";
  EXPECT_THAT(pruned.error().message, HasSubstr("clock may be wrong"));
  pruned = store_->prune({}, kTrue + 400 * 86'400.0);
  ASSERT_TRUE(pruned) << pruned.error().message;
  EXPECT_EQ(pruned->distributions, 3);
  EXPECT_EQ(pruned->points, 0) << "five years";
  EXPECT_THAT(*store_->check(), IsEmpty());
}

TEST_F(ClockTest, RunsThatWereOpenEndAlthoughTheyBeganLaterThanNow) {
  for (int node : {1, 2}) put(node_row(node));
  ASSERT_TRUE(store_->create_run(run_row("open"), pair_tasks(1)));
  now_ = kBehind;
  const auto ended = store_->end_interrupted_runs();
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_THAT(*ended, ElementsAre("open"));
  EXPECT_EQ(store_->run_summary("open")->run.outcome, "crashed");
}

}  // namespace
}  // namespace railgauge::store

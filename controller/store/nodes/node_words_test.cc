#include "controller/store/nodes/node_words.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/queries/events.h"
#include "controller/store/testing/store_testing.h"

namespace railgauge::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class NodeWordsTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    for (int i = 1; i <= 3; ++i) {
      NodeRow row = node_row(i);
      row.labels = {{"rack", fmt::format("r{}", i)}, {"pod", "p1"}};
      ASSERT_TRUE(store_->put_node(row));
    }
  }
  Status pause(std::vector<std::string> nodes, double since, double until,
               const std::string& reason = "DIMM") {
    return store_->write(write_pauses, std::move(nodes),
                         PauseRow{.since = since, .until = until, .who = "ann", .reason = reason});
  }
  // "n1 100-200 ann DIMM", and " ended 150 bob" of one that has ended.
  static std::vector<std::string> texts_of(const Result<std::vector<PauseRow>>& rows) {
    EXPECT_TRUE(rows);
    std::vector<std::string> texts;
    for (const PauseRow& row : *rows)
      texts.push_back(
          fmt::format("{} {}-{} {} {}", row.node, row.since, row.until, row.who, row.reason) +
          (row.ended_at ? fmt::format(" ended {} {}", *row.ended_at, row.ended_by) : ""));
    return texts;
  }
  std::vector<std::string> events() {
    std::vector<std::string> texts;
    const auto found =
        store_->read(find_events, EventFilter{.kinds = {"maintenance"}, .after = 0, .limit = 100});
    EXPECT_TRUE(found);
    for (const StoredEvent& one : *found)
      texts.push_back(fmt::format("{} {}: {}", one.event.kind, one.node, one.event.text));
    return texts;
  }
};

TEST_F(NodeWordsTest, APauseHoldsUntilItsTimeAndEndsByItself) {
  ASSERT_TRUE(pause({"n1", "n2"}, 100, 200));
  reopen();
  EXPECT_THAT(texts_of(store_->read(read_open_pauses)),
              ElementsAre("n1 100-200 ann DIMM", "n2 100-200 ann DIMM"));
  ASSERT_TRUE(store_->write(write_pauses_over, 199.0));
  EXPECT_EQ(store_->read(read_open_pauses)->size(), 2U);
  ASSERT_TRUE(store_->write(write_pauses_over, 200.0));
  EXPECT_THAT(*store_->read(read_open_pauses), IsEmpty());
  EXPECT_THAT(texts_of(store_->read(read_pauses_since, 150.0)),
              ElementsAre("n1 100-200 ann DIMM ended 200 ", "n2 100-200 ann DIMM ended 200 "));
  EXPECT_THAT(*store_->read(read_pauses_since, 201.0), IsEmpty());
  EXPECT_THAT(
      events(),
      ElementsAre(
          "maintenance_paused n1: node n1 is paused until 1970-01-01T00:03:20.000Z by ann: DIMM",
          "maintenance_paused n2: node n2 is paused until 1970-01-01T00:03:20.000Z by ann: DIMM",
          "maintenance_over n1: node n1 is resumed: its pause is over",
          "maintenance_over n2: node n2 is resumed: its pause is over"));
}

TEST_F(NodeWordsTest, APersonResumesANodeAndAgainIsNoError) {
  ASSERT_TRUE(pause({"n1"}, 100, 200));
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(
        store_->write(write_pauses_end, std::vector<std::string>{"n1", "n3"}, "bob", 150.0 + i));
  EXPECT_THAT(texts_of(store_->read(read_pauses_since, 0.0)),
              ElementsAre("n1 100-200 ann DIMM ended 150 bob"));
  EXPECT_EQ(events().back(), "maintenance_resumed n1: node n1 is resumed by bob");
}

TEST_F(NodeWordsTest, APauseAnewReplacesTheOneThatHolds) {
  ASSERT_TRUE(pause({"n1"}, 100, 200));
  ASSERT_TRUE(pause({"n1"}, 150, 400, "mainboard"));
  EXPECT_THAT(texts_of(store_->read(read_pauses_since, 0.0)),
              ElementsAre("n1 100-200 ann DIMM ended 150 ann", "n1 150-400 ann mainboard"));
}

TEST_F(NodeWordsTest, APauseOfAnUnknownNodePausesNone) {
  const Status paused = pause({"n1", "n9"}, 100, 200);
  ASSERT_FALSE(paused);
  EXPECT_EQ(paused.error().code, Code::kNotFound);
  EXPECT_THAT(*store_->read(read_open_pauses), IsEmpty());
}

TEST_F(NodeWordsTest, APauseFollowsARenamedAndAReinstalledNode) {
  ASSERT_TRUE(pause({"n1", "n2"}, 100, 200));
  ASSERT_TRUE(store_->rename_node({.node_id = "id-1", .name = "n1"}, "m1"));
  NodeRow again = node_row(2);
  again.node_id = "another id";
  ASSERT_TRUE(store_->put_node(again));
  EXPECT_THAT(texts_of(store_->read(read_open_pauses)),
              ElementsAre("m1 100-200 ann DIMM", "n2 100-200 ann DIMM"));
  ASSERT_TRUE(store_->write(write_pauses_end, std::vector<std::string>{"m1", "n2"}, "bob", 150.0));
  EXPECT_THAT(*store_->read(read_open_pauses), IsEmpty());
}

TEST_F(NodeWordsTest, LabelsOfTheSiteWinOverTheAgents) {
  NodeWords site;
  site.labels = {{"n1", {{"rack", "r7"}, {"gpu", "h100"}}}, {"n8", {{"rack", "r8"}}}};
  site.groups = {{"gold", "n[1-2]"}};
  ASSERT_TRUE(store_->write(write_site_words, site));
  const auto words = store_->read(read_node_words);
  ASSERT_TRUE(words);
  EXPECT_THAT(words->labels.at("n1"),
              ElementsAre(Pair("gpu", "h100"), Pair("pod", "p1"), Pair("rack", "r7")));
  EXPECT_THAT(words->labels.at("n2"), ElementsAre(Pair("pod", "p1"), Pair("rack", "r2")));
  EXPECT_THAT(words->labels.at("n8"), ElementsAre(Pair("rack", "r8")));
  EXPECT_THAT(words->groups, ElementsAre(Pair("gold", "n[1-2]")));
  ASSERT_TRUE(store_->write(write_site_words, NodeWords{}));
  EXPECT_THAT(store_->read(read_node_words)->groups, IsEmpty());
  EXPECT_THAT(store_->read(read_node_words)->labels.at("n1"),
              ElementsAre(Pair("pod", "p1"), Pair("rack", "r1")));
}

TEST_F(NodeWordsTest, AnAgentsLabelsAreThoseOfItsLastHello) {
  NodeRow row = node_row(1);
  row.labels = {{"rack", "r9"}};
  ASSERT_TRUE(store_->put_node(row));
  ASSERT_TRUE(store_->flush());
  EXPECT_THAT(store_->read(read_node_words)->labels.at("n1"), ElementsAre(Pair("rack", "r9")));
}

}  // namespace
}  // namespace railgauge::store

#include "controller/control/node_lists.h"

#include <chrono>
#include <cstdint>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/testing/store_testing.h"

namespace railgauge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class NodeListsTest : public store::StoreTest {
 protected:
  // Nodes n1 to n4 of the store, of which n2 and n4 are attached.
  NodeListsTest() {
    for (const char* name : {"n2", "n4"}) {
      auto hello = std::make_shared<api::Hello>();
      hello->set_name(name);
      fleet::NodeState& state = live_[name];
      state.hello = hello;
      state.presence = fleet::NodePresence::kAttached;
      state.busy.emplace();
    }
    live_["n4"].busy->add_reasons()->set_source("slurm");
  }
  // Before the lists begin to read it.
  store::Store& filled_store() {
    for (int number = 1; number <= 4; ++number)
      EXPECT_TRUE(store_->put_node(store::node_row(number)));
    EXPECT_TRUE(store_->flush());
    return *store_;
  }
  std::vector<std::string> names(const api::NodeHeads& heads) {
    std::vector<std::string> all;
    for (const api::NodeHead& head : heads.nodes()) all.push_back(head.name());
    return all;
  }

  NodeLists::Live live() {
    return {.all = [this] { return live_; },
            .of =
                [this](const std::vector<std::string>& names) {
                  copied_ += names.size();
                  NodeStates some;
                  for (const std::string& name : names)
                    if (live_.contains(name)) some.emplace(name, live_.at(name));
                  return some;
                },
            .heads =
                [this] {
                  std::vector<LiveHead> heads;
                  for (const auto& [name, node] : live_)
                    heads.push_back({.name = name,
                                     .hello = node.hello,
                                     .is_attached = node.presence == fleet::NodePresence::kAttached,
                                     .is_busy = node.busy && node.busy->reasons_size() > 0});
                  return heads;
                }};
  }

  NodeStates live_{};
  std::size_t copied_ = 0;  // nodes of the fleet
  Pauses::Held held_{};
  NodeLists lists_{filled_store()};
};

TEST_F(NodeListsTest, APageHasItsNodesAndTheCountsOfAll) {
  api::NodeHeadsRequest request;
  request.set_limit(3);
  const auto first = lists_.heads(request, live(), held_);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_THAT(names(*first), ElementsAre("n1", "n2", "n3"));
  EXPECT_EQ(first->next_after(), "n3");
  EXPECT_EQ(first->total(), 4U);
  EXPECT_EQ(first->attached(), 2U);
  EXPECT_EQ(first->busy(), 1U);
  request.set_after("n3");
  const auto last = lists_.heads(request, live(), held_);
  EXPECT_THAT(names(*last), ElementsAre("n4"));
  EXPECT_FALSE(last->has_next_after());
}

TEST_F(NodeListsTest, APageIsOfAStateAndAText) {
  api::NodeHeadsRequest request;
  request.set_state("lost");
  EXPECT_THAT(names(*lists_.heads(request, live(), held_)), ElementsAre("n1", "n3"));
  request.set_text("3");
  const auto one = lists_.heads(request, live(), held_);
  EXPECT_THAT(names(*one), ElementsAre("n3"));
  EXPECT_EQ(one->matching(), 1U);
  EXPECT_EQ(one->total(), 4U);
  request.set_state("asleep");
  EXPECT_THAT(lists_.heads(request, live(), held_).error().message, HasSubstr("attached or lost"));
  request.clear_state();
  request.set_limit(NodeLists::kMostOfPage + 1);
  EXPECT_EQ(lists_.heads(request, live(), held_).error().code, Code::kInvalidArgument);
}

TEST_F(NodeListsTest, ANodeThatOnlyTheStoreKnowsHasItsFactsBesideOneThatIsThere) {
  api::ListNodesRequest request;
  request.set_node_set("n1,n2");
  request.set_with_facts(true);
  const auto list = lists_.list(request, live(), held_);
  ASSERT_TRUE(list) << list.error().message;
  ASSERT_EQ(list->nodes_size(), 2);
  EXPECT_EQ(list->nodes(0).state(), "lost");
  EXPECT_GT(list->nodes(0).stack_versions_size(), 0);
  EXPECT_EQ(list->nodes(1).state(), "attached");
  EXPECT_GT(list->nodes(1).stack_versions_size(), 0) << "of the store, too";
  request.set_with_facts(false);
  EXPECT_EQ(lists_.list(request, live(), held_)->nodes(0).stack_versions_size(), 0);
}

TEST_F(NodeListsTest, APageCopiesItsOwnNodesOfTheFleet) {
  api::NodeHeadsRequest request;
  request.set_limit(1);
  request.set_after("n1");
  EXPECT_THAT(names(*lists_.heads(request, live(), held_)), ElementsAre("n2"));
  api::ListNodesRequest one;
  one.set_node_set("n4");
  one.set_may_be_old(true);
  EXPECT_EQ(lists_.list(one, live(), held_)->nodes_size(), 1);
  EXPECT_EQ(copied_, 2U);
  one.set_node_set("n9");
  EXPECT_EQ(lists_.list(one, live(), held_).error().code, Code::kInvalidArgument);
}

TEST_F(NodeListsTest, ANodeOfTheFleetThatTheStoreHasNotYetIsInItsPlace) {
  for (const char* name : {"n0", "n3a", "n9"}) {
    live_[name] = live_.at("n2");
    auto hello = std::make_shared<api::Hello>();
    hello->set_name(name);
    live_[name].hello = hello;
  }
  const auto heads = lists_.heads({}, live(), held_);
  EXPECT_THAT(names(*heads), ElementsAre("n0", "n1", "n2", "n3", "n3a", "n4", "n9"));
  EXPECT_EQ(heads->total(), 7U);
  EXPECT_EQ(heads->attached(), 5U);
}

// A Hello names it before the store has the name, and a run keeps what the fleet had of the old
// one.
TEST_F(NodeListsTest, ANodeWithANewNameIsListedOnce) {
  const auto attach = [this](const char* name, const std::string& node_id) {
    auto hello = std::make_shared<api::Hello>();
    hello->set_name(name);
    hello->set_node_id(node_id);
    live_[name] = live_.at("n2");
    live_[name].hello = hello;
  };
  const std::string moved = store::node_row(3).node_id;
  attach("n3", moved);
  live_.at("n3").presence = fleet::NodePresence::kLost;
  EXPECT_THAT(names(*lists_.heads({}, live(), held_)), ElementsAre("n1", "n2", "n3", "n4"));
  attach("n3new", moved);
  attach("n1new", store::node_row(1).node_id);
  const auto heads = lists_.heads({}, live(), held_);
  EXPECT_THAT(names(*heads), ElementsAre("n1new", "n2", "n3new", "n4"));
  EXPECT_EQ(heads->total(), 4U);
  EXPECT_EQ(heads->attached(), 4U);
  const auto list = lists_.list({}, live(), held_);
  ASSERT_TRUE(list);
  std::vector<std::string> listed;
  for (const api::NodeInfo& node : list->nodes()) listed.push_back(node.name());
  EXPECT_THAT(listed, ElementsAre("n1new", "n2", "n3new", "n4"));
}

TEST_F(NodeListsTest, PresenceIsOfNowAndAListAfterAWriteHasIt) {
  EXPECT_EQ(lists_.heads({}, live(), held_)->total(), 4U);
  ASSERT_TRUE(store_->put_node(store::node_row(5)));
  ASSERT_TRUE(store_->flush());
  live_.at("n2").presence = fleet::NodePresence::kLost;
  EXPECT_EQ(lists_.heads({}, live(), held_)->attached(), 1U);
  EXPECT_EQ(lists_.list({}, live(), held_)->nodes_size(), 5);
  EXPECT_EQ(lists_.heads({}, live(), held_)->total(), 5U) << "a list has read anew";
}

TEST_F(NodeListsTest, APageFollowsTheStoreByItself) {
  EXPECT_EQ(lists_.heads({}, live(), held_)->total(), 4U);
  ASSERT_TRUE(store_->put_node(store::node_row(5)));
  ASSERT_TRUE(store_->flush());
  std::uint32_t total = 4;
  for (int tries = 0; total != 5 && tries < 1000; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    total = lists_.heads({}, live(), held_)->total();
  }
  EXPECT_EQ(total, 5U);
}

}  // namespace
}  // namespace railgauge

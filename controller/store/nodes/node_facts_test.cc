#include "controller/store/nodes/node_facts.h"

#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/testing/store_testing.h"

namespace railgauge::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class NodeFactsTest : public StoreTest {};

TEST_F(NodeFactsTest, AreThoseOfTheListByTheNameThatTheNodeHasNow) {
  NodeRow first = node_row(1);
  first.described = {{"cpu", "old"}};
  NodeRow again = first;  // reinstalled under its name
  again.node_id = "id-9";
  again.described = {{"cpu", "new"}, {"ram", "1"}};
  NodeRow other = node_row(2);
  other.described = {};
  for (const NodeRow& node : {first, again, other}) ASSERT_TRUE(store_->put_node(node));
  ASSERT_TRUE(store_->flush());
  const auto nodes = store_->list_nodes();
  ASSERT_TRUE(nodes);
  ASSERT_EQ(nodes->size(), 2U);
  for (const NodeRow& node : *nodes)
    EXPECT_EQ(store_->read(read_described, node.name).value(), node.described) << node.name;
  EXPECT_EQ(store_->read(read_described, std::string("n1")).value(), again.described);
  EXPECT_TRUE(store_->read(read_described, std::string("none"))->empty());
}

// Three nodes, of which the second was reinstalled under its name.
std::vector<NodeRow> sample_nodes() {
  std::vector<NodeRow> nodes;
  for (int number : {1, 2, 3}) {
    NodeRow& node = nodes.emplace_back(node_row(number));
    node.described = {{"leaf", fmt::format("L{}", number)}, {"pod", "p1"}, {"cpu", "x"}};
    node.facts = {{"gpu_driver", "580"}, {"leaf", "of the stack"}};
    node.labels = {{"rack", fmt::format("r{}", number)}};
  }
  NodeRow again = nodes[1];
  again.node_id = "id-9";
  again.described["leaf"] = "L9";
  again.described.erase("pod");
  nodes.push_back(again);
  return nodes;
}

TEST_F(NodeFactsTest, PlacedNodesAreThoseOfTheListWithTheFactsThatWereWanted) {
  for (const NodeRow& node : sample_nodes()) ASSERT_TRUE(store_->put_node(node));
  ASSERT_TRUE(store_->flush());
  const auto whole = store_->list_nodes();
  const PlaceWanted wanted{.names = {}, .facts = {"leaf", "pod", "none", "a\"b"}};
  const auto placed = store_->read(read_placed_nodes, wanted);
  ASSERT_TRUE(whole);
  ASSERT_TRUE(placed) << placed.error().message;
  ASSERT_EQ(placed->size(), whole->size());
  for (std::size_t i = 0; i < whole->size(); ++i) {
    NodeRow expected = whole->at(i);
    const NodeRow& node = placed->at(i);
    expected.described.erase("cpu");
    expected.facts.erase("gpu_driver");
    EXPECT_EQ(std::tie(node.node_id, node.name, node.version, node.address, node.described,
                       node.facts, node.labels, node.first_seen_at, node.last_seen_at),
              std::tie(expected.node_id, expected.name, expected.version, expected.address,
                       expected.described, expected.facts, expected.labels, expected.first_seen_at,
                       expected.last_seen_at));
    std::erase_if(expected.endpoints, [](const EndpointRow& one) { return one.kind != "nic"; });
    ASSERT_FALSE(expected.endpoints.empty());
    ASSERT_EQ(node.endpoints.size(), expected.endpoints.size());
    for (std::size_t k = 0; k < node.endpoints.size(); ++k) {
      const EndpointRow& one = node.endpoints[k];
      const EndpointRow& same = expected.endpoints[k];
      EXPECT_EQ(
          std::tie(one.kind, one.device, one.port, one.pci_address, one.netdev, one.guid),
          std::tie(same.kind, same.device, same.port, same.pci_address, same.netdev, same.guid));
    }
  }
}

TEST_F(NodeFactsTest, PlacedNodesAreOfTheNamesAlone) {
  for (const NodeRow& node : sample_nodes()) ASSERT_TRUE(store_->put_node(node));
  ASSERT_TRUE(store_->flush());
  const auto two = store_->read(read_placed_nodes,
                                PlaceWanted{.names = {"n3", "n2", "away"}, .facts = {"leaf"}});
  ASSERT_TRUE(two);
  ASSERT_EQ(two->size(), 2U);
  EXPECT_EQ(two->at(0).name, "n2");
  EXPECT_EQ(two->at(0).node_id, "id-9");
  EXPECT_EQ(two->at(0).described, (TextMap{{"leaf", "L9"}}));
  EXPECT_EQ(two->at(1).name, "n3");
  EXPECT_EQ(two->at(1).labels, (TextMap{{"rack", "r3"}}));
  EXPECT_THAT(store_->read(read_placed_nodes, PlaceWanted{.names = {"away"}, .facts = {}}).value(),
              IsEmpty());
}

TEST_F(NodeFactsTest, KnownNodesHaveTheIdThatWasSeenLast) {
  for (const NodeRow& node : sample_nodes()) ASSERT_TRUE(store_->put_node(node));
  ASSERT_TRUE(store_->flush());
  std::vector<std::string> ids;
  const auto nodes = store_->read(read_known_nodes);
  ASSERT_TRUE(nodes);
  for (const KnownNodeRow& node : *nodes) ids.push_back(node.name + "=" + node.node_id);
  EXPECT_THAT(ids, ElementsAre("n1=id-1", "n2=id-9", "n3=id-3"));
}

}  // namespace
}  // namespace railgauge::store

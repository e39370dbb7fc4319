#include "controller/store/nodes/node_facts.h"

#include <gtest/gtest.h>

#include "controller/store/testing/store_testing.h"

namespace railgauge::store {
namespace {

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

}  // namespace
}  // namespace railgauge::store

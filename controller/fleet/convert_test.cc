// From the reports of nodes to the input of a plan.
#include "controller/fleet/convert.h"

#include <gtest/gtest.h>

namespace railgauge {
namespace {

void add_gpu(api::Hello& hello, const char* name, const char* address, const char* state) {
  api::Gpu& gpu = *hello.add_gpus();
  gpu.set_name(name);
  gpu.set_pci_address(address);
  gpu.set_state(state);
}

// Waiting for a GPU that the container cannot reach would waive every collective of the node; one
// that the driver lost is the node's, and must show.
TEST(PlanNodeOf, LeavesOutGpusThatTheContainerWasNotGivenAndKeepsLostOnes) {
  api::Hello hello;
  hello.set_name("n1");
  add_gpu(hello, "gpu0", "0000:17:00.0", "active");
  add_gpu(hello, "", "0000:3b:00.0", "hidden");
  add_gpu(hello, "", "0000:9f:00.0", "no_driver");
  fleet::NodeState node;
  node.hello = std::make_shared<const api::Hello>(hello);
  const plan::PlanNode planned = plan_node_of(node);
  ASSERT_EQ(planned.endpoints.size(), 2u);
  EXPECT_EQ(planned.endpoints[0].name, "gpu0");
  EXPECT_TRUE(planned.endpoints[0].active);
  EXPECT_EQ(planned.endpoints[1].pci_address, "0000:9f:00.0");
  EXPECT_FALSE(planned.endpoints[1].active);
  EXPECT_EQ(planned.hidden_gpus, std::vector<std::string>{"0000:3b:00.0"});
}

}  // namespace
}  // namespace railgauge

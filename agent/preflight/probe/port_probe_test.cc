// The port probe with a runner whose answers are scripted. Synthetic.
#include "agent/preflight/probe/port_probe.h"

#include <gmock/gmock.h>

namespace railgauge::agent {
namespace {
using testing::HasSubstr;

// A port of InfiniBand for each of these devices, up unless its name says otherwise.
Inventory node_with(const std::vector<std::string>& devices) {
  Inventory node;
  for (const std::string& name : devices) {
    RdmaDevice& device = node.rdma.emplace_back();
    device.name = name;
    RdmaPort& port = device.ports.emplace_back();
    port.port = 1;
    port.link_layer = Fact<std::string>::known(name == "roce" ? "ethernet" : "infiniband", "x");
    port.state = Fact<std::string>::known(name == "down" ? "down" : "active", "x");
  }
  return node;
}
const Fact<std::uint32_t>& mtu(const Inventory& node, std::size_t device) {
  return node.rdma[device].ports[0].active_mtu_bytes;
}

TEST(PortProbes, EachPortThatIsUpTellsItsMtuOrWhyNot) {
  Inventory node = node_with({"mlx5_0", "small", "refused", "down", "roce"});
  ask_ports(REAL_RUNNER, node);
  EXPECT_TRUE(mtu(node, 0).is(4096)) << mtu(node, 0).reason;
  EXPECT_TRUE(mtu(node, 1).is(2048));
  EXPECT_TRUE(node.rdma[1].ports[0].max_mtu_bytes.is(4096));
  EXPECT_THAT(mtu(node, 0).source, HasSubstr("synthetic"));
  EXPECT_THAT(mtu(node, 2).reason, HasSubstr("Permission denied"));
  for (const std::size_t unasked : {3U, 4U}) EXPECT_EQ(mtu(node, unasked).reason, "");
}

TEST(PortProbes, ARunnerThatDiesOrIsNotThereLeavesReasons) {
  Inventory node = node_with({"mlx5_0", "dies", "mlx5_9"});
  ask_ports(REAL_RUNNER, node);
  EXPECT_TRUE(mtu(node, 0).is(4096));
  for (const std::size_t device : {1U, 2U}) EXPECT_THAT(mtu(node, device).reason, HasSubstr("6"));
  node = node_with({"mlx5_0"});
  ask_ports("/nowhere/railgauge-runner", node);
  EXPECT_THAT(mtu(node, 0).reason, HasSubstr("/nowhere/railgauge-runner"));
}

TEST(PortProbes, BesideAGpuEachNicTellsWhetherItRegistersDmaBufs) {
  Inventory node = node_with({"mlx5_0", "old", "refused", "roce", "down", "roce"});
  node.rdma[3].pci_address = "0000:18:00.0";  // the other is a device of software
  ask_ports(REAL_RUNNER, node);
  EXPECT_EQ(node.rdma[3].registers_dmabuf.state, FactState::kUnknown) << "no GPU: not asked";
  node.gpus.emplace_back();
  ask_ports(REAL_RUNNER, node);
  EXPECT_TRUE(node.rdma[0].registers_dmabuf.is(true));
  EXPECT_TRUE(node.rdma[1].registers_dmabuf.is(false));
  EXPECT_TRUE(node.rdma[3].registers_dmabuf.is(true));
  for (const std::size_t untold : {4U, 5U})
    EXPECT_EQ(node.rdma[untold].registers_dmabuf.state, FactState::kUnknown);
  EXPECT_EQ(node.rdma[3].ports[0].active_mtu_bytes.state, FactState::kUnknown);
}

TEST(PortProbes, WhatIsNoAnswerIsLeftOut) {
  Inventory node = node_with({"mlx5_0"});
  take_port_lines("chatter\n{}\n\xff\n{\"endpoint\":\"mlx5_7:1\",\"active_mtu_bytes\":256}\n",
                  node);
  EXPECT_FALSE(mtu(node, 0).is_known());
}

}  // namespace
}  // namespace railgauge::agent

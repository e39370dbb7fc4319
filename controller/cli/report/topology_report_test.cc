#include "controller/cli/report/topology_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::cli {
namespace {
using railgauge::api::Nic;
using railgauge::api::NodeInfo;
using railgauge::api::NodeList;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

void add_nic(NodeInfo& node, const std::string& name, const std::string& address,
             std::uint32_t port = 1) {
  Nic& nic = *node.add_nics();
  nic.set_device(name);
  nic.set_port(port);
  nic.set_pci_address(address);
}

TEST(TopologyReport, RailsArePositionsByPciAddressWhateverDevicesAreCalled) {
  NodeList list;
  NodeInfo& node = *list.add_nodes();
  add_nic(node, "mlx5_0", "0000:9a:00.0");
  add_nic(node, "mlx5_1", "0000:18:00.0");
  add_nic(node, "rxe0", "");
  const TopologyReport report = topology_of(list);
  ASSERT_THAT(report.devices(), SizeIs(2)) << "a software device lies nowhere";
  EXPECT_EQ(report.devices(0).name(), "mlx5_1");
  EXPECT_EQ(report.devices(0).rail(), 0u);
  EXPECT_EQ(report.devices(1).rail(), 1u);
}

TEST(TopologyReport, ADeviceOfTwoPortsStandsOnceAndTakesTwoRails) {
  NodeList list;
  NodeInfo& node = *list.add_nodes();
  add_nic(node, "mlx5_0", "0000:18:00.0", 1);
  add_nic(node, "mlx5_0", "0000:18:00.0", 2);
  add_nic(node, "mlx5_1", "0000:40:00.0", 1);
  const TopologyReport report = topology_of(list);
  ASSERT_THAT(report.devices(), SizeIs(2));
  EXPECT_EQ(report.devices(1).rail(), 2u);
}

TEST(TopologyReport, ANodeWithoutTheFactsStillTellsGpusToNics) {
  NodeList list;
  NodeInfo& node = *list.add_nodes();
  node.set_name("n1");
  auto& gpu = *node.add_gpus();
  gpu.set_name("gpu0");
  (*gpu.mutable_distances())["mlx5_0"] = "PXB";
  (*gpu.mutable_distances())["mlx5_1"] = "SYS";
  const TopologyReport report = topology_of(list);
  ASSERT_THAT(report.devices(), SizeIs(1));
  EXPECT_EQ(report.devices(0).distances().at("mlx5_1"), "SYS");
  EXPECT_THAT(report.devices(0).nearest_nics(), ElementsAre("mlx5_0"));
}

TEST(TopologyReport, UnknownIsNobodysNearest) {
  NodeList list;
  auto& gpu = *list.add_nodes()->add_gpus();
  (*gpu.mutable_distances())["mlx5_0"] = "unknown";
  EXPECT_THAT(topology_of(list).devices(0).nearest_nics(), IsEmpty());
}

}  // namespace
}  // namespace railgauge::cli

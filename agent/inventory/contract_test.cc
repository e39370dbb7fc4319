#include "agent/inventory/contract.h"
#include "agent/inventory/read_inventory.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/testing/node_tree.h"
#include "controller/api/hello_bounds.h"

namespace railgauge::agent {
namespace {
using testing::Contains;
using testing::Key;
using testing::Not;

api::Hello hello_of(const Inventory& inventory) {
  api::Hello hello;
  hello.set_version("1.2.3");
  fill_hello(inventory, hello);
  return hello;
}

TEST(Contract, AHelloTellsPortsGpusAndTheStack) {
  const NodeTree tree("hgx_h100_8");
  const api::Hello hello = hello_of(read_inventory({.root = tree.root(), .source_seconds = 60}));
  ASSERT_EQ(hello.nics_size(), 8);
  const api::Nic& nic = hello.nics(7);
  EXPECT_EQ(nic.device(), "mlx5_7");
  EXPECT_EQ(nic.port(), 1u);
  EXPECT_EQ(nic.state(), "active");
  EXPECT_EQ(nic.driver(), "mlx5_core");
  EXPECT_EQ(nic.firmware(), "28.39.1002");
  EXPECT_EQ(nic.rate_bits_per_second(), 400e9);
  EXPECT_EQ(nic.numa_node_plus_one(), 2u);
  ASSERT_EQ(hello.gpus_size(), 8);
  EXPECT_EQ(hello.gpus(0).uuid(), "GPU-00000000-0000-4000-8000-000000000000");
  EXPECT_EQ(hello.gpus(0).driver(), "nvidia");
  EXPECT_EQ(hello.gpus(7).numa_node_plus_one(), 2u);
  EXPECT_EQ(hello.gpus(0).distances().at("mlx5_0"), "PIX");
  EXPECT_EQ(hello.stack_versions().at("gpu_driver"), "550.54.15");
  EXPECT_EQ(hello.stack_settings().at("nic_max_read_request_bytes"), "4096");
  EXPECT_EQ(hello.facts().at("cpu"), "Intel(R) Xeon(R) Platinum 8480C");
  EXPECT_FALSE(hello.stack_incomplete());
}

TEST(Contract, ADeviceWithoutANumaNodeIsOnTheOnlyOne) {
  Inventory inventory;
  inventory.pci["0000:00:06.0"].numa_node = Fact<int>::known(-1, "sysfs");
  inventory.gpus.push_back({.name = "gpu0", .pci_address = "0000:00:06.0"});
  inventory.numa.push_back({.number = 0});
  EXPECT_EQ(hello_of(inventory).gpus(0).numa_node_plus_one(), 1U);
  inventory.numa.push_back({.number = 1});
  EXPECT_EQ(hello_of(inventory).gpus(0).numa_node_plus_one(), 0U) << "one of two, not known which";
}

TEST(Contract, ANicThatDoesNotAnswerStaysInAnUnknownState) {
  Inventory inventory;
  inventory.rdma.push_back({.name = "mlx5_0", .pci_address = "0000:18:00.0"});
  inventory.rdma[0].ports.emplace_back().port = 1;
  inventory.late_sources.push_back("rdma mlx5_0");
  const api::Hello hello = hello_of(inventory);
  ASSERT_EQ(hello.nics_size(), 1);
  EXPECT_EQ(hello.nics(0).state(), "unknown");
  EXPECT_TRUE(hello.stack_incomplete());
}

TEST(Contract, AListThatWasNotReadWholeNamesNothingThatIsGone) {
  Inventory inventory;
  ModuleFacts& module = inventory.modules["mlx5_core"];
  module.is_loaded = true;
  inventory.pci_told = inventory.rdma_told = module.parameters_told =
      Fact<bool>::known(true, "sysfs");
  EXPECT_FALSE(hello_of(inventory).stack_incomplete());
  for (Fact<bool>* told : {&inventory.pci_told, &inventory.rdma_told, &module.parameters_told}) {
    *told = Fact<bool>::unknown("sysfs", "nobody may read it");
    EXPECT_TRUE(hello_of(inventory).stack_incomplete());
    *told = Fact<bool>::absent("sysfs");
    EXPECT_FALSE(hello_of(inventory).stack_incomplete());
  }
}

TEST(Contract, ARealNodeFitsAsItIs) {
  const NodeTree tree("hgx_h100_8");
  api::Hello hello = hello_of(read_inventory({.root = tree.root(), .source_seconds = 60}));
  const std::string before = hello.DebugString();
  EXPECT_EQ(fit_hello(hello), "");
  EXPECT_EQ(hello.DebugString(), before);
}

TEST(Contract, OfTwoDevicesInOneSlotTheFirstIsTold) {
  Inventory inventory;
  for (const char* name : {"rxe0", "siw0"}) {
    RdmaDevice& device = inventory.rdma.emplace_back();
    device.name = name;
    device.netdevs = {"eth0"};
    device.ports.emplace_back().port = 1;
  }
  RdmaDevice& both = inventory.rdma.emplace_back();
  both.name = "mlx4_0";
  both.pci_address = "0000:18:00.0";
  for (const std::uint32_t port : {1, 2}) both.ports.emplace_back().port = port;
  api::Hello hello = hello_of(inventory);
  ASSERT_EQ(hello.nics_size(), 4);
  EXPECT_EQ(fit_hello(hello), "1 NIC ports whose slot or name another has");
  ASSERT_EQ(hello.nics_size(), 3);
  EXPECT_EQ(hello.nics(0).device(), "rxe0");
  EXPECT_EQ(hello.nics(1).device(), "mlx4_0");
  EXPECT_EQ(hello.nics(2).port(), 2U);
}

TEST(Contract, TextsAreCutAndWithoutControlCharacters) {
  api::Hello hello;
  (*hello.mutable_facts())["a\x1b[31m"] = std::string("x\0y\tz\n\xC2\x9B", 8);
  hello.mutable_busy()->add_reasons()->set_text("a\nb");
  EXPECT_EQ(fit_hello(hello), "");
  EXPECT_EQ(hello.facts().at("a?[31m"), "x?y\tz??");
  EXPECT_EQ(hello.busy().reasons(0).text(), "a?b");
}

TEST(Contract, KernelsAreDeclaredWithinTheBounds) {
  KernelList list;
  for (int i = 0; i < api::kMaxKernels + 3; ++i)
    list.add_kernels()->set_name(fmt::format("verbs.k{}", i));
  list.mutable_kernels(0)->add_parameters()->set_summary(
      "\x1b" + std::string(api::kMaxTextBytes - 2, 'x') + "\xC3\xA9");
  api::Hello hello;
  EXPECT_EQ(declare_kernels(list, hello), "3 kernels");
  ASSERT_EQ(hello.kernels_size(), api::kMaxKernels);
  EXPECT_EQ(fit_hello(hello), "") << "bytes are no text";
  KernelInfo first;
  ASSERT_TRUE(first.ParseFromString(hello.kernels(0)));
  EXPECT_EQ(first.parameters(0).summary(), "?" + std::string(api::kMaxTextBytes - 2, 'x'));
  KernelInfo last;
  ASSERT_TRUE(last.ParseFromString(hello.kernels(api::kMaxKernels - 1)));
  EXPECT_EQ(last.name(), "verbs.k511");
  list.Clear();
  EXPECT_EQ(declare_kernels(list, hello), "");
  EXPECT_EQ(hello.kernels_size(), 0);
}

TEST(Contract, FactsBeyondTheBoundAreLeftOutAndTheStackComesFirst) {
  api::Hello hello;
  const std::string text(1'000, 'x');
  for (int i = 0; i < 40; ++i) {
    (*hello.mutable_stack_versions())[fmt::format("v{:02}", i)] = text;
    (*hello.mutable_facts())[fmt::format("f{:02}", i)] = text;
  }
  EXPECT_EQ(fit_hello(hello), "15 facts");
  EXPECT_EQ(hello.stack_versions_size(), 40);
  EXPECT_EQ(hello.facts_size(), 25);
  EXPECT_TRUE(hello.facts().contains("f24"));
  EXPECT_FALSE(hello.stack_incomplete());
  for (int i = 0; i < 90; ++i) (*hello.mutable_stack_settings())[fmt::format("s{:02}", i)] = text;
  EXPECT_EQ(fit_hello(hello), "65 parts of the stack, 25 facts");
  EXPECT_TRUE(hello.stack_incomplete()) << "what is not named is unknown";
}

TEST(Contract, WhatNvmlToldIsKeptForTheSameGpuAlone) {
  Inventory before;
  before.gpus.push_back({.name = "gpu0", .pci_address = "0000:1b:00.0"});
  before.gpus[0].uuid = Fact<std::string>::known("GPU-1", "test");
  before.gpus[0].nvml.ecc_enabled = Fact<bool>::known(true, "test");
  Inventory now = before;
  now.gpus[0].nvml = {};
  EXPECT_TRUE(keep_nvml(before, now));
  EXPECT_TRUE(now.gpus[0].nvml.ecc_enabled.is(true));
  now.gpus[0].nvml = {};
  now.gpus[0].uuid.value = "GPU-2";
  EXPECT_FALSE(keep_nvml(before, now));
  EXPECT_FALSE(now.gpus[0].nvml.ecc_enabled.is_known());
}

}  // namespace
}  // namespace railgauge::agent

// The helper's lines and what becomes of them; synthetic.
#include "agent/preflight/helper.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/node_facts/facts.h"
#include "agent/testing/temp_dir.h"

namespace railgauge::agent {
namespace {

using testing::HasSubstr;
using testing::Not;

void add_device(const std::string& root, const std::string& address, const char* kind,
                std::size_t config_bytes) {
  const std::filesystem::path folder(root + "/sys/bus/pci/devices/" + address);
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "class") << kind << '\n';
  std::ofstream(folder / "vendor") << "0x8086\n";
  std::ofstream(folder / "config") << std::string(config_bytes, '\x10');
}

TEST(NodeFacts, TellsBridgesGpusAndNicsAloneAndOfEachItsBytes) {
  const TempDir root;
  add_device(root.path(), "0000:17:00.0", "0x060400", 5000);
  add_device(root.path(), "0000:18:00.0", "0x030200", 64);
  add_device(root.path(), "0000:19:00.0", "0x010802", 64);  // a disk
  const std::string text = privileged_facts(root.path());
  EXPECT_THAT(text, Not(HasSubstr("0000:19:00.0")));
  const ConfigSpaces spaces = parse_node_facts(text);
  ASSERT_EQ(spaces.size(), 2U);
  EXPECT_EQ(spaces.at("0000:17:00.0").size(), 4096U);
  EXPECT_EQ(spaces.at("0000:18:00.0"), std::vector<std::uint8_t>(64, 0x10));
}

TEST(NodeFacts, LinesThatAreNoneAreLeftOut) {
  EXPECT_TRUE(parse_node_facts("pci_config 0000:17:00.0 1\npci_config a zz\nother\n\n").empty());
}

TEST(NodeFacts, AHelperWithoutItsCapabilityChangesNothing) {
  Inventory node;
  PciDevice& device = node.pci["0000:17:00.0"];
  device.config.acs = Fact<PciAcs>::unknown("config", kNeedsSysAdmin);
  add_config_spaces({{"0000:17:00.0", std::vector<std::uint8_t>(64)}}, node);
  EXPECT_EQ(device.config.acs.reason, kNeedsSysAdmin);
}

TEST(NodeFacts, WhatWasKnownStays) {
  Inventory node;
  PciDevice& device = node.pci["0000:17:00.0"];
  device.config.acs = Fact<PciAcs>::known({.control = 7}, "config");
  device.config.pcie = Fact<PcieControl>::known({}, "config");
  add_config_spaces({{"0000:17:00.0", std::vector<std::uint8_t>(4096)}}, node);
  EXPECT_EQ(device.config.acs.value.control, 7);
}

}  // namespace
}  // namespace railgauge::agent

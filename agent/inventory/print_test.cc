#include "agent/inventory/print.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::agent {
namespace {

using testing::HasSubstr;
using testing::Not;

// Firmware and libraries of a node write these texts.
TEST(PrintInventory, TextOfANodeNeitherSteersATerminalNorForgesALine) {
  Inventory inventory;
  inventory.fabric_manager =
      Fact<std::string>::known("580\x1b[2J\nstack forged", "nv-fabricmanager");
  inventory.nvml_reason = "no\nstack forged\u202e";
  inventory.late_sources = {"dmi\nstack forged"};
  const std::string text = print_inventory(inventory, "1.0");
  EXPECT_THAT(text, HasSubstr("\\x1b[2J\\nstack forged"));
  EXPECT_THAT(text, HasSubstr("nvml no\\nstack forged\\u202e\n"));
  EXPECT_THAT(text, Not(HasSubstr("\nstack")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace railgauge::agent

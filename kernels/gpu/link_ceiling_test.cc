#include "kernels/gpu/link_ceiling.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace railgauge::gpu {
namespace {

class LinkCeiling : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void link(const std::string& speed, const std::string& width) {
    std::ofstream(folder_ / "current_link_speed") << speed << '\n';
    std::ofstream(folder_ / "current_link_width") << width << '\n';
  }
  [[nodiscard]] std::optional<double> read() const {
    return link_bytes_per_second("0000:17:00.0", root_.string());
  }

  std::filesystem::path root_ =
      std::filesystem::path(::testing::TempDir()) / "railgauge_link_ceiling";
  std::filesystem::path folder_ = root_ / "bus/pci/devices/0000:17:00.0";
};

TEST_F(LinkCeiling, IsTransfersTimesLanesLessTheLineCode) {
  link("2.5 GT/s PCIe", "8");
  ASSERT_TRUE(read());
  EXPECT_DOUBLE_EQ(*read(), 2e9);
  link("5.0 GT/s PCIe", "16");
  EXPECT_DOUBLE_EQ(*read(), 8e9);
  link("8.0 GT/s PCIe", "16");
  EXPECT_NEAR(*read(), 15.754e9, 1e6);
  link("32.0 GT/s PCIe", "16");
  EXPECT_NEAR(*read(), 63.015e9, 1e6);
  link("64.0 GT/s PCIe", "16");
  EXPECT_DOUBLE_EQ(*read(), 128e9);
}

TEST_F(LinkCeiling, IsAbsentWhereTheMachineDoesNotSay) {
  EXPECT_FALSE(read());
  link("Unknown", "16");
  EXPECT_FALSE(read());
  link("16.0 GT/s PCIe", "0");
  EXPECT_FALSE(read());
  link("16.0 GT/s PCIe", "255");
  EXPECT_FALSE(read());
}

}  // namespace
}  // namespace railgauge::gpu

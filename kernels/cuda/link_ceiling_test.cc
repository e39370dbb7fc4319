#include "kernels/cuda/link_ceiling.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace railgauge::cuda {
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

TEST_F(LinkCeiling, IsTransfersTimesLanes) {
  link("32.0 GT/s PCIe", "16");
  ASSERT_TRUE(read());
  EXPECT_DOUBLE_EQ(*read(), 64e9);
  link("2.5 GT/s PCIe", "8");
  EXPECT_DOUBLE_EQ(*read(), 2.5e9);
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
}  // namespace railgauge::cuda

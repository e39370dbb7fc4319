#include "kernels/gpu/ceiling/link_ceiling.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace railgauge::gpu {
namespace {

namespace fs = std::filesystem;

// A GPU below a port, as sysfs shows them: the GPU's folder is in the port's.
class LinkCeiling : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(gpu_);
    fs::create_directories(root_ / "bus/pci/devices");
    fs::create_directory_symlink(gpu_, root_ / "bus/pci/devices/0000:17:00.0");
  }
  void TearDown() override { fs::remove_all(root_); }
  static void write(const fs::path& folder, const std::string& which, const std::string& speed,
                    const std::string& width) {
    std::ofstream(folder / (which + "_link_speed")) << speed << '\n';
    std::ofstream(folder / (which + "_link_width")) << width << '\n';
  }
  void link(const std::string& speed, const std::string& width) const {
    write(gpu_, "current", speed, width);
  }
  [[nodiscard]] std::optional<double> read() const {
    return link_bytes_per_second(kGpu, root_.string());
  }
  [[nodiscard]] std::optional<double> ceiling(std::optional<double> before) const {
    return link_ceiling(kGpu, before, root_.string());
  }
  [[nodiscard]] std::string words() const { return link_in_words(kGpu, root_.string()); }

  static constexpr const char* kGpu = "0000:17:00.0";
  static constexpr double kGen4Bytes = 31.508e9;
  static constexpr double kGen5Bytes = 63.015e9;
  fs::path root_ =
      fs::path(::testing::TempDir()) / ("railgauge_link_ceiling_" + std::to_string(getpid()));
  fs::path port_ = root_ / "devices/pci0000:16/0000:16:01.0";
  fs::path gpu_ = port_ / kGpu;
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
  EXPECT_FALSE(ceiling(5e9));
  EXPECT_EQ(words(), "");
  link("Unknown", "16");
  EXPECT_FALSE(read());
  link("16.0 GT/s PCIe", "0");
  EXPECT_FALSE(read());
  link("16.0 GT/s PCIe", "255");
  EXPECT_FALSE(read());
}

TEST_F(LinkCeiling, OfALinkThatIsTrainedDownIsItsBest) {
  link("2.5 GT/s PCIe", "16");
  write(gpu_, "max", "32.0 GT/s PCIe", "16");
  ASSERT_TRUE(ceiling(4e9));
  EXPECT_NEAR(*ceiling(4e9), kGen5Bytes, 1e6);
  EXPECT_EQ(words(), "2.5 GT/s x16 now, at most 32 GT/s x16");
  link("32.0 GT/s PCIe", "16");
  EXPECT_EQ(words(), "32 GT/s x16");
}

TEST_F(LinkCeiling, IsNoHigherThanThePortsBest) {
  link("16.0 GT/s PCIe", "16");
  write(gpu_, "max", "32.0 GT/s PCIe", "16");
  write(port_, "current", "16.0 GT/s PCIe", "16");
  write(port_, "max", "16.0 GT/s PCIe", "16");
  EXPECT_NEAR(*ceiling(4e9), kGen4Bytes, 1e6);
  EXPECT_EQ(words(), "16 GT/s x16");
}

TEST_F(LinkCeiling, DoesNotBelieveAnEmulatedPort) {
  link("2.5 GT/s PCIe", "16");
  write(gpu_, "max", "32.0 GT/s PCIe", "16");
  write(port_, "current", "2.5 GT/s PCIe", "1");  // both ends of one link cannot differ
  write(port_, "max", "2.5 GT/s PCIe", "1");
  EXPECT_NEAR(*ceiling(4e9), kGen5Bytes, 1e6);
  write(port_, "current", "2.5 GT/s PCIe", "16");
  write(port_, "max", "16.0 GT/s PCIe", "32");
  std::ofstream(port_ / "vendor") << "0x1b36\n";
  EXPECT_NEAR(*ceiling(4e9), kGen5Bytes, 1e6);
}

TEST_F(LinkCeiling, IsNeverBelowWhatWasSeen) {
  link("2.5 GT/s PCIe", "16");
  EXPECT_DOUBLE_EQ(*ceiling(8e9), 8e9) << "it was faster before";
  EXPECT_DOUBLE_EQ(*ceiling(2e9), 4e9);
  write(gpu_, "max", "2.5 GT/s PCIe", "1");
  EXPECT_DOUBLE_EQ(*ceiling(8e9), 8e9);
  EXPECT_FALSE(ceiling(std::nullopt)) << "what was not told before is not checked";
}

}  // namespace
}  // namespace railgauge::gpu

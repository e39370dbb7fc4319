// GPUs read from sysfs and the driver's folder, without its library.
#include "agent/inventory/contract.h"
#include "agent/inventory/read_inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/testing/temp_dir.h"

namespace railgauge::agent {
namespace {
using testing::IsEmpty;
using testing::SizeIs;

// A tree as a machine with GPUs shows it.
class Gpus : public testing::Test {
 protected:
  TempDir root_;

  void add_device(const std::string& address, const std::string& kind, const std::string& driver) {
    const std::string folder = "sys/bus/pci/devices/" + address;
    root_.write(folder + "/class", kind + "\n");
    root_.write(folder + "/vendor", "0x10de\n");
    root_.write(folder + "/numa_node", "1\n");
    if (!driver.empty())
      std::filesystem::create_directory_symlink("../../../bus/pci/drivers/" + driver,
                                                root_ / (folder + "/driver"));
  }
  void show(const std::string& address, const std::string& excluded = "No") {
    root_.write("proc/driver/nvidia/gpus/" + address + "/information",
                "Model: \t\t NVIDIA H200\nIRQ:   \t\t 120\nGPU UUID: \t GPU-0011\n"
                "Video BIOS: \t 96.00.bc.00.01\nGPU Excluded:\t " +
                    excluded + "\n");
  }
  [[nodiscard]] std::vector<api::Gpu> list() const {
    api::Hello hello;
    fill_hello(read_inventory({.root = root_.path(), .source_seconds = 60}), hello);
    return {hello.gpus().begin(), hello.gpus().end()};
  }
};

TEST_F(Gpus, AreNumberedByPciAddressWithWhatTheDriverTells) {
  add_device("0000:9f:00.0", "0x030200", "nvidia");
  add_device("0000:17:00.0", "0x030200", "nvidia");
  add_device("0000:05:00.0", "0x068000", "nvidia");  // a switch
  show("0000:9f:00.0");
  show("0000:17:00.0");
  const auto gpus = list();
  ASSERT_THAT(gpus, SizeIs(2));
  EXPECT_EQ(gpus[0].name(), "gpu0");
  EXPECT_EQ(gpus[0].pci_address(), "0000:17:00.0");
  EXPECT_EQ(gpus[1].name(), "gpu1");
  EXPECT_EQ(gpus[0].model(), "NVIDIA H200");
  EXPECT_EQ(gpus[0].uuid(), "GPU-0011");
  EXPECT_EQ(gpus[0].vbios(), "96.00.bc.00.01");
  EXPECT_EQ(gpus[0].driver(), "nvidia");
  EXPECT_EQ(gpus[0].state(), "active");
  EXPECT_EQ(gpus[0].numa_node_plus_one(), 2u);
}

TEST_F(Gpus, AnotherVendorsDisplayIsNone) {
  add_device("0000:02:00.0", "0x030000", "ast");
  root_.write("sys/bus/pci/devices/0000:02:00.0/vendor", "0x1a03\n");
  EXPECT_THAT(list(), IsEmpty());
}

TEST_F(Gpus, ThoseThatAContainerWasNotGivenComeLastSoThatNumbersAreCudas) {
  add_device("0000:17:00.0", "0x030200", "nvidia");
  add_device("0000:9f:00.0", "0x030200", "nvidia");
  show("0000:9f:00.0");
  const auto gpus = list();
  ASSERT_THAT(gpus, SizeIs(2));
  EXPECT_EQ(gpus[0].pci_address(), "0000:9f:00.0");
  EXPECT_EQ(gpus[0].state(), "active");
  EXPECT_EQ(gpus[1].state(), "hidden");
}

TEST_F(Gpus, SayWhyTheyAreNotActive) {
  add_device("0000:01:00.0", "0x030200", "");
  add_device("0000:02:00.0", "0x030200", "vfio-pci");
  add_device("0000:03:00.0", "0x030200", "nvidia");
  show("0000:03:00.0", "Yes");
  const auto gpus = list();
  ASSERT_THAT(gpus, SizeIs(3));
  EXPECT_EQ(gpus[0].state(), "no_driver");
  EXPECT_EQ(gpus[1].state(), "other_driver");
  EXPECT_EQ(gpus[2].state(), "excluded");
}

TEST_F(Gpus, TheDriverAloneIsEnoughWhereProcDoesNotTell) {
  add_device("0000:17:00.0", "0x030200", "nvidia");
  const auto gpus = list();
  ASSERT_THAT(gpus, SizeIs(1));
  EXPECT_EQ(gpus[0].state(), "active");
  EXPECT_EQ(gpus[0].model(), "");
}

TEST_F(Gpus, TheDriversFolderIsEnoughWhereSysfsDoesNotTell) {
  show("0000:17:00.0");
  const auto gpus = list();
  ASSERT_THAT(gpus, SizeIs(1));
  EXPECT_EQ(gpus[0].state(), "active");
  EXPECT_EQ(gpus[0].numa_node_plus_one(), 0u);
}

TEST_F(Gpus, ALargerDomainComesLater) {
  add_device("10000:01:00.0", "0x030200", "nvidia");
  add_device("0002:01:00.0", "0x030200", "nvidia");
  const auto gpus = list();
  ASSERT_THAT(gpus, SizeIs(2));
  EXPECT_EQ(gpus[0].pci_address(), "0002:01:00.0");
}

TEST_F(Gpus, AMachineWithoutHasNone) { EXPECT_THAT(list(), IsEmpty()); }

}  // namespace
}  // namespace railgauge::agent

#include "controller/store/rows/stack_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::store {
namespace {
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(StackParts, AnUpgradeThatResetsASettingTellsBothValues) {
  EXPECT_THAT(
      texts_of(stack_changes(
          {.versions = {{"ofed", "5.8"}}, .settings = {{"nic_max_read_request_bytes", "4096"}}},
          {.versions = {{"ofed", "24.04"}}, .settings = {{"nic_max_read_request_bytes", "512"}}})),
      ElementsAre("nic_max_read_request_bytes 4096 -> 512", "ofed 5.8 -> 24.04"));
}

TEST(StackParts, WhatComesAndGoesIsNoneOnTheOtherSide) {
  EXPECT_THAT(
      texts_of(stack_changes({.versions = {{"nccl", "2.21"}}}, {.versions = {{"ucx", "1.17"}}})),
      ElementsAre("nccl 2.21 -> none", "ucx none -> 1.17"));
}

// mlx5 gone after a kernel without its module: its settings did not change, nobody has to undo
// them.
TEST(StackParts, ADeviceThatIsGoneIsOneChangeAndNotEachOfItsSettings) {
  const StackParts with{.versions = {{"linux_kernel", "6.1"}, {"nic_firmware.MT4129", "28.39"}},
                        .settings = {{"acs_on_gpu_nic_paths", "off"},
                                     {"gpu_bar1_bytes", "137438953472"},
                                     {"nic.mlx5_0:1/default_roce_tos", "106"},
                                     {"nic_mtu_bytes", "4092"},
                                     {"nic_relaxed_ordering", "unknown"},
                                     {"qos.trust", "dscp"}}};
  const StackParts without{.versions = {{"linux_kernel", "6.5"}},
                           .settings = {{"gpu_bar1_bytes", "137438953472"}}};
  EXPECT_THAT(texts_of(stack_changes(with, without)),
              ElementsAre("linux_kernel 6.1 -> 6.5", "rdma_device present -> gone"));
  EXPECT_THAT(texts_of(stack_changes(without, with)),
              ElementsAre("linux_kernel 6.5 -> 6.1", "rdma_device none -> present"));
  EXPECT_TRUE(is_of_presence("rdma_device present -> gone"));
  EXPECT_FALSE(is_of_presence("nic_mtu_bytes 4092 -> 1500"));
  EXPECT_TRUE(is_of_device(kRdmaDevice, "nic_mtu_bytes 4092 -> 1500"));
  EXPECT_FALSE(is_of_device(kGpuDevice, "nic_mtu_bytes 4092 -> 1500"));
}

TEST(StackParts, ASettingThatGoesWhileItsDeviceStaysIsASettingsChange) {
  EXPECT_THAT(
      texts_of(stack_changes({.settings = {{"nic_mtu_bytes", "4092"}, {"qos.trust", "dscp"}}},
                             {.settings = {{"nic_mtu_bytes", "1500"}}})),
      ElementsAre("nic_mtu_bytes 4092 -> 1500", "qos.trust dscp -> none"));
}

// After an upgrade whose module is not built for the running kernel.
TEST(StackParts, AModuleThatIsNotLoadedIsOneChangeAndNotEachOfItsParameters) {
  const StackParts loaded{.settings = {{"module.nvidia.NVreg_EnableMSI", "1"},
                                       {"module.nvidia.NVreg_UsePageAttributeTable", "-1"},
                                       {"module.nvidia_uvm.uvm_debug_prints", "0"}}};
  const StackParts left{.settings = {{"module.nvidia_uvm.uvm_debug_prints", "1"}}};
  EXPECT_THAT(
      texts_of(stack_changes(loaded, left)),
      ElementsAre("module.nvidia loaded -> none", "module.nvidia_uvm.uvm_debug_prints 0 -> 1"));
  EXPECT_THAT(texts_of(stack_changes({}, left)), ElementsAre("module.nvidia_uvm none -> loaded"));
}

TEST(StackParts, WhatCouldNotBeReadHasNotChanged) {
  const StackParts known{.settings = {{"acs", "off"}}};
  const StackParts unknown{.settings = {{"acs", "unknown"}}};
  EXPECT_THAT(texts_of(stack_changes(known, unknown)), IsEmpty());
  EXPECT_THAT(texts_of(stack_changes(unknown, known)), IsEmpty());
}

TEST(StackParts, WhatCouldNotBeReadKeepsItsValue) {
  const StackParts before{.versions = {{"nccl", "2.21"}}, .settings = {{"acs", "off"}}};
  const StackParts now{.versions = {}, .settings = {{"acs", "unknown"}}};
  const StackParts filled = fill_unknown(before, now, false);
  EXPECT_EQ(filled.settings.at("acs"), "off");
  EXPECT_THAT(filled.versions, IsEmpty()) << "it was looked for and is not there";
}

TEST(StackParts, AnIncompleteReadingTakesNothingAway) {
  const StackParts before{.versions = {{"nccl", "2.21"}}};
  EXPECT_EQ(fill_unknown(before, {}, true).versions.at("nccl"), "2.21");
}

TEST(StackParts, AnEventStaysALine) {
  StackParts now;
  for (int i = 0; i < 150; ++i) now.settings["nccl_conf.p" + std::to_string(i)] = "1";
  const auto changes = texts_of(stack_changes({}, now));
  EXPECT_THAT(changes, SizeIs(150)) << "a suspect that is cut would never be found";
  const auto told = told_changes(changes);
  EXPECT_THAT(told, SizeIs(kMostChangesTold + 1));
  EXPECT_EQ(told.back(), "50 more");
  EXPECT_THAT(told_changes({"a 1 -> 2"}), SizeIs(1));
}

}  // namespace
}  // namespace railgauge::store

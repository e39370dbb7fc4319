// Changes that came together are shared out between nodes.
#include "controller/upgrades/undo.h"

#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge {
namespace {

using testing::ElementsAre;

analysis::Cause bundle_of(std::vector<std::string> changes, std::vector<std::string> separators) {
  return {.changes = std::move(changes),
          .exposed = 4,
          .exposed_affected = 4,
          .unexposed = 8,
          .unexposed_affected = 1,
          .p = 0.01,
          .explains = true,
          .separators = std::move(separators)};
}

// "change @ node: needs".
std::vector<std::string> told_undos(const api::UpgradeCause& cause) {
  std::vector<std::string> all;
  for (const api::Undo& undo : cause.undos())
    all.push_back(undo.change() + " @ " + undo.node() + ": " + undo.needs());
  return all;
}

TEST(Undo, AKernelNeedsARebootADriverADrainAndALibraryNewJobs) {
  EXPECT_EQ(undo_needs("linux_kernel"), "reboot");
  EXPECT_EQ(undo_needs("nic_firmware.ConnectX-7"), "reboot");
  EXPECT_EQ(undo_needs("gpu_driver_flavour"), "drain");
  EXPECT_EQ(undo_needs("module.nvidia.NVreg_EnableMSI"), "drain");
  EXPECT_EQ(undo_needs("nccl_conf.NCCL_ALGO"), "jobs");
  EXPECT_EQ(undo_needs("something else"), "unknown");
}

// One half on each node: the next run accuses one of them.
TEST(Undo, ChangesThatCameTogetherAreSharedOutAndOneNodeIsRebooted) {
  const api::UpgradeCause cause = cause_message(
      bundle_of({"gpu_driver 1 -> 2", "linux_kernel 6.1 -> 6.5", "nccl 2.1 -> 2.2", "bios a -> b"},
                {"n1", "n2"}));
  EXPECT_THAT(told_undos(cause),
              ElementsAre("linux_kernel 6.1 -> 6.5 @ n1: reboot", "bios a -> b @ n1: reboot",
                          "gpu_driver 1 -> 2 @ n2: drain", "nccl 2.1 -> 2.2 @ n2: jobs"));
  EXPECT_THAT(cause.changes(), ElementsAre("gpu_driver 1 -> 2", "linux_kernel 6.1 -> 6.5",
                                           "nccl 2.1 -> 2.2", "bios a -> b"));
  EXPECT_EQ(cause.exposed_worse(), 4U);
  EXPECT_EQ(cause.unexposed_worse(), 1U);
}

TEST(Undo, OneNodeAloneHasHalfOfThem) {
  EXPECT_THAT(told_undos(cause_message(bundle_of({"a 1 -> 2", "nccl 1 -> 2"}, {"n1"}))),
              ElementsAre("a 1 -> 2 @ n1: unknown"));
}

TEST(Undo, NothingIsSharedOutWhereNothingCanBeUndoneOrOneChangeIsAlone) {
  EXPECT_THAT(told_undos(cause_message(bundle_of({"nccl 1 -> 2"}, {"n1", "n2"}))), ElementsAre());
  EXPECT_THAT(told_undos(cause_message(bundle_of({"nccl 1 -> 2", "ucx 1 -> 2"}, {}))),
              ElementsAre());
  EXPECT_THAT(
      told_undos(cause_message(bundle_of(
          {"rdma_device present -> gone", "nccl 1 -> 2", "hardware replaced"}, {"n1", "n2"}))),
      ElementsAre());
}

}  // namespace
}  // namespace railgauge

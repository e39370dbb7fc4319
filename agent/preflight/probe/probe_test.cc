// The registration probe with a runner whose answers are scripted. Synthetic.
#include "agent/preflight/probe/probe.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/preflight/checks/gpudirect.h"
#include "agent/preflight/preflight.h"
#include "agent/testing/temp_dir.h"

namespace railgauge::agent {
namespace {

using testing::HasSubstr;
using State = ProbeAnswer::State;

// One GPU with these NICs, all below one bridge.
Inventory node_with(const std::vector<std::string>& nics) {
  Inventory node;
  const auto place = [&node](const std::string& address) {
    PciDevice& device = node.pci[address];
    device.address = address;
    device.host_bridge = "pci0000:15";
    device.bridges = {"0000:15:01.0"};
  };
  GpuFacts gpu;
  gpu.name = "gpu0";
  gpu.pci_address = "0000:18:00.0";
  node.gpus = {gpu};
  place(gpu.pci_address);
  for (std::size_t i = 0; i < nics.size(); ++i) {
    RdmaDevice nic;
    nic.name = nics[i];
    nic.pci_address = "0000:19:00." + std::to_string(i);
    node.rdma.push_back(nic);
    place(nic.pci_address);
  }
  return node;
}

TEST(Probe, EachPairHasItsAnswer) {
  const auto answers = probe_registrations(node_with({"mlx5_0", "busy"}), REAL_RUNNER);
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].nic, "mlx5_0");
  EXPECT_EQ(answers[0].state, State::kRegistered);
  EXPECT_EQ(answers[0].path, "dma-buf");
  EXPECT_TRUE(answers[0].is_synthetic);
  EXPECT_EQ(answers[1].state, State::kBusy);
}

TEST(Probe, ARunnerThatDiesMakesThePairsThatItOwesErrorsAndKeepsTheOthers) {
  const auto answers = probe_registrations(node_with({"mlx5_0", "dies", "mlx5_9"}), REAL_RUNNER);
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[0].state, State::kRegistered);
  for (std::size_t i : {1U, 2U}) {
    EXPECT_EQ(answers[i].state, State::kError);
    EXPECT_THAT(answers[i].text, HasSubstr("signal 6"));
  }
}

TEST(Probe, ARunnerThatHangsLosesNothingThatItHadAnswered) {
  const TempDir folder;
  folder.write("runner",
               "#!/bin/sh\n"
               "echo '{\"gpu\":\"gpu0\",\"nic\":\"mlx5_0\",\"state\":\"registered\"}'\n"
               "exec sleep 60\n");
  std::filesystem::permissions(folder / "runner", std::filesystem::perms::owner_all);
  const auto answers = probe_registrations(node_with({"mlx5_0", "mlx5_1"}), folder / "runner", 2);
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].state, State::kRegistered);
  EXPECT_EQ(answers[1].state, State::kError);
  EXPECT_THAT(answers[1].text, HasSubstr("no end after 2 s"));
}

TEST(Probe, WithTheReadingBeforeItItIsGivenLessThanTenSeconds) {
  EXPECT_EQ(left_for_probe(0.1), kProbeSeconds);
  EXPECT_LT(1.9 + left_for_probe(1.9), 10);
  EXPECT_EQ(left_for_probe(60), 1) << "a machine that was asleep still gets its answer";
}

TEST(Probe, WithoutARunnerEachPairSaysSo) {
  const auto answers = probe_registrations(node_with({"mlx5_0"}), "/nowhere/railgauge-runner");
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].state, State::kError);
  EXPECT_THAT(answers[0].text, HasSubstr("/nowhere/railgauge-runner"));
}

TEST(Probe, WhatALibraryPrintsBetweenIsNoAnswer) {
  const auto answers = parse_probe_lines(
      "NCCL version "
      "2.21\n{\"gpu\":\"gpu0\",\"nic\":\"mlx5_0\",\"state\":\"refused\",\"text\":\"no\"}"
      "\n{\"gpu\":\"\"}\n\xff\n",
      5);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].state, State::kRefused);
  EXPECT_EQ(answers[0].at_unix_seconds, 5);
}

// Later preflights without --probe report its results with their age, but no longer as a proof.
TEST(LastAnswer, ThePreflightAfterAProbeTellsItsAnswerAndAge) {
  Inventory node = node_with({"mlx5_0"});
  const std::vector<ProbeAnswer> last{{.gpu = "gpu0",
                                       .nic = "mlx5_0",
                                       .state = State::kRegistered,
                                       .path = "dma-buf",
                                       .text = "",
                                       .at_unix_seconds = 1000}};
  const CheckInput input{.node = node, .earlier = last, .now_unix_seconds = 1300};
  const CheckResults results = judge_registration(input);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].state, CheckState::kUnknown);
  EXPECT_EQ(results[0].observed, "not tried now; 5 min ago: registered by dma-buf");
  const auto pairs = gpudirect_pairs(input);
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs[0].answer(), "unknown");
  EXPECT_THAT(pairs[0].because(), HasSubstr("; 5 min ago: registered by dma-buf"));
}

TEST(LastAnswer, ItsAgeIsToldInTheUnitThatFits) {
  Inventory node = node_with({"mlx5_0"});
  const std::vector<ProbeAnswer> last{{.gpu = "gpu0",
                                       .nic = "mlx5_0",
                                       .state = State::kRefused,
                                       .path = "",
                                       .text = "no",
                                       .at_unix_seconds = 1000,
                                       .is_synthetic = true}};
  const auto told_after = [&](double seconds) {
    return judge_registration(
               {.node = node, .earlier = last, .now_unix_seconds = 1000 + seconds})[0]
        .observed;
  };
  EXPECT_EQ(told_after(-3), "not tried now; 0 s ago: no (synthetic)");  // a clock was set back
  EXPECT_EQ(told_after(119), "not tried now; 119 s ago: no (synthetic)");
  EXPECT_EQ(told_after(120), "not tried now; 2 min ago: no (synthetic)");
  EXPECT_EQ(told_after(7199), "not tried now; 120 min ago: no (synthetic)");
  EXPECT_EQ(told_after(7200), "not tried now; 2 h ago: no (synthetic)");
  EXPECT_EQ(told_after(172800), "not tried now; 2 days ago: no (synthetic)");
}

TEST(LastAnswer, ABusyGpuTellsWhoIsBusyAndWhatWasAnsweredWhen) {
  Inventory node = node_with({"mlx5_0"});
  const std::vector<ProbeAnswer> now{{.gpu = "gpu0",
                                      .nic = "mlx5_0",
                                      .state = State::kBusy,
                                      .path = "",
                                      .text = "process 7 uses it",
                                      .at_unix_seconds = 8200}};
  const std::vector<ProbeAnswer> last{{.gpu = "gpu0",
                                       .nic = "mlx5_0",
                                       .state = State::kRegistered,
                                       .path = "dma-buf",
                                       .text = "",
                                       .at_unix_seconds = 1000}};
  const CheckResults results =
      judge_registration({.node = node, .probes = now, .earlier = last, .now_unix_seconds = 8200});
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].state, CheckState::kUnknown);
  EXPECT_EQ(results[0].observed, "busy: process 7 uses it; 2 h ago: registered by dma-buf");
}

}  // namespace
}  // namespace railgauge::agent

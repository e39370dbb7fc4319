// The probe by a runner whose answers are scripted. Synthetic.
#include "agent/preflight/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/preflight/gpudirect.h"
#include "agent/preflight/preflight.h"

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

// What --probe found is told afterwards without it, with its age, and proves nothing any more.
TEST(ProbeMemory, ThePreflightAfterAProbeTellsItsAnswerAndAge) {
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

TEST(ProbeMemory, ABusyGpusLastAnswerIsRemembered) {
  ProbeMemory memory;
  const ProbeAnswer registered{.gpu = "gpu0",
                               .nic = "mlx5_0",
                               .state = State::kRegistered,
                               .path = "dma-buf",
                               .text = "",
                               .at_unix_seconds = 1};
  ProbeAnswer busy = registered;
  busy.state = State::kBusy;
  EXPECT_TRUE(memory.exchange({busy}).empty());
  EXPECT_TRUE(memory.exchange({registered}).empty());
  const auto earlier = memory.exchange({busy});
  ASSERT_EQ(earlier.size(), 1U);
  EXPECT_EQ(earlier[0].at_unix_seconds, 1);
}

}  // namespace
}  // namespace railgauge::agent

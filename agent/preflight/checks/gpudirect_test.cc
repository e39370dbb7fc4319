#include "agent/preflight/checks/gpudirect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/preflight/testing/sample_node.h"
#include "controller/api/preflight.h"

namespace railgauge::agent {
namespace {

using testing::HasSubstr;

std::string line_of_pair(const Inventory& node, std::vector<ProbeAnswer> probes = {}) {
  const auto pairs = gpudirect_pairs({.node = node, .probes = probes});
  return pairs.empty() ? "" : api::gpudirect_text(pairs[0]);
}

TEST(GpuDirect, OnlyARegistrationSaysYes) {
  EXPECT_EQ(line_of_pair(sample_node(), {sample_probe()}), "GPUDirect: yes, by dma-buf");
  EXPECT_EQ(
      line_of_pair(sample_node()),
      "GPUDirect: not proven, because dma-buf is in place, but no registration was tried now, "
      "do: railgauge preflight --probe");
}

TEST(GpuDirect, ARefusedRegistrationIsNoWhateverFilesSay) {
  ProbeAnswer refused = sample_probe();
  refused.state = ProbeAnswer::State::kRefused;
  refused.text = "ibv_reg_mr: Bad address";
  EXPECT_THAT(line_of_pair(sample_node(), {refused}),
              HasSubstr("no, because ibv_reg_mr: Bad address, do: "));
}

TEST(GpuDirect, WithoutEitherPathItSaysWhichModuleToLoad) {
  Inventory node = sample_node();
  node.gpu_driver_flavour.value = "proprietary";
  node.modules["nvidia_peermem"].is_loaded = false;
  EXPECT_EQ(line_of_pair(node),
            "GPUDirect: no, because no peer-memory module is loaded, and dma-buf is not in place, "
            "do: modprobe nvidia-peermem; echo nvidia-peermem > "
            "/etc/modules-load.d/nvidia-peermem.conf");
}

TEST(GpuDirect, ABusyGpuIsNotProven) {
  ProbeAnswer busy = sample_probe();
  busy.state = ProbeAnswer::State::kBusy;
  busy.text = "pid 7";
  EXPECT_THAT(line_of_pair(sample_node(), {busy}), HasSubstr("not proven, because pid 7"));
}

TEST(GpuDirect, AConsumerGpuCannot) {
  Inventory node = sample_node();
  node.gpus[0].model.value = "NVIDIA GeForce RTX 4090";
  EXPECT_THAT(line_of_pair(node), HasSubstr("no, because NVIDIA GeForce RTX 4090"));
}

TEST(GpuDirect, AnIntegratedGpuCannotByDesign) {
  Inventory node = sample_node();
  node.gpus[0].model.value = "NVIDIA GB10";
  EXPECT_THAT(line_of_pair(node), HasSubstr("shares the host's memory"));
}

TEST(GpuDirect, ANodeWithoutRdmaIsToldInAPlainSentence) {
  Inventory node = sample_node();
  node.rdma.clear();
  EXPECT_EQ(line_of_pair(node),
            "GPUDirect: no, because no NIC here has RDMA: GPUDirect RDMA cannot be, and TCP over "
            "these NICs is measured");
}

TEST(GpuDirect, AnotherGpusFaultIsNotThisOnes) {
  Inventory node = sample_node();
  GpuFacts other = node.gpus[0];
  other.name = "gpu1";
  other.model.value = "NVIDIA GeForce RTX 4090";
  node.gpus.push_back(other);
  EXPECT_THAT(line_of_pair(node), HasSubstr("not proven"));
}

}  // namespace
}  // namespace railgauge::agent

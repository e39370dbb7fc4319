// dma-buf: GPU memory handed to the NIC by a file descriptor, with no module between both vendors.
#include "agent/preflight/checks/dmabuf.h"

#include <algorithm>

#include "agent/preflight/rules/pairs.h"
#include "agent/preflight/rules/remedies.h"
#include "agent/preflight/rules/results.h"
#include "agent/preflight/rules/version.h"

namespace railgauge::agent {
namespace {

// Providers whose dma-buf registration came with Linux 5.12.
bool is_mlx5(const RdmaDevice& nic) {
  return nic.driver.starts_with("mlx5") || nic.name.starts_with("mlx5");
}

bool proven(const CheckInput& input, const std::string& gpu, const std::string& nic) {
  return std::ranges::any_of(input.probes, [&](const ProbeAnswer& answer) {
    return answer.state == ProbeAnswer::State::kRegistered && answer.path == "dma-buf" &&
           (gpu.empty() || answer.gpu == gpu) && (nic.empty() || answer.nic == nic);
  });
}

const ResultOf& lack_of(const Inventory& node) {
  return peer_memory_loaded(node) ? warned : failed;
}

CheckResult judge_nic(const CheckInput& input, const RdmaDevice& nic) {
  const Inventory& node = input.node;
  if (proven(input, "", nic.name))
    return passed(nic.name, "a GPU's dma-buf was registered", "probe");
  if (nic.registers_dmabuf.is(true))
    return passed(nic.name, "of a dma-buf that is none it refuses the descriptor, not the call",
                  nic.registers_dmabuf);
  if (!node.kernel_release.is_known() && !nic.registers_dmabuf.is_known())
    return not_known(nic.name, "the Linux kernel's release", node.kernel_release);
  const std::string obstacle = dmabuf_nic_obstacle(node, nic);
  const std::string& source =
      nic.registers_dmabuf.is_known() ? nic.registers_dmabuf.source : node.kernel_release.source;
  if (!obstacle.empty())
    return lack_of(node)(nic.name, obstacle, source,
                         {fmt::format("# Linux {} or later and rdma-core {} or later, or stay with "
                                      "nvidia-peermem:",
                                      kDmabufKernel, kDmabufRdmaCore),
                          "modprobe nvidia-peermem"});
  if (!is_mlx5(nic))
    return unknown(nic.name,
                   fmt::format("whether driver {} registers dma-bufs is documented nowhere",
                               nic.driver.empty() ? "of this NIC" : nic.driver),
                   source, {"railgauge preflight --probe"});
  if (!node.rdma_core.is_known())
    return not_known(nic.name, "rdma-core's version", node.rdma_core,
                     {"railgauge preflight --probe"});
  return passed(nic.name,
                fmt::format("Linux {} with {}, rdma-core {}", node.kernel_release.value, nic.driver,
                            node.rdma_core.value),
                source);
}

}  // namespace

bool peer_memory_loaded(const Inventory& node) {
  return node.is_loaded("nvidia_peermem") || node.is_loaded("nv_peer_mem");
}

std::string dmabuf_gpu_obstacle(const Inventory& node) {
  const std::string driver = node.gpu_driver.value_or("");
  if (node.gpu_driver_flavour.is("proprietary"))
    return fmt::format("GPU driver {} runs its proprietary kernel modules, which export no dma-buf",
                       driver);
  if (!driver.empty() && !at_least(driver, kDmabufDriver))
    return fmt::format("GPU driver {} is older than {}", driver, kDmabufDriver);
  return "";
}

std::string dmabuf_nic_obstacle(const Inventory& node, const RdmaDevice& nic) {
  if (is_software(nic)) return "a software device registers no dma-buf";
  // The device's own report has priority over releases, which do not show what was ported back.
  if (nic.registers_dmabuf.is(true)) return "";
  if (nic.registers_dmabuf.is(false)) return "its driver or provider registers no dma-buf";
  const std::string release = node.kernel_release.value_or("");
  if (!release.empty() && !at_least(release, kDmabufKernel))
    return fmt::format("Linux {} is older than {}", release, kDmabufKernel);
  const std::string rdma_core = node.rdma_core.value_or("");
  if (!version_of(rdma_core).empty() && !at_least(rdma_core, kDmabufRdmaCore))
    return fmt::format("rdma-core {} is older than {}", rdma_core, kDmabufRdmaCore);
  return "";
}

bool dmabuf_in_place(const Inventory& node) {
  if (!node.gpu_driver_flavour.is("open") || !node.gpu_driver.is_known() ||
      !node.kernel_release.is_known() || !node.rdma_core.is_known() ||
      !dmabuf_gpu_obstacle(node).empty())
    return false;
  return std::ranges::any_of(fabric_nics(node), [&](const RdmaDevice* nic) {
    return is_mlx5(*nic) && dmabuf_nic_obstacle(node, *nic).empty();
  });
}

bool dmabuf_ruled_out(const Inventory& node) {
  return !dmabuf_gpu_obstacle(node).empty() ||
         std::ranges::none_of(fabric_nics(node), [&](const RdmaDevice* nic) {
           return dmabuf_nic_obstacle(node, *nic).empty();
         });
}

CheckResults judge_dmabuf_gpu(const CheckInput& input) {
  const Inventory& node = input.node;
  if (node.gpus.empty()) return no_gpu(node);
  if (std::ranges::all_of(node.gpus, is_unified))
    return waived(
        fmt::format("{} shares the host's memory and exports no dma-buf, by design; "
                    "allocate host memory there",
                    node.gpus.front().model.value_or("the GPU")));
  if (proven(input, "", "")) return {passed("", "a GPU's dma-buf was registered", "probe")};
  if (!node.gpu_driver_flavour.is_known())
    return {not_known("", "whether the GPU driver's kernel modules are the open ones",
                      node.gpu_driver_flavour)};
  if (!node.gpu_driver.is_known())
    return {not_known("", "the GPU driver's version", node.gpu_driver)};
  const std::string obstacle = dmabuf_gpu_obstacle(node);
  const std::string& source = node.gpu_driver_flavour.source;
  if (obstacle.empty())
    return {passed("",
                   fmt::format("GPU driver {} with the open kernel modules", node.gpu_driver.value),
                   source)};
  std::vector<std::string> remedy = open_driver_commands(node);
  remedy.insert(remedy.begin(),
                "# the open kernel modules need Turing or later; older GPUs stay with "
                "nvidia-peermem");
  return {lack_of(node)("", obstacle, source, std::move(remedy))};
}

CheckResults judge_dmabuf_nic(const CheckInput& input) {
  if (input.node.gpus.empty()) return no_gpu(input.node);
  CheckResults results;
  for (const RdmaDevice* nic : fabric_nics(input.node)) results.push_back(judge_nic(input, *nic));
  return results.empty() ? no_rdma(input.node) : results;
}

}  // namespace railgauge::agent

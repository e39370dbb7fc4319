// THE list of checks.
#include <algorithm>
#include <array>

#include "agent/preflight/rules/check.h"

namespace railgauge::agent {

// Functions of checks that only this table names, in the order of the rows.
Judge judge_peermem_mode, judge_dmabuf_gpu, judge_dmabuf_nic, judge_bar1_size, judge_pcie_link,
    judge_pcie_limited, judge_pcie_errors, judge_pcie_read_request, judge_relaxed_ordering,
    judge_gpu_nic_distance, judge_numa_locality, judge_port_state, judge_mtu, judge_gid,
    judge_lossless, judge_congestion_control, judge_port_errors, judge_nic_firmware, judge_versions,
    judge_gpu_ecc, judge_xid, judge_gpu_mode, judge_gpu_clocks, judge_nvlink, judge_locked_memory,
    judge_cgroup, judge_hugepages, judge_cpu_power, judge_bar_copy_driver;

namespace {

constexpr std::string_view kConfigSpace = "CAP_SYS_ADMIN, for PCI configuration space";
constexpr std::string_view kKernelLog =
    "CAP_SYSLOG, for the kernel's log where dmesg_restrict is set";
constexpr std::string_view kNvml = "NVML, for facts that only the driver's library reports";

constexpr std::array kChecks{
    Check{"peer_memory_client", "peer-memory module",
          "without nvidia-peermem, or dma-buf, a NIC cannot reach GPU memory, and every transfer "
          "is copied through the host",
          "", judge_peer_memory_client},
    Check{"peer_memory_conflict", "nvidia-peermem and nv_peer_mem",
          "two peer-memory clients fight for the same registrations, which then fail or hang", "",
          judge_peer_memory_conflict},
    Check{"gpudirect_registration", "GPU memory registers with the NIC",
          "only a registration proves GPUDirect: a loaded module or a set flag does not",
          "an idle GPU, and a runner", judge_registration},
    Check{"peermem_build", "nvidia-peermem fits the RDMA stack",
          "a module built for another ib_core registers nowhere, and GPUDirect is gone without an "
          "error",
          kKernelLog, judge_peermem_build},
    Check{"peermem_mode", "nvidia-peermem's mode",
          "in the wrong mode buffers stay pinned, or a lost one is never reported", "",
          judge_peermem_mode},
    Check{"dmabuf_gpu", "dma-buf, the GPU's side",
          "dma-buf is the path that needs no module between two vendors' drivers", "",
          judge_dmabuf_gpu},
    Check{"dmabuf_nic", "dma-buf, the NIC's side",
          "kernel, driver and rdma-core must all know dma-buf registration", "", judge_dmabuf_nic},
    Check{"acs", "ACS on the GPU-NIC path",
          "a redirecting port sends GPU-NIC traffic through the root complex: a half to a tenth of "
          "the bandwidth",
          kConfigSpace, judge_acs},
    Check{"iommu", "IOMMU mode",
          "translated transfers between devices are slow, and fail on some platforms", "",
          judge_iommu},
    Check{"bar1_size", "BAR1 covers the GPU's memory", "what is registered must fit in BAR1", kNvml,
          judge_bar1_size},
    Check{"pcie_link", "PCIe speed and width",
          "a link that trained low halves every figure behind it", "", judge_pcie_link},
    Check{"pcie_limited", "the kernel's word on PCIe bandwidth",
          "the NIC's driver says itself when its slot is slower than its port", kKernelLog,
          judge_pcie_limited},
    Check{"pcie_errors", "PCIe error counters",
          "corrected errors cost replays, and announce the ones that are not corrected", "",
          judge_pcie_errors},
    Check{"pcie_read_request", "MaxReadReq and MaxPayload",
          "small read requests bound how fast a NIC fetches what it sends", kConfigSpace,
          judge_pcie_read_request},
    Check{"relaxed_ordering", "relaxed ordering",
          "strictly ordered writes wait for each other, most of all on AMD and into GPU memory",
          kConfigSpace, judge_relaxed_ordering},
    Check{"gpu_nic_distance", "distance of GPU and NIC",
          "beyond their own switch GPU and NIC share the root complex or the sockets' link", "",
          judge_gpu_nic_distance},
    Check{"numa_locality", "NUMA locality",
          "a worker on the far socket pays the sockets' link with each word", "",
          judge_numa_locality},
    Check{"port_state", "port state and rate",
          "a port that is down or trained low is what a slow node most often is", "",
          judge_port_state},
    Check{"mtu", "MTU", "small packets cost bandwidth, and unequal ones connections", "",
          judge_mtu},
    Check{"gid", "GID and RoCE version",
          "two ends that choose GIDs of different kinds do not connect", "", judge_gid},
    Check{"lossless", "trust and flow control",
          "RoCE without its lossless class loses packets under load and falls to a fraction",
          "the NIC's own tools, where no file shows it", judge_lossless},
    Check{"congestion_control", "ECN",
          "without notification and reaction one busy port stalls its neighbours", "",
          judge_congestion_control},
    Check{"port_errors", "port error counters",
          "errors on the link are retransmitted, which figures show and averages hide", "",
          judge_port_errors},
    Check{"nic_firmware", "NIC firmware",
          "boards of one kind with different firmware differ in speed and faults", "",
          judge_nic_firmware},
    Check{"versions", "versions", "a regression follows a version more often than anything else",
          "", judge_versions},
    Check{"gpu_ecc", "ECC and row remaps",
          "a GPU with memory errors or a pending remap fails under load", kNvml, judge_gpu_ecc},
    Check{"xid", "Xid and SXid",
          "the driver's fatal errors stay in force until the GPU is reset or replaced", kKernelLog,
          judge_xid},
    Check{"gpu_mode", "persistence, MIG, compute mode, processes",
          "a GPU in another mode, or with somebody on it, measures something else", kNvml,
          judge_gpu_mode},
    Check{"gpu_clocks", "clocks and throttling",
          "heat and power hold clocks down, and figures with them", kNvml, judge_gpu_clocks},
    Check{"nvlink", "NVLink and fabric", "with a link down collectives fall back to PCIe or fail",
          kNvml, judge_nvlink},
    Check{"locked_memory", "limit of locked memory",
          "a registration pins its pages, and fails beyond the limit", "", judge_locked_memory},
    Check{"cgroup", "limits of the control group",
          "a test that is held by its group measures the group", "", judge_cgroup},
    Check{"hugepages", "huge pages", "host buffers in small pages cost the NIC translations", "",
          judge_hugepages},
    Check{"cpu_power", "CPU governor and idle states",
          "a processor that sleeps or creeps adds microseconds to a latency", "", judge_cpu_power},
    Check{"rdma_device_nodes", "RDMA device files",
          "a NIC that this user or container cannot open cannot be measured", "",
          judge_rdma_device_nodes},
    Check{"bar_copy_driver", "BAR-copy driver",
          "GDRCopy's way into the BAR needs its driver; others do not", "", judge_bar_copy_driver},
    Check{"minimum_versions", "minimum versions", "below these GPUDirect RDMA does not exist", "",
          judge_minimum_versions},
};

}  // namespace

std::span<const Check> all_checks() { return kChecks; }

const Check* find_check(std::string_view id) {
  const auto found = std::ranges::find(kChecks, id, &Check::id);
  return found == kChecks.end() ? nullptr : &*found;
}

}  // namespace railgauge::agent

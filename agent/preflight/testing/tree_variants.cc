// In the order of the table of checks. whole_tree.h has the answers of NVML, netlink and a runner.
#include "agent/preflight/testing/tree_variants.h"

#include <algorithm>
#include <iterator>

namespace railgauge::agent {
namespace {

constexpr const char* kNoModules = "remove proc/modules\n";
constexpr const char* kNoNvml = "remove answers/nvml\n";
constexpr const char* kNoLog = "remove dev/kmsg\n";
constexpr const char* kNoRelease = "remove proc/sys/kernel/osrelease\n";

std::vector<TreeVariant> memory_variants() {
  return {
      {"peer_memory_client", "fail", "use no_peermem\nuse proprietary\n"},
      {"peer_memory_client", "warn", "remove etc/modules-load.d/nvidia-peermem.conf\n"},
      {"peer_memory_client", "pass",
       "remove etc/modules-load.d/nvidia-peermem.conf\n"
       "usr/lib/modprobe.d/nvidia.conf = softdep nvidia post: nvidia-uvm nvidia-peermem\n"},
      {"peer_memory_client", "fail",
       "use no_peermem\nuse proprietary\n"
       "proc/kallsyms = 0000000000000000 T ib_register_client [ib_core]\n"},
      {"peer_memory_client", "unknown", kNoModules},
      {"peer_memory_conflict", "fail", "use module_version name=nv_peer_mem version=1.3\n"},
      {"peer_memory_conflict", "warn",
       "etc/init.d/nv_peer_mem =\netc/rc3.d/S20nv_peer_mem -> ../init.d/nv_peer_mem\n"},
      {"peer_memory_conflict", "warn",
       "var/lib/dpkg/status |\n"
       "  Package: nvidia-peer-memory-dkms\n"
       "  Status: install ok installed\n"
       "  Version: 1.2\n"},
      {"peer_memory_conflict", "unknown", kNoModules},
      {"peer_memory_conflict", "unknown", "refuse etc/modules-load.d\n"},
      {"peer_memory_conflict", "error", "etc/modules-load.d/other.conf -> other.conf\n"},
      {"peer_memory_conflict", "error", "etc/modprobe.d = no folder\n"},
      {"peer_memory_conflict", "error", "etc/systemd/system = no folder\n"},
      {"peer_memory_conflict", "error", "var/lib/dkms -> dkms\n"},
      {"peer_memory_conflict", "pass", "etc/modules-load.d/masked.conf -> /dev/null\n"},
      {"peer_memory_conflict", "pass", "var/lib/dkms/mok.key = a signing key\n"},
      {"gpudirect_registration", "fail",
       "use runner state=refused text=\"ibv_reg_mr: Bad address\"\n"},
      {"gpudirect_registration", "unknown", "use runner state=busy text=pid_7\n"},
      {"gpudirect_registration", "unknown", "remove answers/runner\n"},
      {"gpudirect_registration", "error", "answers/runner |\n  #!/bin/sh\n  kill -ABRT $$\n"},
      {"peermem_build", "fail",
       "use no_peermem\nuse proprietary\n"
       "dev/kmsg = nvidia_peermem: disagrees about version of symbol "
       "ib_register_peer_memory_client\n"},
      {"peermem_build", "pass",
       "dev/kmsg = nvidia_peermem: disagrees about version of symbol "
       "ib_register_peer_memory_client\n"},
      {"peermem_build", "warn",
       "lib/modules/5.15.0-105-generic/updates/dkms/ib_core.ko @ 1713000000\n"},
      {"peermem_build", "unknown",
       "remove lib/modules/5.15.0-105-generic/updates/dkms/ib_core.ko\nremove dev/kmsg\n"},
      {"peermem_build", "unknown", "refuse sys/module/ib_core/holders\n"},
      {"peermem_build", "fail", "remove sys/module/ib_core/holders/nvidia_peermem\n"},
      {"peermem_mode", "warn", "sys/module/nvidia_peermem/parameters/peerdirect_support = 1\n"},
      {"peermem_mode", "unknown", "refuse sys/module/nvidia_peermem/parameters\n"},
      {"peermem_mode", "unknown", "use no_peermem\nremove proc/modules\n"},
      // A registration by dma-buf would prove it, whatever the files say.
      {"dmabuf_gpu", "warn", "remove answers/runner\nuse proprietary\n"},
      {"dmabuf_gpu", "fail", "remove answers/runner\nuse proprietary\nuse no_peermem\n"},
      {"dmabuf_gpu", "unknown", "remove answers/runner\nremove proc/driver/nvidia/version\n"},
      {"dmabuf_nic", "warn", "remove answers/runner\nproc/sys/kernel/osrelease = 5.4.0-1\n"},
      {"dmabuf_nic", "fail",
       "remove answers/runner\nuse no_peermem\nproc/sys/kernel/osrelease = 5.4.0-1\n"},
      {"dmabuf_nic", "unknown", "remove answers/runner\nremove proc/sys/kernel/osrelease\n"},
  };
}

// NOLINTNEXTLINE(readability-function-size): a table of cases, no steps
std::vector<TreeVariant> path_variants() {
  return {
      {"acs", "fail",
       "use config at=0000:17:00.0 flags=6200 control=2f00 extended=0d0001005f001d00\n"},
      {"acs", "unknown", "use short_config at=0000:17:00.0\n"},
      // The GPU's port on the shared switch with a switch's usual bits, and without ACS; its own
      // switch's port; the root port with source validation.
      {"acs", "fail",
       "use config at=0009:02:01.0 flags=6200 control=2f00 extended=0d0001005f000000\n",
       "gb300_data_direct"},
      {"acs", "fail",
       "use config at=0009:02:01.0 flags=6200 control=2f00 extended=0100010000000000\n",
       "gb300_data_direct"},
      {"acs", "fail",
       "use config at=0009:05:00.0 flags=6200 control=2f00 extended=0d0001005f001500\n",
       "gb300_data_direct"},
      {"acs", "fail",
       "use config at=0009:00:00.0 flags=4200 control=2f00 extended=0d0001005f001d00\n",
       "gb300_data_direct"},
      {"acs", "unknown", "use short_config at=0009:02:00.0\n", "gb300_data_direct"},
      // Without the function the NIC is the GPU's by the root complex alone.
      {"acs", "waived", "remove sys/bus/pci/devices/0009:03:00.0\n", "gb300_data_direct"},
      {"iommu", "fail",
       "sys/bus/pci/devices/0009:03:00.0/iommu_group => sys/kernel/iommu_groups/4\n",
       "gb300_data_direct"},
      {"iommu", "fail", "remove sys/bus/pci/devices/0009:03:00.0/iommu_group\n",
       "gb300_data_direct"},
      {"iommu", "error",
       "remove sys/bus/pci/devices/0009:03:00.0/iommu_group\n"
       "sys/bus/pci/devices/0009:03:00.0/iommu_group = no link\n",
       "gb300_data_direct"},
      {"iommu", "fail", "sys/kernel/iommu_groups/7/type = DMA-FQ\n"},
      {"iommu", "fail", "remove sys/class/iommu\nsys/kernel/iommu_groups/7/type = DMA-FQ\n"},
      {"iommu", "unknown", "remove sys/kernel/iommu_groups/7/type\n"},
      {"iommu", "unknown", "refuse sys/class/iommu\n"},
      {"iommu", "error", "sys/class/iommu -> iommu\n"},
      {"iommu", "error", "sys/class/iommu = no folder\n"},
      {"bar1_size", "fail",
       "remove answers/nvml\n"
       "sys/bus/pci/devices/0000:1b:00.0/resource = "
       "0x00000000a0000000 0x00000000a0ffffff 0x0000000000040200\n"},
      {"bar1_size", "unknown", kNoNvml},
      {"bar1_size", "unknown",
       "remove answers/nvml\nremove sys/bus/pci/devices/0000:1b:00.0/resource\n"},
      {"pcie_link", "fail", "sys/bus/pci/devices/0000:18:00.0/current_link_width = 8\n"},
      {"pcie_link", "fail",
       "sys/bus/pci/devices/0000:18:00.0/current_link_width = 63\n"
       "sys/bus/pci/devices/0000:18:00.0/current_link_speed = Unknown\n"},
      {"pcie_link", "fail", "sys/bus/pci/devices/0000:16:00.0/current_link_width = 8\n"},
      {"pcie_link", "unknown", "remove sys/bus/pci/devices/0000:18:00.0/current_link_width\n"},
      {"pcie_link", "unknown",
       "sys/bus/pci/devices/0000:1b:00.0/current_link_speed = 2.5 GT/s PCIe\n"},
      {"pcie_limited", "fail",
       "dev/kmsg = mlx5_core 0000:18:00.0: 63.008 Gb/s available PCIe bandwidth, limited by 8.0 "
       "GT/s PCIe x8 link at 0000:17:00.0\n"},
      {"pcie_limited", "unknown", kNoLog},
      {"pcie_errors", "fail",
       "sys/bus/pci/devices/0000:18:00.0/aer_dev_fatal = TOTAL_ERR_FATAL 1\n"},
      {"pcie_errors", "warn",
       "sys/bus/pci/devices/0000:16:00.0/aer_dev_correctable = TOTAL_ERR_COR 9000\n"},
      {"pcie_errors", "error",
       "sys/bus/pci/devices/0000:18:00.0/aer_dev_fatal = nothing of the kind\n"},
      {"pcie_errors", "unknown", "remove sys/bus/pci/devices/0000:18:00.0/aer_dev_correctable\n"},
      {"pcie_read_request", "fail", "use config at=0000:18:00.0 control=3f00\n"},
      {"pcie_read_request", "warn", "use config at=0000:18:00.0 control=3f20\n"},
      {"pcie_read_request", "unknown", "use short_config at=0000:18:00.0\n"},
      {"relaxed_ordering", "warn", "use config at=0000:18:00.0 control=2f50\n"},
      {"relaxed_ordering", "unknown", "use short_config at=0000:18:00.0\n"},
      {"gpu_nic_distance", "fail", "", "pcie_4_far_nic", {"gpu_nic_distance"}},
      {"gpu_nic_distance", "unknown", "", "vm_gpu_vf"},
      {"numa_locality", "fail",
       "sys/fs/cgroup/system.slice/railgauge-agent.service/cpuset.cpus.effective = 56-111\n"},
      {"numa_locality", "warn", "sys/bus/pci/devices/0000:1b:00.0/numa_node = -1\n"},
      {"numa_locality", "unknown", "remove sys/bus/pci/devices/0000:1b:00.0/numa_node\n"},
  };
}

std::vector<TreeVariant> fabric_variants() {
  return {
      {"port_state", "fail", "sys/class/infiniband/mlx5_0/ports/1/state = 1: DOWN\n"},
      {"port_state", "unknown", "remove sys/class/infiniband/mlx5_0/ports/1/state\n"},
      {"port_state", "unknown", "refuse sys/class/infiniband\n"},
      {"port_state", "error", "sys/class/infiniband -> infiniband\n"},
      {"port_state", "error", "sys/class/infiniband/mlx5_0/ports = no folder\n"},
      {"mtu", "warn", "sys/class/net/ens1/mtu = 1500\n"},
      {"mtu", "unknown", "remove sys/class/net/ens1/mtu\n"},
      {"gid", "fail",
       "sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/1 = IB/RoCE v1\n"
       "sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/3 = IB/RoCE v1\n"},
      {"gid", "waived",
       "sys/class/infiniband/mlx5_0/node_type = 4: RNIC\n"
       "sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/1 = IB/RoCE v1\n"
       "sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/3 = IB/RoCE v1\n"},
      {"gid", "unknown", "remove sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types\n"},
      {"gid", "unknown", "refuse sys/class/infiniband/mlx5_0/ports/1/gids\n"},
      {"gid", "error", "sys/class/infiniband/mlx5_0/ports/1/gids -> gids\n"},
      {"gid", "error", "sys/class/infiniband/mlx5_0/ports/1/gids = no folder\n"},
      {"lossless", "warn", "sys/class/net/ens1/qos/trust = pcp\n"},
      {"lossless", "unknown", "remove answers/dcb/ens1\n"},
      {"lossless", "unknown", "remove sys/class/net/ens1/qos\nremove answers/dcb/ens1\n"},
      {"lossless", "pass", "remove sys/class/net/ens1/qos\n"},
      {"lossless", "warn", "use dcb pfc=00\n"},
      {"congestion_control", "warn", "sys/class/net/ens1/ecn/roce_rp/enable/3 = 0\n"},
      {"congestion_control", "unknown", "remove sys/class/net/ens1/ecn\n"},
      {"port_errors", "warn", "sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error = 5000\n"},
      {"port_errors", "error",
       "sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error = lots\n"},
      {"port_errors", "error",
       "sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error -> symbol_error\n"},
      {"port_errors", "error", "sys/class/infiniband/mlx5_0/ports/1/counters = no folder\n"},
      {"port_errors", "unknown", "refuse sys/class/infiniband/mlx5_0/ports/1/counters\n"},
      {"nic_firmware", "warn",
       "use root_port path=pci0000:3d address=0000:3d:01.0\n"
       "use mlx5 path=pci0000:3d/0000:3d:01.0 address=0000:40:00.0 class=0x020000 name=mlx5_1 "
       "netdev=ens2 uverbs=uverbs1 guid=a088:c203:0000:0002 layer=Ethernet fw=28.40.1000\n"},
      {"nic_firmware", "unknown", "remove sys/class/infiniband/mlx5_0/fw_ver\n"},
      {"versions", "unknown", kNoRelease},
      {"versions", "error", "proc/sys/kernel/osrelease /\n"},
      {"minimum_versions", "fail", "sys/module/nvidia/version = 410.48\n"},
      {"minimum_versions", "fail",
       "remove sys/module/nvidia/version\n"
       "sys/bus/pci/devices/0000:1b:00.0/driver => sys/bus/pci/drivers/nouveau\n"},
      {"minimum_versions", "unknown", "sys/bus/pci/devices/0000:18:00.0/vendor = 0x8086\n"},
  };
}

std::vector<TreeVariant> gpu_variants() {
  return {
      {"gpu_ecc", "fail", "use nvml but=ecc=0\n"},
      {"gpu_ecc", "fail", "use nvml but=ecc_errors=3\n"},
      {"gpu_ecc", "fail", "use nvml but=remap_pending=1\n"},
      {"gpu_ecc", "error", "use nvml but=health_error=15\n"},
      {"gpu_ecc", "unknown", "use nvml but=health_error=4\n"},
      {"gpu_ecc", "unknown", kNoNvml},
      {"gpu_mode", "fail", "use nvml but=compute_mode=2\n"},
      {"gpu_mode", "fail", "use nvml but=mig=1\n"},
      {"gpu_mode", "warn", "use nvml but=persistence=0\n"},
      {"gpu_mode", "warn", "use nvml but=busy_pid=7\n"},
      {"gpu_mode", "unknown", "use nvml but=health_error=4\n"},
      {"gpu_mode", "unknown", kNoNvml},
      {"gpu_clocks", "fail", "use nvml but=throttle=136\n"},
      {"gpu_clocks", "pass", "use nvml but=throttle=4\n"},
      {"gpu_clocks", "unknown", "use nvml but=no_clocks=1\n"},
      {"gpu_clocks", "unknown", kNoNvml},
      {"nvlink", "fail", "use nvml but=fabric=2\n"},
      {"nvlink", "error", "use nvml but=nvlink_error=15\n"},
      {"nvlink", "waived", "use nvml but=nvlinks=0\n"},
      {"nvlink", "unknown", "use nvml but=nvlink_error=4\n"},
      {"nvlink", "unknown", kNoNvml},
  };
}

std::vector<TreeVariant> host_variants() {
  return {
      {"xid", "fail", "dev/kmsg = NVRM: Xid (PCI:0000:1b:00): 79, pid=7, GPU has fallen\n"},
      {"xid", "pass",
       "dev/kmsg |\n"
       "  NVRM: Xid (PCI:0000:1b:00): 95, pid=7, uncontained\n"
       "  railgauge: repaired 0000:1b:00.0\n"},
      {"xid", "unknown", kNoLog},
      {"locked_memory", "fail",
       "proc/self/status = CapEff: 0000000000000000\n"
       "proc/self/limits = Max locked memory         65536            65536            bytes\n"},
      {"locked_memory", "unknown",
       "proc/self/status = CapEff: 0000000000000000\nremove proc/self/limits\n"},
      {"cgroup", "unknown", "remove sys/fs/cgroup\n"},
      {"cgroup", "unknown",
       "remove proc/self/cgroup\nremove sys/fs/cgroup\nremove proc/self/status\n"},
      {"cgroup", "unknown",
       "sys/fs/cgroup/system.slice/railgauge-agent.service/memory.max = 9000000000\n"
       "refuse sys/fs/cgroup/system.slice/railgauge-agent.service/memory.current\n"},
      {"cgroup", "unknown",
       "sys/fs/cgroup/system.slice/railgauge-agent.service/rdma.max = mlx5_0 hca_handle=9\n"
       "refuse sys/fs/cgroup/system.slice/railgauge-agent.service/rdma.max\n"},
      {"cgroup", "fail",
       "sys/fs/cgroup/system.slice/railgauge-agent.service/rdma.max = "
       "mlx5_0 hca_handle=0 hca_object=max\n"},
      {"cgroup", "fail",
       "sys/fs/cgroup/system.slice/rdma.max = mlx5_0 hca_handle=2 hca_object=max\n"
       "sys/fs/cgroup/system.slice/rdma.current = mlx5_0 hca_handle=2 hca_object=9\n"},
      {"cgroup", "warn",
       "sys/fs/cgroup/system.slice/memory.max = 30000000\n"
       "sys/fs/cgroup/system.slice/memory.current = 20000000\n"},
      {"cgroup", "unknown", "remove proc/self/cgroup\n"},
      {"hugepages", "warn", "proc/meminfo |\n  HugePages_Free: 0\n  Hugepagesize: 2048 kB\n"},
      {"hugepages", "unknown", "remove proc/meminfo\n"},
      {"cpu_power", "warn", "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor = powersave\n"},
      {"cpu_power", "unknown", "refuse sys/devices/system/cpu/cpu0/cpufreq/scaling_governor\n"},
      {"cpu_power", "error", "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor /\n"},
      {"cpu_power", "error", "sys/devices/system/cpu/cpu0/cpuidle = no folder\n"},
      {"cpu_power", "pass",
       "sys/devices/system/cpu/cpu0/online = 1\n"
       "sys/devices/system/cpu/cpu9/online = 0\n"
       "sys/devices/system/cpu/cpu9/cpufreq/scaling_governor /\n"},
      {"rdma_device_nodes", "fail", "remove dev/infiniband/uverbs0\n"},
      {"rdma_device_nodes", "unknown", "refuse sys/class/infiniband\n"},
      {"rdma_device_nodes", "error", "sys/class/infiniband = no folder\n"},
      {"rdma_device_nodes", "error", "dev/infiniband -> infiniband\n"},
      {"bar_copy_driver", "fail", "remove dev/gdrdrv\n"},
      {"bar_copy_driver", "unknown", kNoModules},
  };
}

}  // namespace

std::vector<TreeVariant> tree_variants() {
  std::vector<TreeVariant> all;
  for (auto variants :
       {memory_variants(), path_variants(), fabric_variants(), gpu_variants(), host_variants()})
    std::ranges::move(variants, std::back_inserter(all));
  return all;
}

}  // namespace railgauge::agent

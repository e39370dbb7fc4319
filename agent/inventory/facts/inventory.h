// The agent's knowledge of its node, as plain values: each fact with its source, or the reason of
// its absence. Filled by read_inventory(); topology, preflight and the stack fingerprint are pure
// functions over it. Fields are only ever added.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/inventory/facts/fact.h"
#include "agent/inventory/facts/pci_config.h"
#include "kernels/core/mpi_installations.h"

namespace railgauge::agent {

using Facts = std::map<std::string, Fact<std::string>>;  // by the name of the file or key
using Counters = std::map<std::string, std::uint64_t>;

// --- PCI -----------------------------------------------------------------------------------------

// One memory region of a PCI function.
struct PciBar {
  std::uint64_t bytes = 0;
  bool is_prefetchable = false;
};

// Returns the size of the window into a GPU's memory, the largest prefetchable region; 0: none.
// NVIDIA calls the window BAR1 whatever its index (BAR2 if the registers have a 64-bit BAR too).
inline std::uint64_t memory_window_bytes(const std::vector<PciBar>& bars) {
  std::uint64_t largest = 0;
  for (const PciBar& bar : bars)
    if (bar.is_prefetchable) largest = std::max(largest, bar.bytes);
  return largest;
}

// A PCI function: a GPU, a NIC, a bridge above them, or a switch.
struct PciDevice {
  std::string address{};               // "0000:17:00.0", lower case
  std::string host_bridge{};           // "pci0000:15"; "": not known
  std::vector<std::string> bridges{};  // addresses from the root port down to its own parent
  Fact<std::uint32_t> class_code{};    // 24 bits: 0x030200 is a 3D controller, 0x0604xx a bridge
  Fact<std::uint32_t> vendor{};        // 0x10de NVIDIA, 0x15b3 Mellanox
  Fact<std::uint32_t> device{};
  Fact<std::string> driver{};         // absent: no driver is bound
  Fact<int> numa_node{};              // known and -1: the firmware does not report it
  Fact<std::string> local_cpus{};     // "0-55,112-167"
  Fact<double> link_gigatransfers{};  // per second and lane: 2.5, 5, 8, 16, 32, 64
  Fact<double> max_link_gigatransfers{};
  Fact<std::uint32_t> link_width{};  // lanes
  Fact<std::uint32_t> max_link_width{};
  Fact<std::uint32_t> iommu_group{};      // absent: no IOMMU translates for it
  Fact<std::string> iommu_group_type{};   // "identity", "DMA", "DMA-FQ"
  Fact<std::string> physical_function{};  // address; known for a virtual function only
  Fact<std::vector<PciBar>> bars{};       // regions with a size
  Fact<Counters> aer_correctable{};       // "TOTAL_ERR_COR", "BadTLP", ...
  Fact<Counters> aer_nonfatal{};
  Fact<Counters> aer_fatal{};
  PciConfig config{};

  // Whether this is the Data Direct function of a ConnectX-8 or later: a second function beside a
  // GPU, by which the NIC reaches the GPU's memory. It has not the class of a network controller.
  [[nodiscard]] bool is_data_direct() const { return vendor.is(0x15b3) && device.is(0x2100); }
};

// --- GPUs ----------------------------------------------------------------------------------------

// GPU facts that only the driver's library reports. All are unknown without NVML; test fixtures
// fill them in.
struct NvmlGpu {
  Fact<std::uint64_t> bar1_total_bytes{};
  Fact<std::uint64_t> bar1_used_bytes{};
  Fact<std::uint64_t> memory_total_bytes{};
  Fact<bool> ecc_enabled{};
  Fact<std::uint64_t> ecc_volatile_uncorrected{};
  Fact<std::uint64_t> ecc_volatile_corrected{};
  Fact<bool> remap_pending{};
  Fact<bool> remap_failed{};
  Fact<bool> persistence_mode{};
  Fact<bool> mig_mode{};
  Fact<std::uint32_t>
      compute_mode{};  // 0 default, 1 exclusive thread, 2 prohibited, 3 exclusive process
  Fact<std::uint32_t> sm_clock_mhz{};
  Fact<std::uint32_t> max_sm_clock_mhz{};
  Fact<std::uint64_t> clock_reasons{};      // bits of ml::kReason... in kernels/dl/nvml.h
  Fact<std::uint32_t> compute_processes{};  // of all users, Railgauge included
  Fact<std::uint64_t> pcie_replays{};
  Fact<std::vector<bool>> nvlink_active{};          // by link
  Fact<std::vector<std::string>> nvlink_remotes{};  // PCI address by link; "" where unknown
  Fact<std::uint32_t> fabric_state{};  // 0 not supported, 1 not started, 2 in progress, 3 completed
  Fact<std::uint32_t> fabric_status{};       // NVML's return code of the registration; 0 is success
  Fact<std::uint32_t> compute_capability{};  // major * 10 + minor: 90
};

// A GPU as sysfs, /proc and NVML show it.
struct GpuFacts {
  std::string name{};         // "gpu0": by number, as CUDA counts
  std::string pci_address{};  // its PciDevice has driver, NUMA node, link and BARs
  std::string state{};        // as api::Gpu has it: "active", "no_driver", "hidden", ...
  Fact<std::string> model{};
  Fact<std::string> uuid{};
  Fact<std::string> vbios{};
  bool is_excluded = false;  // from the driver, by its own option
  NvmlGpu nvml{};
};

// --- NICs ----------------------------------------------------------------------------------------

// One entry of a port's GID table.
struct GidEntry {
  std::uint32_t index = 0;
  std::string gid{};     // "fe80:0000:..."
  std::string type{};    // "RoCE v2", "IB/RoCE v1"; "": not reported (InfiniBand)
  std::string netdev{};  // "": none
};

// One port of an RDMA device.
struct RdmaPort {
  std::uint32_t port = 0;
  Fact<std::string> state{};       // "active", "down", "init", "armed"
  Fact<std::string> phys_state{};  // "linkup", "disabled", "polling", ...
  Fact<double> rate_bits_per_second{};
  Fact<std::string> link_layer{};  // "ethernet", "infiniband"
  // Reported by verbs, which a runner asks (preflight/probe/port_probe.h): no file shows the MTU of
  // an InfiniBand port.
  Fact<std::uint32_t> active_mtu_bytes{};
  Fact<std::uint32_t> max_mtu_bytes{};
  Fact<std::uint32_t> lid{};
  std::vector<GidEntry> gids{};  // entries that are not zero
  Fact<bool> gids_told{};        // known: complete; else the reason
  Fact<Counters> counters{};
  Fact<Counters> hw_counters{};
};

// An RDMA device: InfiniBand, RoCE or iWARP, hardware or software.
struct RdmaDevice {
  std::string name{};         // "mlx5_0"
  std::string pci_address{};  // "" for a software device
  std::string driver{};       // "mlx5_core", "rdma_rxe"; "" where unknown
  Fact<std::string> node_guid{};
  Fact<std::string> node_type{};  // "ca": InfiniBand and RoCE; "rnic": iWARP; ...
  Fact<std::string> firmware{};
  Fact<std::string> board_id{};   // PSID
  Fact<std::string> model{};      // hca_type: "MT4129"
  Fact<std::string> uverbs{};     // "uverbs0"
  Fact<bool> registers_dmabuf{};  // reported by verbs
  std::vector<std::string> netdevs{};
  std::vector<RdmaPort> ports{};
  Fact<bool> ports_told{};  // known: complete; else the reason
};

// A network interface that belongs to a NIC.
struct NetDevice {
  std::string name{};         // "ens1f0np0"
  std::string pci_address{};  // "": none
  std::string driver{};
  Fact<std::uint32_t> mtu_bytes{};
  // Vendor settings that exist, by path below the interface's folder: "ecn/roce_np/enable/3",
  // "qos/trust".
  Facts qos{};
};

// --- software ------------------------------------------------------------------------------------

// A loaded module, read from /sys/module.
struct LoadedModule {
  bool is_loaded = false;
  Fact<std::string> version{};         // absent: not declared
  Facts parameters{};                  // unknown: readable by root only
  Fact<bool> parameters_told{};        // known or absent: complete; else the reason
  std::vector<std::string> holders{};  // modules that use it
  Fact<bool> holders_told{};           // likewise
};

// A kernel module, loaded or installed.
struct ModuleFacts : LoadedModule {
  Fact<std::string> file{};  // from modules.dep, "/lib/modules/RELEASE/..."; absent: not installed
  Fact<double> file_modified_unix_seconds{};
};

// The state of a service, read from files of systemd or SysV: no service manager is asked.
struct ServiceFacts {
  Fact<std::string>
      enablement{};     // "enabled", "disabled", "masked", "static"; absent: no such unit
  Fact<bool> active{};  // a control group of the service exists now
};

// Limits of the agent's process and its control group.
struct MemoryLimits {
  Fact<std::uint64_t> memlock_soft_bytes{};  // kUnlimited: no limit
  Fact<std::uint64_t> cgroup_memory_max_bytes{};
  Fact<std::uint64_t> cgroup_memory_now_bytes{};
  Fact<std::string> cgroup_cpus{};  // "0-31": cpuset.cpus.effective
  Facts cgroup_rdma_max{};          // by device: "hca_handle=2 hca_object=2000"
  Facts cgroup_rdma_now{};          // handles in use, by device
  Fact<bool> cgroup_rdma_told{};    // known or absent: complete; else the reason
  Fact<bool> cap_ipc_lock{};        // the agent has it
};
inline constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

// The power settings of the processors.
struct CpuPower {
  Fact<std::map<std::string, std::uint32_t>> governors{};  // processors by scaling_governor
  Fact<std::string> idle_driver{};
  Fact<Facts> idle_states{};  // of cpu0: name to "disabled" or "enabled"
  Fact<bool> smt_active{};
};

// The processors of the node.
struct CpuFacts : CpuPower {
  Fact<std::string> model{};
  Fact<std::string> vendor{};  // "GenuineIntel", "AuthenticAMD", "ARM"
  Fact<std::uint32_t> processors{};
  Fact<std::uint32_t> sockets{};
  Fact<std::string> microcode{};
};

// One NUMA node.
struct NumaNode {
  std::uint32_t number = 0;
};

// A device file that a measurement needs.
struct DeviceNode {
  Fact<bool> can_open{};  // by the agent, for reading and writing; absent: no such file
};

// --- the node ------------------------------------------------------------------------------------

// Each part below is filled by one source.

using TextMap = Fact<std::map<std::string, std::string>>;

struct PciTree {
  std::map<std::string, PciDevice> pci{};  // by address: GPUs, NICs, bridges above them, switches
  Fact<bool> pci_told{};                   // known or absent: complete; else the reason
};

struct RdmaList {
  std::vector<RdmaDevice> rdma{};  // by name
  Fact<bool> rdma_told{};          // known or absent: complete; else the reason
};

struct MemorySizes {
  Fact<std::uint64_t> memory_bytes{};
  Fact<std::uint64_t> huge_pages_free{};
  Fact<std::uint64_t> huge_page_bytes{};
};

struct LinuxFacts {
  Fact<std::string> kernel_release{};
  Fact<std::string> kernel_command_line{};
  Fact<std::vector<std::string>> iommus{};     // names in /sys/class/iommu; absent: none
  Fact<std::string> transparent_huge_pages{};  // "always", "madvise", "never"
  Fact<bool> numa_balancing{};
  Fact<std::string> rdma_netns_mode{};  // "shared", "exclusive"; absent: no RDMA in this kernel
};

// Settings of modules for the next boot, by module with underscores. Values of `autoload` and
// `blacklist` are the files that name the module.
struct BootSettings {
  TextMap autoload{};        // to the file naming it
  TextMap module_options{};  // "nvidia NAME=..." of modprobe.d to its options
  TextMap blacklist{};       // to the file naming it
};

struct KernelLogLines {
  Fact<std::vector<std::string>>
      kernel_log{};                // lines about GPUs, NICs, peer memory, AER; newest last
  bool kernel_log_is_cut = false;  // lines were overwritten in the kernel's ring and may be missing
};

// Software, by version. Absent: not installed.
struct Libraries {
  Fact<std::string> distribution{};          // os-release ID: "ubuntu"
  Fact<std::string> distribution_version{};  // VERSION_ID
  Fact<std::string> distribution_like{};     // ID_LIKE
  Fact<std::string> gpu_driver{};            // "550.54.15"
  Fact<std::string> ofed{};                  // "MLNX_OFED_LINUX-24.10-0.7.0.0"; absent: inbox stack
  Fact<std::string> rdma_core{};
  Fact<std::string> cuda{};  // toolkit
  Fact<std::string> nccl{};
  Fact<std::string> ucx{};
  Fact<std::string> openmpi{};
  Fact<std::string> mpich{};
  TextMap nccl_conf{};  // /etc/nccl.conf; absent: none
  TextMap dkms{};       // "nvidia/550.54.15" to its state folder
};

inline constexpr std::size_t kMaxGpus = 64;
inline constexpr std::size_t kMaxNicPorts = 256;

// The result of one reading of a node.
struct Inventory : PciTree,
                   RdmaList,
                   MemorySizes,
                   LinuxFacts,
                   BootSettings,
                   KernelLogLines,
                   Libraries {
  // Hardware.
  std::vector<GpuFacts> gpus{};   // by number
  bool has_gpu_folders = false;   // the driver lists this container's GPUs in /proc
  std::vector<NetDevice> nets{};  // by name; interfaces with a device, and of RDMA
  std::vector<NumaNode> numa{};
  CpuFacts cpu{};
  Facts dmi{};  // sys_vendor, product_name, board_name, bios_vendor, bios_version, bios_date, ...
  Fact<bool> is_virtual_machine{};

  // Linux.
  Fact<std::set<std::string>> loaded_modules{};  // all names of /proc/modules
  std::map<std::string, ModuleFacts> modules{};  // of known_modules(), by name
  Fact<bool> peer_memory_symbol{};               // the kernel has ib_register_peer_memory_client
  MemoryLimits limits{};
  std::map<std::string, ServiceFacts> services{};  // of kServices, by name without ".service"
  std::map<std::string, DeviceNode>
      device_nodes{};  // "/dev/gdrdrv", "/dev/infiniband/uverbs0", ...; "/dev/infiniband" where it
                       // was not listed. Empty: not read

  // Software, by version. Absent: not installed.
  Fact<std::string> gpu_driver_flavour{};  // "open" or "proprietary"
  Facts mpi_installations{};               // of the agent's setting: "openmpi 4.1.7, ucx 1.17.0"
  Fact<std::string> fabric_manager{};
  TextMap packages{};         // name to version, of the prefixes in software.cc
  Facts nic_settings{};       // firmware configuration and QoS, read from files
  std::string nvml_reason{};  // the reason why NVML was not asked; "": it was

  // Times of the reading: milliseconds by source, and the sources that took too long.
  std::map<std::string, double> source_milliseconds{};
  std::vector<std::string> late_sources{};
  std::vector<double> wave_seconds{};  // time limit of each wave's sources

  [[nodiscard]] const PciDevice* pci_device(const std::string& address) const {
    const auto found = pci.find(address);
    return found == pci.end() ? nullptr : &found->second;
  }
  [[nodiscard]] const ModuleFacts* module(const std::string& name) const {
    const auto found = modules.find(name);
    return found == modules.end() ? nullptr : &found->second;
  }
  [[nodiscard]] bool is_loaded(const std::string& name) const {
    const ModuleFacts* found = module(name);
    return found != nullptr && found->is_loaded;
  }
  [[nodiscard]] const NetDevice* net(const std::string& name) const {
    for (const NetDevice& device : nets)
      if (device.name == name) return &device;
    return nullptr;
  }
};

// --- reading -------------------------------------------------------------------------------------

struct InventoryOptions {
  // Prefix of /sys, /proc, /etc, ..., for a node that is a tree of files. "": the machine itself.
  std::string root{};
  std::string sysfs{};  // replaces /sys; "": below root
  std::string proc{};   // likewise for /proc
  // Limit of one source, whose facts are unknown after it; other sources continue. All sources take
  // 16 ms on a server and 0.9 s in an emulated guest, whose NICs must not be lost.
  double source_seconds = 3;
  // Limit of the whole reading; 0: source_seconds for each wave.
  double all_seconds = 0;
  bool with_nvml = true;  // read only if the node is the machine itself
  bool with_kernel_log = true;
  std::vector<MpiInstallation> mpi_installations{};  // beside the system's own
};

}  // namespace railgauge::agent

// Each check on a node in order, on one that is not, and on one that does not tell. The node is
// synthetic (testing/sample_node.h).
#include <functional>
#include <map>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/preflight/check.h"
#include "agent/preflight/testing/sample_node.h"

namespace railgauge::agent {

void PrintTo(CheckState state, std::ostream* out) { *out << words_of(state); }

namespace {

using testing::HasSubstr;

struct World {
  Inventory node = sample_node();
  std::vector<ProbeAnswer> probes{};
  std::vector<ProbeAnswer> earlier{};
  std::set<std::string> required{};
  [[nodiscard]] CheckInput input() const {
    return {.node = node,
            .probes = probes,
            .earlier = earlier,
            .required = required,
            .now_unix_seconds = 1.7e9 + 3600};
  }
};

struct Case {
  const char* check;
  CheckState state;   // the worst of its results
  const char* says;   // part of what one of them observed
  std::function<void(World&)> change = [](World&) {};
  const char* remedy = "";  // part of a line of its remedy
};

// Results of one check, by how much they matter.
int weight(CheckState state) {
  switch (state) {
    case CheckState::kWaived:
      return 0;
    case CheckState::kPass:
      return 1;
    case CheckState::kWarn:
      return 2;
    case CheckState::kUnknown:
      return 3;
    case CheckState::kError:
      return 4;
    case CheckState::kFail:
      break;
  }
  return 5;
}

constexpr CheckState kPass = CheckState::kPass;
constexpr CheckState kWarn = CheckState::kWarn;
constexpr CheckState kFail = CheckState::kFail;
constexpr CheckState kError = CheckState::kError;
constexpr CheckState kWaived = CheckState::kWaived;
constexpr CheckState kUnknown = CheckState::kUnknown;

NvmlGpu& nvml(World& world) { return world.node.gpus[0].nvml; }
RdmaPort& port(World& world) { return world.node.rdma[0].ports[0]; }
PciDevice& nic(World& world) { return world.node.pci[kSampleNic]; }
PciDevice& gpu(World& world) { return world.node.pci[kSampleGpu]; }
void unload(World& world, const char* module) {
  world.node.modules[module].is_loaded = false;
  world.node.loaded_modules.value.erase(module);
}
void load_legacy(World& world) {
  world.node.modules["nv_peer_mem"].is_loaded = true;
  world.node.loaded_modules.value.insert("nv_peer_mem");
}
void use_proprietary(World& world) { world.node.gpu_driver_flavour.value = "proprietary"; }
void move_nic_away(World& world) {
  nic(world).host_bridge = "pci0000:80";
  nic(world).numa_node = told(1);
  nic(world).bridges = {"0000:80:01.0"};
}
void log_line(World& world, const char* line) { world.node.kernel_log.value.emplace_back(line); }
void probe_says(World& world, ProbeAnswer::State state, const char* text) {
  ProbeAnswer answer = sample_probe();
  answer.state = state;
  answer.text = text;
  world.probes = {answer};
}

std::vector<Case> memory_cases() {
  return {
      {"peer_memory_client", kPass, "nvidia_peermem 550.54.15 is loaded"},
      {"peer_memory_client", kFail, "dma-buf is not in place",
       [](World& w) { unload(w, "nvidia_peermem"), use_proprietary(w); }, "modprobe nvidia-peermem"},
      {"peer_memory_client", kFail, "no peer-memory module is installed",
       [](World& w) {
         unload(w, "nvidia_peermem"), use_proprietary(w);
         lack(w.node.modules["nvidia_peermem"].file);
       },
       "dkms install nvidia/550.54.15"},
      {"peer_memory_client", kWaived, "dma-buf takes its place",
       [](World& w) { unload(w, "nvidia_peermem"); }},
      {"peer_memory_client", kWarn, "no file loads it at boot",
       [](World& w) { w.node.autoload.value.clear(); }, "/etc/modules-load.d/nvidia-peermem.conf"},
      {"peer_memory_client", kWarn, "taken its place",
       [](World& w) { unload(w, "nvidia_peermem"), load_legacy(w); }, "modprobe nvidia-peermem"},
      {"peer_memory_client", kUnknown, "nobody may read it",
       [](World& w) { hide(w.node.loaded_modules); }},
      {"peer_memory_client", kError, "makes no sense",
       [](World& w) { spoil(w.node.loaded_modules); }},
      {"peer_memory_client", kWaived, "TCP over these NICs", [](World& w) { w.node.rdma.clear(); }},
      {"peer_memory_conflict", kPass, "nothing of nv_peer_mem"},
      {"peer_memory_conflict", kFail, "both loaded", load_legacy, "apt-get purge"},
      {"peer_memory_conflict", kFail, "both loaded",
       [](World& w) {
         load_legacy(w);
         w.node.distribution.value = "rocky";
         w.node.distribution_like.value = "rhel centos fedora";
       },
       "dnf remove nvidia_peer_memory"},
      {"peer_memory_conflict", kWarn, "service nv_peer_mem is enabled",
       [](World& w) {
         w.node.services["nv_peer_mem"].enablement = told<std::string>("enabled");
       },
       "systemctl disable --now nv_peer_mem"},
      {"peer_memory_conflict", kWarn, "its package nvidia-peer-memory-dkms 1.2 is installed",
       [](World& w) { w.node.packages.value["nvidia-peer-memory-dkms"] = "1.2"; },
       "apt-get purge nvidia-peer-memory-dkms"},
      {"peer_memory_conflict", kUnknown, "nobody may read it",
       [](World& w) { hide(w.node.loaded_modules); }},
      {"gpudirect_registration", kPass, "registered by dma-buf",
       [](World& w) { w.probes = {sample_probe()}; }},
      {"gpudirect_registration", kFail, "ibv_reg_mr: Bad address",
       [](World& w) { probe_says(w, ProbeAnswer::State::kRefused, "ibv_reg_mr: Bad address"); },
       "nvidia"},
      {"gpudirect_registration", kUnknown, "not tried", [](World&) {}, "railgauge preflight --probe"},
      {"gpudirect_registration", kUnknown, "busy: 2 processes; 60 min ago: registered by dma-buf",
       [](World& w) {
         probe_says(w, ProbeAnswer::State::kBusy, "2 processes");
         w.earlier = {sample_probe()};
       }},
      {"gpudirect_registration", kError, "the runner ended by signal 11",
       [](World& w) {
         probe_says(w, ProbeAnswer::State::kError, "the runner ended by signal 11");
       }},
      {"peermem_build", kPass, "not older than the ib_core"},
      {"peermem_build", kFail, "disagrees about version of symbol",
       [](World& w) {
         log_line(w, "nvidia_peermem: disagrees about version of symbol ib_register_peer_memory_client");
       },
       "dkms install nvidia/550.54.15 -k 6.8.0-48-generic"},
      {"peermem_build", kFail, "registered nowhere",
       [](World& w) { w.node.modules["ib_core"].holders = {"mlx5_ib"}; }, "nvidia-peermem"},
      {"peermem_build", kWarn, "OFED was installed after",
       [](World& w) { w.node.modules["ib_core"].file_modified_unix_seconds.value += 1e6; },
       "dkms"},
      {"peermem_build", kUnknown, "nobody may read it",
       [](World& w) {
         hide(w.node.kernel_log);
         hide(w.node.modules["ib_core"].file_modified_unix_seconds);
       },
       "systemd-journal"},
      {"peermem_mode", kPass, "persistent_api_support=1"},
      {"peermem_mode", kWarn, "peerdirect_support=1",
       [](World& w) {
         w.node.modules["nvidia_peermem"].parameters["peerdirect_support"].value = "1";
       },
       "options nvidia-peermem peerdirect_support=0"},
      {"peermem_mode", kUnknown, "nobody may read it",
       [](World& w) { hide(w.node.modules["nvidia_peermem"].parameters["peerdirect_support"]); }},
      {"dmabuf_gpu", kPass, "open kernel modules"},
      {"dmabuf_gpu", kWarn, "proprietary", use_proprietary, "nvidia-driver-550-server-open"},
      {"dmabuf_gpu", kFail, "proprietary",
       [](World& w) { use_proprietary(w), unload(w, "nvidia_peermem"); }},
      {"dmabuf_gpu", kFail, "older than 515.43",
       [](World& w) {
         w.node.gpu_driver.value = "470.57.02";
         unload(w, "nvidia_peermem");
       }},
      {"dmabuf_gpu", kUnknown, "nobody may read it",
       [](World& w) { hide(w.node.gpu_driver_flavour); }},
      {"dmabuf_gpu", kWaived, "shares the host's memory",
       [](World& w) { w.node.gpus[0].model.value = "NVIDIA GB10"; }},
      {"dmabuf_nic", kPass, "Linux 6.8.0-48-generic with mlx5_core"},
      {"dmabuf_nic", kWarn, "older than 5.12",
       [](World& w) { w.node.kernel_release.value = "5.4.0-1"; }},
      {"dmabuf_nic", kFail, "rdma-core 33.1 is older than 34",
       [](World& w) {
         w.node.rdma_core.value = "33.1";
         unload(w, "nvidia_peermem");
       }},
      {"dmabuf_nic", kUnknown, "stands nowhere",
       [](World& w) {
         w.node.rdma[0].name = "irdma0";
         w.node.rdma[0].driver = "irdma";
       }},
      {"dmabuf_nic", kUnknown, "nobody may read it",
       [](World& w) { hide(w.node.kernel_release); }},
  };
}

std::vector<Case> path_cases() {
  return {
      {"acs", kPass, "no port between them redirects"},
      {"acs", kFail, "0000:17:00.0 has ReqRedir+ UpstreamFwd+",
       [](World& w) {
         w.node.pci[kSampleGpuPort].config.acs.value.control =
             kAcsRequestRedirect | kAcsUpstreamForwarding;
       },
       "setpci -s 0000:17:00.0 ECAP_ACS+6.w=0000"},
      {"acs", kPass, "no port",
       [](World& w) {  // source validation alone redirects nothing
         w.node.pci[kSampleGpuPort].config.acs.value.control = kAcsSourceValidation;
       }},
      {"acs", kPass, "no port",
       [](World& w) {  // a port that the path does not cross
         PciDevice other = w.node.pci[kSampleGpuPort];
         other.address = "0000:17:02.0";
         other.config.acs.value.control = 0x1f;
         w.node.pci["0000:17:02.0"] = other;
       }},
      {"acs", kWaived, "virtual machine",
       [](World& w) {
         w.node.is_virtual_machine.value = true;
         w.node.pci[kSampleGpuPort].config.acs.value.control = 0x1f;
       }},
      {"acs", kWarn, "pcie_acs_override is on the command line",
       [](World& w) { w.node.kernel_command_line.value += " pcie_acs_override=downstream"; }},
      {"acs", kUnknown, "CAP_SYS_ADMIN",
       [](World& w) {
         w.node.pci[kSampleNicPort].config.acs =
             Fact<PciAcs>::unknown("config", kNeedsSysAdmin);
       },
       "railgauge-node-facts"},
      {"iommu", kPass, "passes GPUs and NICs through"},
      {"iommu", kPass, "no IOMMU is on", [](World& w) { lack(w.node.iommus); }},
      {"iommu", kFail, "translates for 0000:18:00.0 (DMA-FQ)",
       [](World& w) { gpu(w).iommu_group_type.value = "DMA-FQ"; }, "intel_iommu=on iommu=pt"},
      {"iommu", kUnknown, "nobody may read it",
       [](World& w) { hide(gpu(w).iommu_group_type); }},
      {"bar1_size", kPass, "BAR1 is 131072 MiB of 81920 MiB"},
      {"bar1_size", kPass, "BAR1 is 131072 MiB",
       [](World& w) {
         hide(nvml(w).bar1_total_bytes);
         hide(nvml(w).memory_total_bytes);
       }},
      {"bar1_size", kWarn, "BAR1 is 256 MiB",
       [](World& w) { nvml(w).bar1_total_bytes.value = 256U << 20U; }, "Above 4G"},
      {"bar1_size", kFail, "no BAR1", [](World& w) { nvml(w).bar1_total_bytes.value = 0; }},
      {"bar1_size", kUnknown, "nobody may read it",
       [](World& w) {
         hide(nvml(w).bar1_total_bytes);
         hide(gpu(w).bars);
       }},
      {"pcie_link", kPass, "32 GT/s x16"},
      {"pcie_link", kFail, "32 GT/s x8 where 32 GT/s x16 is possible",
       [](World& w) { nic(w).link_width.value = 8; }, "0000:17:01.0"},
      {"pcie_link", kFail, "16 GT/s x16", [](World& w) { nic(w).link_gigatransfers.value = 16; }},
      {"pcie_link", kWarn, "the slot (0000:17:01.0) gives less",
       [](World& w) {
         nic(w).link_gigatransfers.value = 16;
         w.node.pci[kSampleNicPort].max_link_gigatransfers.value = 16;
       }},
      {"pcie_link", kUnknown, "idle GPUs lower their links",
       [](World& w) { gpu(w).link_gigatransfers.value = 2.5; }},
      {"pcie_link", kUnknown, "nobody may read it", [](World& w) { hide(nic(w).link_width); }},
      {"pcie_link", kError, "makes no sense", [](World& w) { spoil(nic(w).link_width); }},
      {"pcie_limited", kPass, "names no limit"},
      {"pcie_limited", kFail, "limited by 8.0 GT/s",
       [](World& w) {
         log_line(w, "mlx5_core 0000:19:00.0: 63.008 Gb/s available PCIe bandwidth, limited by 8.0 "
                     "GT/s PCIe x8 link at 0000:17:01.0");
       }},
      {"pcie_limited", kUnknown, "nobody may read it", [](World& w) { hide(w.node.kernel_log); },
       "systemd-journal"},
      {"pcie_errors", kPass, "0 corrected"},
      {"pcie_errors", kFail, "1 fatal",
       [](World& w) { nic(w).aer_fatal.value["TOTAL_ERR_FATAL"] = 1; }, "reseat"},
      {"pcie_errors", kWarn, "5000 corrected",
       [](World& w) { gpu(w).aer_correctable.value["TOTAL_ERR_COR"] = 5000; }},
      {"pcie_errors", kUnknown, "nobody may read it",
       [](World& w) { hide(nic(w).aer_correctable); }},
      {"pcie_read_request", kPass, "MaxReadReq 4096"},
      {"pcie_read_request", kWarn, "MaxReadReq 512",
       [](World& w) { nic(w).config.pcie.value.max_read_request_bytes = 512; },
       "setpci -s 0000:19:00.0 CAP_EXP+8.w=5000:7000"},
      {"pcie_read_request", kFail, "MaxReadReq 128",
       [](World& w) { nic(w).config.pcie.value.max_read_request_bytes = 128; }},
      {"pcie_read_request", kFail, "port 0000:16:00.0 takes smaller packets",
       [](World& w) { w.node.pci["0000:16:00.0"].config.pcie.value.max_payload_bytes = 128; }},
      {"pcie_read_request", kUnknown, "nobody may read it",
       [](World& w) { hide(nic(w).config.pcie); }, "CAP_SYS_ADMIN"},
      {"relaxed_ordering", kPass, "loosely"},
      {"relaxed_ordering", kWarn, "waits for the one before",
       [](World& w) { nic(w).config.pcie.value.relaxed_ordering = false; }, "PCI_WR_ORDERING"},
      {"relaxed_ordering", kUnknown, "nobody may read it",
       [](World& w) { hide(nic(w).config.pcie); }},
      {"gpu_nic_distance", kPass, "PIX"},
      {"gpu_nic_distance", kWarn, "SYS", move_nic_away},
      {"gpu_nic_distance", kFail, "SYS",
       [](World& w) {
         move_nic_away(w);
         w.required = {"gpu_nic_distance"};
       }},
      {"gpu_nic_distance", kWaived, "by design",
       [](World& w) {
         move_nic_away(w);
         w.node.gpus[0].model.value = "NVIDIA GH200 480GB";
       }},
      {"gpu_nic_distance", kUnknown, "is not known", [](World& w) { nic(w).host_bridge = ""; }},
      {"numa_locality", kPass, "NUMA node 0"},
      {"numa_locality", kWarn, "does not tell", [](World& w) { gpu(w).numa_node.value = -1; }},
      {"numa_locality", kWarn, "moves pages", [](World& w) { w.node.numa_balancing.value = true; },
       "kernel.numa_balancing=0"},
      {"numa_locality", kFail, "the agent may use 16-31 alone",
       [](World& w) { w.node.limits.cgroup_cpus.value = "16-31"; }},
      {"numa_locality", kUnknown, "nobody may read it",
       [](World& w) { hide(gpu(w).numa_node); }},
  };
}

std::vector<Case> fabric_cases() {
  return {
      {"port_state", kPass, "active, 400 Gb/s, ethernet"},
      {"port_state", kFail, "down, disabled",
       [](World& w) {
         port(w).state.value = "down";
         port(w).phys_state.value = "disabled";
       },
       "ip link set ens1 up"},
      {"port_state", kFail, "its sisters run at 400 Gb/s",
       [](World& w) {
         w.node.rdma.push_back(w.node.rdma[0]);
         w.node.rdma[1].name = "mlx5_1";
         w.node.rdma[1].ports[0].rate_bits_per_second.value = 200e9;
       }},
      {"port_state", kUnknown, "nobody may read it", [](World& w) { hide(port(w).state); }},
      {"mtu", kPass, "RDMA can use 4096"},
      {"mtu", kWarn, "RDMA can use 1024 bytes alone",
       [](World& w) { w.node.nets[0].mtu_bytes.value = 1500; }, "ip link set ens1 mtu 9000"},
      {"mtu", kUnknown, "nobody may read it", [](World& w) { hide(w.node.nets[0].mtu_bytes); }},
      {"mtu", kUnknown, "InfiniBand",
       [](World& w) { port(w).link_layer.value = "infiniband"; }},
      {"gid", kPass, "at index 3"},
      {"gid", kFail, "no GID is of RoCE v2", [](World& w) { port(w).gids.pop_back(); }},
      {"gid", kFail, "has no GID", [](World& w) { port(w).gids.clear(); }, "ip addr add"},
      {"gid", kWarn, "link-local alone",
       [](World& w) { port(w).gids[1].gid = "fe80:0000:0000:0000:0000:0000:0000:0001"; }},
      {"gid", kFail, "no LID",
       [](World& w) {
         port(w).link_layer.value = "infiniband";
         port(w).lid = told<std::uint32_t>(0);
       }},
      {"gid", kUnknown, "types of its GIDs are not told",
       [](World& w) {
         for (GidEntry& entry : port(w).gids) entry.type.clear();
       }},
      {"lossless", kPass, "trust is dscp"},
      {"lossless", kWarn, "trust is pcp",
       [](World& w) { w.node.nets[0].qos["qos/trust"].value = "pcp"; }, "mlnx_qos -i ens1"},
      {"lossless", kUnknown, "stand in no file", [](World& w) { w.node.nets[0].qos.clear(); }},
      {"congestion_control", kPass, "on for priorities 3"},
      {"congestion_control", kWarn, "notifies or reacts, not both",
       [](World& w) { w.node.nets[0].qos["ecn/roce_rp/enable/3"].value = "0"; },
       "roce_rp/enable/3"},
      {"congestion_control", kUnknown, "stands in no file",
       [](World& w) { w.node.nets[0].qos.clear(); }},
      {"port_errors", kPass, "no error counter stands out"},
      {"port_errors", kWarn, "symbol_error 5000",
       [](World& w) { port(w).counters.value["symbol_error"] = 5000; }},
      {"port_errors", kWarn, "counts no more",
       [](World& w) { port(w).counters.value["symbol_error"] = 0xffffffffU; }},
      {"port_errors", kUnknown, "nobody may read it",
       [](World& w) {
         hide(port(w).counters);
         hide(port(w).hw_counters);
       }},
      {"nic_firmware", kPass, "28.39.1002 on mlx5_0"},
      {"nic_firmware", kWarn, "28.39.1002 on mlx5_0, 28.40.1000 on mlx5_1",
       [](World& w) {
         w.node.rdma.push_back(w.node.rdma[0]);
         w.node.rdma[1].name = "mlx5_1";
         w.node.rdma[1].firmware.value = "28.40.1000";
       }},
      {"nic_firmware", kUnknown, "nobody may read it",
       [](World& w) { hide(w.node.rdma[0].firmware); }},
      {"versions", kPass, "GPU driver 550.54.15"},
      {"versions", kError, "makes no sense", [](World& w) { spoil(w.node.gpu_driver); }},
      {"versions", kUnknown, "nobody may read it", [](World& w) { hide(w.node.kernel_release); }},
      {"minimum_versions", kPass, "at least 418.40 is needed"},
      {"minimum_versions", kFail, "410.48; at least 418.40",
       [](World& w) { w.node.gpu_driver.value = "410.48"; }},
      {"minimum_versions", kFail, "at least 4.5",
       [](World& w) { w.node.ofed.value = "MLNX_OFED_LINUX-4.4-2.0.7"; }},
      {"minimum_versions", kFail, "older than ConnectX-3 Pro",
       [](World& w) { nic(w).device.value = 0x1003; }},
      {"minimum_versions", kFail, "data centre and workstation",
       [](World& w) { w.node.gpus[0].model.value = "NVIDIA GeForce RTX 4090"; }},
      {"minimum_versions", kFail, "3.5 is needed",
       [](World& w) { nvml(w).compute_capability.value = 30; }},
      {"minimum_versions", kError, "is no version",
       [](World& w) { w.node.gpu_driver.value = "none"; }},
      {"minimum_versions", kUnknown, "nobody may read it",
       [](World& w) { hide(w.node.gpu_driver); }},
  };
}

std::vector<Case> health_cases() {
  return {
      {"gpu_ecc", kPass, "ECC is on"},
      {"gpu_ecc", kFail, "ECC is off", [](World& w) { nvml(w).ecc_enabled.value = false; },
       "nvidia-smi -i 0000:18:00.0 -e 1"},
      {"gpu_ecc", kFail, "waits for a reset",
       [](World& w) { nvml(w).remap_pending.value = true; }, "--gpu-reset"},
      {"gpu_ecc", kFail, "spare rows are used up",
       [](World& w) { nvml(w).remap_failed.value = true; }},
      {"gpu_ecc", kFail, "3 uncorrected",
       [](World& w) { nvml(w).ecc_volatile_uncorrected.value = 3; }},
      {"gpu_ecc", kUnknown, "only NVML tells", [](World& w) { hide(nvml(w).ecc_enabled); }},
      {"xid", kPass, "no fatal Xid"},
      {"xid", kPass, "no fatal Xid",
       [](World& w) { log_line(w, "NVRM: Xid (PCI:0000:18:00): 31, pid=7, name=x"); }},
      {"xid", kFail, "79",
       [](World& w) { log_line(w, "NVRM: Xid (PCI:0000:18:00): 79, pid=7, GPU has fallen"); },
       "reboot"},
      {"xid", kPass, "no fatal Xid",
       [](World& w) { log_line(w, "NVRM: Xid (PCI:0000:99:00): 79, another GPU"); }},
      {"xid", kFail, "SXid",
       [](World& w) {
         log_line(w, "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 30");
       }},
      {"xid", kUnknown, "nobody may read it", [](World& w) { hide(w.node.kernel_log); }},
      {"gpu_mode", kPass, "persistence is on"},
      {"gpu_mode", kWarn, "persistence is off",
       [](World& w) { nvml(w).persistence_mode.value = false; }, "nvidia-persistenced"},
      {"gpu_mode", kFail, "MIG is on", [](World& w) { nvml(w).mig_mode.value = true; }, "-mig 0"},
      {"gpu_mode", kWarn, "2 processes compute on it",
       [](World& w) { nvml(w).compute_processes.value = 2; }},
      {"gpu_mode", kUnknown, "only NVML tells",
       [](World& w) {
         hide(nvml(w).persistence_mode);
         hide(nvml(w).compute_mode);
       }},
      {"gpu_clocks", kPass, "1980 of 1980 MHz"},
      {"gpu_clocks", kPass, "power cap", [](World& w) { nvml(w).clock_reasons.value = 0x4; }},
      {"gpu_clocks", kFail, "hardware slowdown, external power brake",
       [](World& w) { nvml(w).clock_reasons.value = 0x88; }},
      {"gpu_clocks", kUnknown, "only NVML tells", [](World& w) { hide(nvml(w).clock_reasons); }},
      {"nvlink", kPass, "18 of 18 links are up"},
      {"nvlink", kFail, "17 of 18",
       [](World& w) { nvml(w).nvlink_active.value[4] = false; }, "nvidia-fabricmanager"},
      {"nvlink", kFail, "0 of 18",
       [](World& w) { nvml(w).nvlink_active.value.assign(18, false); }},
      {"nvlink", kFail, "has not joined", [](World& w) { nvml(w).fabric_state.value = 2; }},
      {"nvlink", kWaived, "has no NVLink", [](World& w) { lack(nvml(w).nvlink_active); }},
      {"nvlink", kUnknown, "only NVML tells", [](World& w) { hide(nvml(w).nvlink_active); }},
  };
}

std::vector<Case> host_cases() {
  return {
      {"locked_memory", kPass, "unlimited"},
      {"locked_memory", kFail, "8 MiB",
       [](World& w) { w.node.limits.memlock_soft_bytes.value = 8U << 20U; }, "LimitMEMLOCK"},
      {"locked_memory", kPass, "IPC_LOCK",
       [](World& w) {
         w.node.limits.memlock_soft_bytes.value = 8U << 20U;
         w.node.limits.cap_ipc_lock.value = true;
       }},
      {"locked_memory", kUnknown, "nobody may read it",
       [](World& w) { hide(w.node.limits.memlock_soft_bytes); }},
      {"cgroup", kPass, "no limit"},
      {"cgroup", kWarn, "100 MiB of 200 MiB",
       [](World& w) {
         w.node.limits.cgroup_memory_max_bytes.value = 200U << 20U;
         w.node.limits.cgroup_memory_now_bytes = told<std::uint64_t>(100U << 20U);
       }},
      {"cgroup", kFail, "hca_handle=0",
       [](World& w) {
         w.node.limits.cgroup_rdma_max["mlx5_0"] = told<std::string>("hca_handle=0 hca_object=9");
       }},
      {"cgroup", kError, "names no processor",
       [](World& w) { w.node.limits.cgroup_cpus.value = "\xff\xfe"; }},
      {"cgroup", kUnknown, "nobody may read it",
       [](World& w) { hide(w.node.limits.cgroup_memory_max_bytes); }},
      {"hugepages", kPass, "1024 MiB are free"},
      {"hugepages", kWarn, "no huge page is reserved",
       [](World& w) { w.node.huge_pages_free.value = 0; }, "vm.nr_hugepages"},
      {"hugepages", kUnknown, "nobody may read it",
       [](World& w) { hide(w.node.huge_pages_free); }},
      {"cpu_power", kPass, "performance on 32"},
      {"cpu_power", kWarn, "powersave on 32",
       [](World& w) { w.node.cpu.governors.value = {{"powersave", 32}}; },
       "cpupower frequency-set -g performance"},
      {"cpu_power", kWaived, "does not choose", [](World& w) { lack(w.node.cpu.governors); }},
      {"cpu_power", kUnknown, "nobody may read it", [](World& w) { hide(w.node.cpu.governors); }},
      {"rdma_device_nodes", kPass, "/dev/infiniband/uverbs0 opens"},
      {"rdma_device_nodes", kFail, "/dev/infiniband/uverbs0 is not there",
       [](World& w) { w.node.device_nodes.erase("/dev/infiniband/uverbs0"); }, "rdma/NAME"},
      {"rdma_device_nodes", kFail, "does not open",
       [](World& w) { w.node.device_nodes["/dev/infiniband/uverbs0"].can_open.value = false; }},
      {"rdma_device_nodes", kUnknown, "nobody may read it",
       [](World& w) { hide(w.node.device_nodes["/dev/infiniband/uverbs0"].can_open); }},
      {"bar_copy_driver", kPass, "is loaded and opens"},
      {"bar_copy_driver", kWaived, "gdrdrv is not loaded",
       [](World& w) { unload(w, "gdrdrv"); }, "modprobe gdrdrv"},
      {"bar_copy_driver", kFail, "/dev/gdrdrv is not there",
       [](World& w) { w.node.device_nodes.erase("/dev/gdrdrv"); }},
      {"bar_copy_driver", kUnknown, "nobody may read it",
       [](World& w) { hide(w.node.device_nodes["/dev/gdrdrv"].can_open); }},
  };
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (auto cases : {memory_cases(), path_cases(), fabric_cases(), health_cases(), host_cases()})
    all.insert(all.end(), cases.begin(), cases.end());
  return all;
}

class Checks : public testing::TestWithParam<Case> {};

TEST_P(Checks, SaysWhatTheNodeIs) {
  const Case& one = GetParam();
  World world;
  one.change(world);
  const Check* check = find_check(one.check);
  ASSERT_NE(check, nullptr) << one.check;
  const CheckResults results = check->judge(world.input());
  ASSERT_FALSE(results.empty());
  const auto worst = std::ranges::max_element(
      results, {}, [](const CheckResult& result) { return weight(result.state); });
  EXPECT_EQ(worst->state, one.state) << worst->subject << ": " << worst->observed;
  std::string observed;
  for (const CheckResult& result : results)
    observed += fmt::format("{}: {}\n", result.subject, result.observed);
  EXPECT_THAT(observed, HasSubstr(one.says));
  EXPECT_THAT(fmt::format("{}", fmt::join(worst->remedy, "\n")), HasSubstr(one.remedy));
  if (worst->state == kFail || worst->state == kWarn) {
    EXPECT_FALSE(worst->remedy.empty() && one.remedy[0] != 0) << "a fault without a remedy";
    EXPECT_FALSE(worst->source.empty()) << "a fact without its source";
  }
}

INSTANTIATE_TEST_SUITE_P(EveryCase, Checks, testing::ValuesIn(all_cases()), [](const auto& each) {
  return fmt::format("{}_{}_{}", each.param.check, words_of(each.param.state), each.index);
});

// Checks that cannot fail: what they lack is a warning, a record, or taken away with its kernel.
const std::set<std::string_view> kWarnAtMost{"peermem_mode",  "mtu",       "relaxed_ordering",
                                             "lossless",      "hugepages", "congestion_control",
                                             "port_errors",   "versions",  "nic_firmware",
                                             "cpu_power"};

TEST(CheckTable, EveryCheckHasItsThreeTests) {
  std::map<std::string_view, std::set<CheckState>> seen;
  for (const Case& one : all_cases()) seen[one.check].insert(one.state);
  for (const Check& check : all_checks()) {
    const std::set<CheckState>& states = seen[check.id];
    EXPECT_TRUE(states.contains(kPass)) << check.id;
    EXPECT_TRUE(states.contains(kUnknown)) << check.id;
    EXPECT_TRUE(states.contains(kFail) ||
                (kWarnAtMost.contains(check.id) &&
                 (states.contains(kWarn) || states.contains(kError))))
        << check.id;
  }
}

TEST(CheckTable, HasThirtySixChecksAndTheMinimumVersionsWithDistinctIds) {
  std::set<std::string_view> ids;
  for (const Check& check : all_checks()) {
    ids.insert(check.id);
    EXPECT_FALSE(check.title.empty());
    EXPECT_FALSE(check.why.empty());
  }
  EXPECT_EQ(all_checks().size(), 37U);
  EXPECT_EQ(ids.size(), all_checks().size());
}

TEST(CheckTable, AnEmptyInventoryNeverPassesAnythingThatItDoesNotKnow) {
  const Inventory nothing;
  const CheckInput input{.node = nothing};
  for (const Check& check : all_checks())
    for (const CheckResult& result : check.judge(input))
      EXPECT_NE(result.state, kFail) << check.id << ": " << result.observed;
}

TEST(CheckTable, AcsRemedyNamesTheExactPortsTheBootWayAndTheCost) {
  World world;
  for (const char* port : {kSampleGpuPort, kSampleNicPort})
    world.node.pci[port].config.acs.value.control = 0x1d;
  const CheckResults results = judge_acs(world.input());
  ASSERT_EQ(results.size(), 1U);
  const std::string text = fmt::format("{}", fmt::join(results[0].remedy, "\n"));
  EXPECT_THAT(text, HasSubstr("setpci -s 0000:17:00.0 ECAP_ACS+6.w=0001"));
  EXPECT_THAT(text, HasSubstr("ExecStart=/usr/bin/setpci -s 0000:17:01.0 ECAP_ACS+6.w=0001"));
  EXPECT_THAT(text, HasSubstr("pci=config_acs=x0000xx@0000:17:00.0;x0000xx@0000:17:01.0"));
  EXPECT_THAT(text, HasSubstr("cost"));
  EXPECT_THAT(text, testing::Not(HasSubstr("0000:16:00.0")));
}

TEST(CheckTable, DataDirectPortsMustRedirectAsThatPlatformNeedsIt) {
  World world;
  PciDevice dma = world.node.pci[kSampleNic];
  dma.address = "0000:19:00.1";
  dma.device.value = 0x2100;
  world.node.pci[dma.address] = dma;
  EXPECT_EQ(judge_acs(world.input())[0].state, kFail);  // all clear is wrong there
  world.node.pci[kSampleGpuPort].config.acs.value.control =
      kAcsSourceValidation | kAcsRequestRedirect | kAcsUpstreamForwarding;
  world.node.pci[kSampleNicPort].config.acs.value.control =
      kAcsSourceValidation | kAcsCompletionRedirect | kAcsUpstreamForwarding;
  EXPECT_EQ(judge_acs(world.input())[0].state, kPass);
}

}  // namespace
}  // namespace railgauge::agent

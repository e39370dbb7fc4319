#include "agent/preflight/testing/sample_node.h"

#include <fmt/format.h>

namespace railgauge::agent {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

PciDevice pci(const char* address, std::uint32_t class_code, std::uint32_t vendor,
              std::uint32_t device, std::vector<std::string> bridges) {
  PciDevice one;
  one.address = address;
  one.host_bridge = "pci0000:15";
  one.bridges = std::move(bridges);
  one.class_code = told(class_code);
  one.vendor = told(vendor);
  one.device = told(device);
  one.numa_node = told(0);
  one.local_cpus = told<std::string>("0-15");
  one.link_gigatransfers = told(32.0);
  one.max_link_gigatransfers = told(32.0);
  one.link_width = told<std::uint32_t>(16);
  one.max_link_width = told<std::uint32_t>(16);
  one.iommu_group = told<std::uint32_t>(7);
  one.iommu_group_type = told<std::string>("identity");
  lack(one.physical_function);
  one.aer_correctable = told(Counters{{"RxErr", 0}, {"TOTAL_ERR_COR", 0}});
  one.aer_nonfatal = told(Counters{{"TOTAL_ERR_NONFATAL", 0}});
  one.aer_fatal = told(Counters{{"TOTAL_ERR_FATAL", 0}});
  one.config.pcie = told(PcieControl{.port_type = 0,
                                     .relaxed_ordering = true,
                                     .max_payload_bytes = 512,
                                     .max_read_request_bytes = 4096});
  lack(one.config.acs);
  return one;
}

void add_pci(Inventory& node) {
  const std::vector<std::string> above{"0000:15:01.0", "0000:16:00.0"};
  const auto below = [&](const char* port) {
    std::vector<std::string> bridges = above;
    bridges.emplace_back(port);
    return bridges;
  };
  const auto add = [&](PciDevice device) { node.pci[device.address] = std::move(device); };
  const auto add_port = [&](PciDevice device, std::uint8_t port_type) {
    device.config.pcie.value.port_type = port_type;
    add(std::move(device));
  };
  add_port(pci("0000:15:01.0", 0x060400, 0x8086, 0x352a, {}), 4);
  add_port(pci(kSampleUplink, 0x060400, 0x1000, 0xc030, {"0000:15:01.0"}), 5);
  for (const char* port : {kSampleGpuPort, kSampleNicPort}) {
    PciDevice device = pci(port, 0x060400, 0x1000, 0xc030, above);
    device.config.acs = told(PciAcs{.capability = 0x5f, .control = 0, .offset = 0x100});
    add_port(std::move(device), 6);
  }
  PciDevice gpu = pci(kSampleGpu, 0x030200, 0x10de, 0x2330, below(kSampleGpuPort));
  gpu.bars = told(std::vector<PciBar>{{.bytes = 128 * kGiB, .is_prefetchable = true}});
  add(std::move(gpu));
  add(pci(kSampleNic, 0x020000, 0x15b3, 0x1021, below(kSampleNicPort)));
}

GpuFacts sample_gpu() {
  GpuFacts gpu;
  gpu.name = "gpu0";
  gpu.pci_address = kSampleGpu;
  gpu.state = "active";
  gpu.model = told<std::string>("NVIDIA H100 80GB HBM3");
  NvmlGpu& nvml = gpu.nvml;
  nvml.bar1_total_bytes = told(128 * kGiB);
  nvml.memory_total_bytes = told(80 * kGiB);
  nvml.ecc_enabled = told(true);
  nvml.ecc_volatile_uncorrected = told<std::uint64_t>(0);
  nvml.remap_pending = told(false);
  nvml.remap_failed = told(false);
  nvml.persistence_mode = told(true);
  nvml.mig_mode = told(false);
  nvml.compute_mode = told<std::uint32_t>(0);
  nvml.sm_clock_mhz = told<std::uint32_t>(1980);
  nvml.max_sm_clock_mhz = told<std::uint32_t>(1980);
  nvml.clock_reasons = told<std::uint64_t>(0);
  nvml.compute_processes = told<std::uint32_t>(0);
  nvml.nvlink_active = told(std::vector<bool>(18, true));
  nvml.fabric_state = told<std::uint32_t>(3);
  nvml.fabric_status = told<std::uint32_t>(0);
  nvml.compute_capability = told<std::uint32_t>(90);
  return gpu;
}

RdmaDevice sample_nic() {
  RdmaDevice nic;
  nic.name = "mlx5_0";
  nic.pci_address = kSampleNic;
  nic.driver = "mlx5_core";
  nic.firmware = told<std::string>("28.39.1002");
  nic.board_id = told<std::string>("MT_0000000838");
  nic.model = told<std::string>("MT4129");
  nic.uverbs = told<std::string>("uverbs0");
  nic.netdevs = {"ens1"};
  RdmaPort port;
  port.port = 1;
  port.state = told<std::string>("active");
  port.phys_state = told<std::string>("linkup");
  port.rate_bits_per_second = told(400e9);
  port.link_layer = told<std::string>("ethernet");
  port.gids = {{.index = 0, .gid = "fe80:0000:0000:0000:0000:0000:0000:0001", .type = "IB/RoCE v1"},
               {.index = 3, .gid = "0000:0000:0000:0000:0000:ffff:0a00:0001", .type = "RoCE v2"}};
  port.gids_told = told(true);
  port.counters = told(Counters{{"link_downed", 0}, {"symbol_error", 0}});
  port.hw_counters = told(Counters{{"out_of_sequence", 0}});
  nic.ports = {port};
  nic.ports_told = told(true);
  return nic;
}

NetDevice sample_net() {
  NetDevice net;
  net.name = "ens1";
  net.pci_address = kSampleNic;
  net.mtu_bytes = told<std::uint32_t>(9000);
  net.qos["qos/trust"] = told<std::string>("dscp");
  net.qos["dcb/pfc"] = told<std::string>("3");
  net.qos["ecn/roce_np/enable/3"] = told<std::string>("1");
  net.qos["ecn/roce_rp/enable/3"] = told<std::string>("1");
  return net;
}

void add_modules(Inventory& node) {
  node.loaded_modules = told(std::set<std::string>{"nvidia_peermem", "ib_core", "gdrdrv"});
  for (const char* name : {"nvidia_peermem", "ib_core", "gdrdrv"}) {
    ModuleFacts& module = node.modules[name];
    module.is_loaded = true;
    module.version = told<std::string>("550.54.15");
    module.file = told<std::string>(fmt::format("/lib/modules/6.8.0/updates/{}.ko", name));
    module.file_modified_unix_seconds = told(1.7e9);
  }
  node.modules["ib_core"].holders = {"nvidia_peermem"};
  node.modules["ib_core"].holders_told = told(true);
  node.modules["nvidia_peermem"].parameters_told = told(true);
  node.modules["nvidia_peermem"].parameters["peerdirect_support"] = told<std::string>("0");
  node.modules["nvidia_peermem"].parameters["persistent_api_support"] = told<std::string>("1");
  node.autoload = told(std::map<std::string, std::string>{
      {"nvidia_peermem", "/etc/modules-load.d/nvidia-peermem.conf"}});
  node.blacklist = told(std::map<std::string, std::string>{});
  node.packages = told(std::map<std::string, std::string>{});
  lack(node.services["nv_peer_mem"].enablement);
  node.dkms = told(std::map<std::string, std::string>{{"nvidia/550.54.15", "installed"}});
}

void add_system(Inventory& node) {
  node.cpu.vendor = told<std::string>("GenuineIntel");
  node.cpu.processors = told<std::uint32_t>(32);
  node.cpu.governors = told(std::map<std::string, std::uint32_t>{{"performance", 32}});
  node.cpu.idle_states =
      told(Facts{{"POLL", told<std::string>("enabled")}, {"C6", told<std::string>("disabled")}});
  node.cpu.smt_active = told(true);
  node.numa.resize(2);
  node.numa[1].number = 1;
  node.is_virtual_machine = told(false);
  node.kernel_release = told<std::string>("6.8.0-48-generic");
  node.kernel_command_line = told<std::string>("root=/dev/sda1 iommu=pt");
  node.iommus = told(std::vector<std::string>{"dmar0"});
  node.kernel_log = told(std::vector<std::string>{});
  node.huge_pages_free = told<std::uint64_t>(512);
  node.huge_page_bytes = told<std::uint64_t>(2 << 20);
  node.transparent_huge_pages = told<std::string>("madvise");
  node.numa_balancing = told(false);
  node.limits.memlock_soft_bytes = told(kUnlimited);
  node.limits.cgroup_memory_max_bytes = told(kUnlimited);
  node.limits.cgroup_cpus = told<std::string>("0-31");
  lack(node.limits.cgroup_rdma_told);
  node.limits.cap_ipc_lock = told(false);
  for (const char* path : {"/dev/infiniband/uverbs0", "/dev/infiniband/rdma_cm", "/dev/gdrdrv"})
    node.device_nodes[path].can_open = told(true);
}

}  // namespace

Inventory sample_node() {
  Inventory node;
  add_pci(node);
  node.gpus = {sample_gpu()};
  node.rdma = {sample_nic()};
  node.pci_told = told(true);
  node.rdma_told = told(true);
  node.nets = {sample_net()};
  add_modules(node);
  add_system(node);
  node.distribution = told<std::string>("ubuntu");
  node.distribution_version = told<std::string>("22.04");
  node.distribution_like = told<std::string>("debian");
  node.gpu_driver = told<std::string>("550.54.15");
  node.gpu_driver_flavour = told<std::string>("open");
  node.ofed = told<std::string>("MLNX_OFED_LINUX-24.10-0.7.0.0");
  node.rdma_core = told<std::string>("2410mlnx54");
  node.nccl = told<std::string>("2.21.5");
  node.cuda = told<std::string>("12.4");
  return node;
}

ProbeAnswer sample_probe() {
  return {.gpu = "gpu0",
          .nic = "mlx5_0",
          .state = ProbeAnswer::State::kRegistered,
          .path = "dma-buf",
          .text = "",
          .at_unix_seconds = 1.7e9};
}

}  // namespace railgauge::agent

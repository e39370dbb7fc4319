// The facts of a modelled node, part by part.
#include <array>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "agent/fleet/model/modelled_fabric.h"
#include "agent/fleet/model/node_state.h"
#include "agent/fleet/node/modelled_node.h"
#include "kernels/core/text/units.h"

namespace railgauge::fleet {
namespace {

using agent::Fact;
using agent::Inventory;
using agent::PciDevice;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;
constexpr std::uint32_t kSocketProcessors = 64;
constexpr std::uint8_t kRootPort = 4;
constexpr std::uint8_t kUpstream = 5;
constexpr std::uint8_t kDownstream = 6;
constexpr std::uint32_t kBridgeClass = 0x060400;
constexpr double kNeverModified = 1.7e9;

// Every fact names the model as its source.
template <class T>
Fact<T> known(T value) {
  return Fact<T>::known(std::move(value), kSynthetic);
}
template <class T>
void lack(Fact<T>& fact) {
  fact = Fact<T>::absent(kSynthetic);
}
Fact<std::string> word(std::string text) { return known(std::move(text)); }

// Fills one inventory.
class NodeFiller {
 public:
  NodeFiller(const Scenario& scenario, std::uint32_t node, Nanoseconds time_ns, Inventory& out)
      : scenario_(scenario),
        node_(node),
        time_ns_(time_ns),
        hardware_(scenario.hardware(node)),
        stack_(stack_at(scenario, node, time_ns)),
        out_(out) {}

  void fill() {
    for (std::uint32_t nic = 0; nic < hardware_.nics; ++nic) add_nic(nic);
    for (std::uint32_t gpu = 0; gpu < hardware_.gpus; ++gpu) add_gpu(gpu);
    out_.pci_told = known(true);
    out_.rdma_told = known(true);
    add_modules();
    add_machine();
    add_limits();
    add_versions();
  }

 private:
  [[nodiscard]] const std::string& version(const char* key) const {
    return stack_.versions.at(key);
  }
  [[nodiscard]] std::uint32_t setting(const char* key) const {
    return static_cast<std::uint32_t>(parse_number(stack_.settings.at(key)).value_or(0));
  }
  [[nodiscard]] bool is_on(const char* key) const { return setting(key) != 0; }
  [[nodiscard]] int socket_of(std::uint32_t nic) const {
    return static_cast<int>(nic * hardware_.sockets / hardware_.nics);
  }
  [[nodiscard]] std::string processors_of(int socket) const {
    const auto first = static_cast<std::uint32_t>(socket) * kSocketProcessors;
    return fmt::format("{}-{}", first, first + kSocketProcessors - 1);
  }

  // Each NIC has a PCI domain of its own: root port, switch, and behind it NIC and GPUs.
  static std::string address(std::uint32_t domain, std::uint32_t bus, std::uint32_t device) {
    return fmt::format("{:04x}:{:02x}:{:02x}.0", domain, bus, device);
  }
  static std::string root_port(std::uint32_t nic) { return address(nic, 0, 1); }
  static std::string uplink(std::uint32_t nic) { return address(nic, 1, 0); }
  // Slot 0 is the NIC's, the following ones are those of GPUs.
  static std::string slot_port(std::uint32_t nic, std::uint32_t slot) {
    return address(nic, 2, slot);
  }
  static std::string in_slot(std::uint32_t nic, std::uint32_t slot) {
    return address(nic, 3 + slot, 0);
  }

  PciDevice pci(std::string at, std::uint32_t nic, std::uint32_t class_code, std::uint32_t vendor,
                std::uint32_t device, std::vector<std::string> bridges) {
    PciDevice one;
    one.address = std::move(at);
    one.host_bridge = fmt::format("pci{:04x}:00", nic);
    one.bridges = std::move(bridges);
    one.class_code = known(class_code);
    one.vendor = known(vendor);
    one.device = known(device);
    one.numa_node = known(socket_of(nic));
    one.local_cpus = word(processors_of(socket_of(nic)));
    one.link_gigatransfers = one.max_link_gigatransfers = known(32.0);
    one.link_width = one.max_link_width = known<std::uint32_t>(16);
    one.iommu_group = known<std::uint32_t>(nic);
    one.iommu_group_type = word("identity");
    lack(one.physical_function);
    one.aer_correctable = known(agent::Counters{{"TOTAL_ERR_COR", 0}});
    one.aer_nonfatal = known(agent::Counters{{"TOTAL_ERR_NONFATAL", 0}});
    one.aer_fatal = known(agent::Counters{{"TOTAL_ERR_FATAL", 0}});
    one.config.pcie =
        known(agent::PcieControl{.relaxed_ordering = is_on("relaxed_ordering"),
                                 .max_payload_bytes = 512,
                                 .max_read_request_bytes = setting("max_read_request_bytes")});
    lack(one.config.acs);
    lack(one.config.ats_enabled);
    return one;
  }
  void add(PciDevice device) { out_.pci[device.address] = std::move(device); }
  void add_bridge(const std::string& at, std::uint32_t nic, std::uint8_t port_type,
                  std::vector<std::string> bridges) {
    PciDevice bridge = pci(at, nic, kBridgeClass, 0x1000, 0xc030, std::move(bridges));
    bridge.config.pcie.value.port_type = port_type;
    if (port_type == kDownstream)
      bridge.config.acs = known(agent::PciAcs{
          .capability = 0x5f,
          .control = static_cast<std::uint16_t>(
              is_on("acs") ? agent::kAcsSourceValidation | agent::kAcsRequestRedirect |
                                 agent::kAcsCompletionRedirect | agent::kAcsUpstreamForwarding
                           : 0),
          .offset = 0x100});
    add(std::move(bridge));
  }

  [[nodiscard]] std::vector<std::string> bridges_to(std::uint32_t nic, std::uint32_t slot) const {
    return {root_port(nic), uplink(nic), slot_port(nic, slot)};
  }

  void add_nic(std::uint32_t nic) {
    add_bridge(root_port(nic), nic, kRootPort, {});
    add_bridge(uplink(nic), nic, kUpstream, {root_port(nic)});
    add_bridge(slot_port(nic, 0), nic, kDownstream, {root_port(nic), uplink(nic)});
    PciDevice device = pci(in_slot(nic, 0), nic, 0x020700, 0x15b3, 0x1021, bridges_to(nic, 0));
    device.driver = word("mlx5_core");
    add(std::move(device));
    const std::string netdev = fmt::format("{}{}", is_ethernet() ? "eth" : "ib", nic);
    agent::RdmaDevice rdma;
    rdma.name = nic_name(nic);
    rdma.pci_address = in_slot(nic, 0);
    rdma.driver = "mlx5_core";
    rdma.node_guid = word(fmt::format("0c42:a103:{:04x}:{:04x}", node_, nic));
    rdma.node_type = word("ca");
    rdma.firmware = word(version("nic_firmware"));
    rdma.board_id = word("MODELLED");
    rdma.model = word(hardware_.nic_model);
    rdma.uverbs = word(fmt::format("uverbs{}", nic));
    rdma.registers_dmabuf = known(true);
    rdma.netdevs = {netdev};
    rdma.ports = {port(nic, netdev)};
    rdma.ports_told = known(true);
    out_.rdma.push_back(std::move(rdma));
    out_.nets.push_back(net(nic, netdev));
    out_.device_nodes[fmt::format("/dev/infiniband/uverbs{}", nic)].can_open = known(true);
  }

  [[nodiscard]] bool is_ethernet() const { return hardware_.link_layer == LinkLayer::kEthernet; }

  agent::RdmaPort port(std::uint32_t nic, const std::string& netdev) const {
    const bool down = is_link_down(scenario_, node_, static_cast<std::int32_t>(nic), time_ns_);
    agent::RdmaPort made;
    made.port = 1;
    made.state = word(down ? "down" : "active");
    made.phys_state = word(down ? "polling" : "linkup");
    made.rate_bits_per_second = known(hardware_.nic_rate * 8);
    made.link_layer = word(is_ethernet() ? "ethernet" : "infiniband");
    made.active_mtu_bytes = made.max_mtu_bytes = known<std::uint32_t>(4'096);
    made.lid = known<std::uint32_t>(is_ethernet() ? 0 : node_ * kMaxRails + nic + 1);
    const std::string local =
        fmt::format("fe80:0000:0000:0000:0c42:a103:{:04x}:{:04x}", node_, nic);
    if (is_ethernet())
      made.gids = {
          {.index = 0, .gid = local, .type = "IB/RoCE v1", .netdev = netdev},
          {.index = 3,
           .gid = fmt::format("0000:0000:0000:0000:0000:ffff:{:04x}:{:04x}", 0x0a00U + nic, node_),
           .type = "RoCE v2",
           .netdev = netdev}};
    else
      made.gids = {{.index = 0, .gid = local, .type = "", .netdev = netdev}};
    made.gids_told = known(true);
    made.counters = known(agent::Counters{{"link_downed", down ? 1U : 0U}, {"symbol_error", 0}});
    made.hw_counters = known(agent::Counters{{"out_of_sequence", 0}, {"packet_seq_err", 0}});
    return made;
  }

  [[nodiscard]] agent::NetDevice net(std::uint32_t nic, const std::string& netdev) const {
    agent::NetDevice made;
    made.name = netdev;
    made.pci_address = in_slot(nic, 0);
    made.driver = "mlx5_core";
    made.mtu_bytes = known(setting("mtu_bytes"));
    if (is_ethernet()) {
      made.qos["qos/trust"] = word("dscp");
      made.qos["dcb/pfc"] = word("3");
      made.qos["ecn/roce_np/enable/3"] = word("1");
      made.qos["ecn/roce_rp/enable/3"] = word("1");
    }
    return made;
  }

  void add_gpu(std::uint32_t gpu) {
    const std::uint32_t nic = gpu * hardware_.nics / hardware_.gpus;
    const std::uint32_t slot = ++gpus_of_[nic];
    add_bridge(slot_port(nic, slot), nic, kDownstream, {root_port(nic), uplink(nic)});
    PciDevice device =
        pci(in_slot(nic, slot), nic, 0x030200, 0x10de, 0x2330, bridges_to(nic, slot));
    device.driver = word("nvidia");
    device.bars = known(std::vector<agent::PciBar>{{.bytes = 128 * kGiB, .is_prefetchable = true}});
    add(std::move(device));
    agent::GpuFacts facts;
    facts.name = gpu_name(gpu);
    facts.pci_address = in_slot(nic, slot);
    facts.state = "active";
    facts.model = word(hardware_.gpu_model);
    facts.uuid = word(fmt::format("GPU-{:08x}-0000-4000-8000-{:012x}", node_, gpu));
    facts.vbios = word(version("gpu_vbios"));
    fill_nvml(facts.nvml);
    out_.gpus.push_back(std::move(facts));
  }

  static void fill_nvml(agent::NvmlGpu& nvml) {
    constexpr std::uint32_t kClockMhz = 1'980;
    constexpr std::size_t kLinks = 18;
    nvml.bar1_total_bytes = known(128 * kGiB);
    nvml.bar1_used_bytes = known(std::uint64_t{0});
    nvml.memory_total_bytes = known(80 * kGiB);
    nvml.ecc_enabled = nvml.persistence_mode = known(true);
    nvml.ecc_volatile_uncorrected = nvml.ecc_volatile_corrected = known(std::uint64_t{0});
    nvml.remap_pending = nvml.remap_failed = nvml.mig_mode = known(false);
    nvml.compute_mode = nvml.compute_processes = known<std::uint32_t>(0);
    nvml.sm_clock_mhz = nvml.max_sm_clock_mhz = known(kClockMhz);
    nvml.clock_reasons = nvml.pcie_replays = known(std::uint64_t{0});
    nvml.nvlink_active = known(std::vector<bool>(kLinks, true));
    nvml.nvlink_remotes = known(std::vector<std::string>(kLinks));
    nvml.fabric_state = known<std::uint32_t>(3);
    nvml.fabric_status = known<std::uint32_t>(0);
    nvml.compute_capability = known<std::uint32_t>(90);
  }

  void add_module(const char* name, const std::string& of_version) {
    agent::ModuleFacts& module = out_.modules[name];
    module.is_loaded = true;
    module.version = word(of_version);
    module.parameters_told = module.holders_told = known(true);
    module.file = word(fmt::format("/lib/modules/{}/updates/{}.ko", version("linux_kernel"), name));
    module.file_modified_unix_seconds = known(kNeverModified);
  }

  void add_modules() {
    const bool peermem = hardware_.gpus > 0 && is_on("peermem");
    std::set<std::string> loaded{"ib_core", "mlx5_core"};
    add_module("ib_core", version("ofed"));
    add_module("mlx5_core", version("ofed"));
    if (hardware_.gpus > 0) {
      add_module("nvidia", version("gpu_driver"));
      add_module("gdrdrv", "2.4");
      loaded.insert({"nvidia", "gdrdrv"});
      out_.device_nodes["/dev/gdrdrv"].can_open = known(true);
      out_.gpu_driver = word(version("gpu_driver"));
      out_.gpu_driver_flavour = word("open");
      out_.dkms = known(
          std::map<std::string, std::string>{{"nvidia/" + version("gpu_driver"), "installed"}});
    } else {
      lack(out_.gpu_driver);
      lack(out_.gpu_driver_flavour);
      lack(out_.dkms);
    }
    if (peermem) {
      add_module("nvidia_peermem", version("gpu_driver"));
      agent::ModuleFacts& module = out_.modules["nvidia_peermem"];
      module.parameters["peerdirect_support"] = word("0");
      module.parameters["persistent_api_support"] = word("1");
      loaded.insert("nvidia_peermem");
      out_.modules["ib_core"].holders = {"nvidia_peermem"};
      out_.autoload.value["nvidia_peermem"] = "/etc/modules-load.d/nvidia-peermem.conf";
    }
    out_.loaded_modules = known(std::move(loaded));
    out_.autoload = known(out_.autoload.value);
    out_.blacklist = known(std::map<std::string, std::string>{});
    out_.module_options = known(std::map<std::string, std::string>{});
    out_.peer_memory_symbol = known(true);
    lack(out_.services["nv_peer_mem"].enablement);
  }

  void add_machine() {
    const std::uint32_t processors = hardware_.sockets * kSocketProcessors;
    out_.cpu.model = word(hardware_.cpu_model);
    out_.cpu.vendor = word("GenuineIntel");
    out_.cpu.processors = known(processors);
    out_.cpu.sockets = known(hardware_.sockets);
    out_.cpu.governors = known(std::map<std::string, std::uint32_t>{{"performance", processors}});
    out_.cpu.idle_driver = word("intel_idle");
    out_.cpu.idle_states = known(agent::Facts{{"POLL", word("enabled")}, {"C6", word("disabled")}});
    out_.cpu.smt_active = known(true);
    out_.cpu.microcode = word("0x1");
    for (std::uint32_t socket = 0; socket < hardware_.sockets; ++socket)
      out_.numa.push_back({.number = socket});
    out_.dmi["bios_version"] = word(version("bios"));
    out_.dmi["sys_vendor"] = word("Railgauge");
    out_.dmi["product_name"] = word(hardware_.name);
    out_.is_virtual_machine = known(false);
    out_.kernel_release = word(version("linux_kernel"));
    out_.kernel_command_line = word(stack_.settings.at("kernel_command_line"));
    out_.iommus = known(std::vector<std::string>{"dmar0"});
    out_.transparent_huge_pages = word("madvise");
    out_.numa_balancing = known(false);
    out_.rdma_netns_mode = word("shared");
    out_.kernel_log = known(std::vector<std::string>{});
    out_.memory_bytes = known(2'048 * kGiB);
    out_.huge_pages_free = known<std::uint64_t>(512);
    out_.huge_page_bytes = known<std::uint64_t>(2U << 20U);
  }

  void add_limits() {
    out_.limits.memlock_soft_bytes = known(agent::kUnlimited);
    out_.limits.cgroup_memory_max_bytes = known(agent::kUnlimited);
    out_.limits.cgroup_memory_now_bytes = known(kGiB);
    out_.limits.cgroup_cpus = word(fmt::format("0-{}", hardware_.sockets * kSocketProcessors - 1));
    lack(out_.limits.cgroup_rdma_told);
    out_.limits.cap_ipc_lock = known(false);
    out_.device_nodes["/dev/infiniband/rdma_cm"].can_open = known(true);
  }

  void add_versions() {
    out_.distribution = word("ubuntu");
    out_.distribution_version = word("22.04");
    out_.distribution_like = word("debian");
    out_.ofed = word(version("ofed"));
    out_.rdma_core = word(version("rdma_core"));
    out_.cuda = word(version("cuda"));
    out_.nccl = word(version("nccl"));
    out_.ucx = word(version("ucx"));
    lack(out_.openmpi);
    lack(out_.mpich);
    lack(out_.fabric_manager);
    lack(out_.nccl_conf);
    out_.packages = known(std::map<std::string, std::string>{});
  }

  const Scenario& scenario_;
  std::uint32_t node_;
  Nanoseconds time_ns_;
  const HardwareClass& hardware_;
  StackParts stack_;
  Inventory& out_;
  std::map<std::uint32_t, std::uint32_t> gpus_of_;
};

}  // namespace

Inventory inventory_at(const Scenario& scenario, std::uint32_t node, Nanoseconds time_ns) {
  RG_CHECK(node < scenario.fabric.nodes);
  Inventory out;
  NodeFiller(scenario, node, time_ns, out).fill();
  return out;
}

}  // namespace railgauge::fleet

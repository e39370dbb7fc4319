// Facts with any words and numbers in any state, put into the sample node: no check may crash, each
// result must be of one line and fit for the wire. LLVMFuzzerTestOneInput is libFuzzer's entry;
// here a plain test drives it. Synthetic.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "agent/preflight/report.h"
#include "agent/preflight/testing/sample_node.h"
#include "agent/preflight/text.h"

namespace railgauge::agent {
namespace {

constexpr int kRounds = 400;
constexpr std::size_t kMostEdits = 40;

// The fields of an inventory that hold words or numbers from a file.
struct Fields {
  std::vector<Fact<std::string>*> texts;
  std::vector<std::string*> words;
  std::vector<Fact<std::uint32_t>*> small;
  std::vector<Fact<std::uint64_t>*> large;
  std::vector<Fact<double>*> reals;
  std::vector<Fact<bool>*> flags;
  std::vector<Fact<Counters>*> counters;
  std::vector<Fact<std::map<std::string, std::string>>*> maps;
  std::vector<Fact<std::vector<std::string>>*> lists;

  void add(Facts& facts) {
    for (auto& [name, fact] : facts) texts.push_back(&fact);
  }
};

void add_pci(PciDevice& device, Fields& fields) {
  fields.texts.insert(fields.texts.end(), {&device.driver, &device.local_cpus,
                                           &device.iommu_group_type, &device.physical_function});
  fields.small.insert(fields.small.end(),
                      {&device.class_code, &device.vendor, &device.device, &device.link_width,
                       &device.max_link_width, &device.iommu_group});
  fields.reals.insert(fields.reals.end(),
                      {&device.link_gigatransfers, &device.max_link_gigatransfers});
  fields.counters.insert(fields.counters.end(),
                         {&device.aer_correctable, &device.aer_nonfatal, &device.aer_fatal});
  fields.words.insert(fields.words.end(), {&device.host_bridge});
  for (std::string& bridge : device.bridges) fields.words.push_back(&bridge);
}

void add_gpu(GpuFacts& gpu, Fields& fields) {
  NvmlGpu& nvml = gpu.nvml;
  fields.texts.insert(fields.texts.end(), {&gpu.model, &gpu.uuid, &gpu.vbios});
  fields.words.insert(fields.words.end(), {&gpu.pci_address, &gpu.state});
  fields.large.insert(fields.large.end(),
                      {&nvml.bar1_total_bytes, &nvml.bar1_used_bytes, &nvml.memory_total_bytes,
                       &nvml.ecc_volatile_uncorrected, &nvml.clock_reasons, &nvml.pcie_replays});
  fields.small.insert(fields.small.end(),
                      {&nvml.sm_clock_mhz, &nvml.max_sm_clock_mhz, &nvml.compute_mode,
                       &nvml.fabric_state, &nvml.fabric_status, &nvml.compute_capability});
  fields.flags.insert(fields.flags.end(),
                      {&nvml.ecc_enabled, &nvml.remap_pending, &nvml.remap_failed,
                       &nvml.persistence_mode, &nvml.mig_mode});
  fields.lists.push_back(&nvml.nvlink_remotes);
}

void add_rdma(RdmaDevice& device, Fields& fields) {
  fields.words.insert(fields.words.end(), {&device.name, &device.pci_address, &device.driver});
  fields.texts.insert(fields.texts.end(), {&device.node_type, &device.node_guid, &device.firmware,
                                           &device.board_id, &device.model, &device.uverbs});
  fields.flags.push_back(&device.ports_told);
  for (RdmaPort& port : device.ports) {
    fields.flags.push_back(&port.gids_told);
    fields.small.insert(fields.small.end(),
                        {&port.active_mtu_bytes, &port.max_mtu_bytes, &port.lid});
    fields.texts.insert(fields.texts.end(), {&port.state, &port.phys_state, &port.link_layer});
    fields.reals.push_back(&port.rate_bits_per_second);
    fields.counters.insert(fields.counters.end(), {&port.counters, &port.hw_counters});
    for (GidEntry& gid : port.gids)
      fields.words.insert(fields.words.end(), {&gid.gid, &gid.type, &gid.netdev});
  }
}

void add_software(Inventory& node, Fields& fields) {
  fields.texts.insert(
      fields.texts.end(),
      {&node.kernel_release, &node.kernel_command_line, &node.gpu_driver, &node.gpu_driver_flavour,
       &node.ofed, &node.rdma_core, &node.cuda, &node.nccl, &node.ucx, &node.fabric_manager,
       &node.distribution, &node.distribution_version, &node.distribution_like,
       &node.transparent_huge_pages, &node.rdma_netns_mode, &node.limits.cgroup_cpus,
       &node.cpu.model, &node.cpu.vendor, &node.cpu.idle_driver});
  fields.maps.insert(fields.maps.end(), {&node.autoload, &node.module_options, &node.blacklist,
                                         &node.nccl_conf, &node.packages, &node.dkms});
  fields.lists.insert(fields.lists.end(), {&node.kernel_log, &node.iommus});
  fields.large.insert(fields.large.end(),
                      {&node.memory_bytes, &node.huge_pages_free, &node.huge_page_bytes,
                       &node.limits.memlock_soft_bytes, &node.limits.cgroup_memory_max_bytes,
                       &node.limits.cgroup_memory_now_bytes});
  fields.flags.insert(fields.flags.end(),
                      {&node.numa_balancing, &node.is_virtual_machine, &node.peer_memory_symbol,
                       &node.cpu.smt_active, &node.limits.cap_ipc_lock, &node.pci_told,
                       &node.rdma_told, &node.limits.cgroup_rdma_told});
  for (Facts* facts :
       {&node.dmi, &node.nic_settings, &node.limits.cgroup_rdma_max, &node.limits.cgroup_rdma_now})
    fields.add(*facts);
  for (auto& [name, module] : node.modules) {
    fields.texts.insert(fields.texts.end(), {&module.version, &module.file});
    fields.reals.push_back(&module.file_modified_unix_seconds);
    fields.flags.insert(fields.flags.end(), {&module.parameters_told, &module.holders_told});
    fields.add(module.parameters);
  }
  for (auto& [name, service] : node.services) fields.texts.push_back(&service.enablement);
}

Fields fields_of(Inventory& node) {
  Fields fields;
  for (auto& [address, device] : node.pci) add_pci(device, fields);
  for (GpuFacts& gpu : node.gpus) add_gpu(gpu, fields);
  for (RdmaDevice& device : node.rdma) add_rdma(device, fields);
  for (NetDevice& device : node.nets) {
    fields.words.insert(fields.words.end(), {&device.name, &device.pci_address, &device.driver});
    fields.small.push_back(&device.mtu_bytes);
    fields.add(device.qos);
  }
  add_software(node, fields);
  return fields;
}

// Bytes as a source of choices; zeros when they are used up.
class Choices {
 public:
  Choices(const std::uint8_t* data, std::size_t size) : data_(data, data + size) {}
  [[nodiscard]] bool is_over() const { return at_ >= data_.size(); }
  std::uint8_t byte() { return is_over() ? 0 : data_[at_++]; }
  std::uint64_t number() {
    std::uint64_t number = 0;
    for (int bytes = byte() % 9; bytes > 0; --bytes) number = number << 8U | byte();
    return number;
  }
  std::string text() {
    std::string text;
    for (int bytes = byte() % 48; bytes > 0; --bytes) text += static_cast<char>(byte());
    return text;
  }

 private:
  std::vector<std::uint8_t> data_;
  std::size_t at_ = 0;
};

template <class T>
void edit(std::vector<Fact<T>*>& facts, Choices& choices, const std::function<void(T&)>& change) {
  if (facts.empty()) return;
  Fact<T>& fact = *facts[choices.number() % facts.size()];
  fact.state = static_cast<FactState>(choices.byte() % 4);
  if (fact.is_known()) change(fact.value);
}

void edit_one(Fields& fields, Choices& choices) {
  const auto pairs = [&](auto& map) { map[choices.text()] = choices.text(); };
  switch (choices.byte() % 9) {
    case 0:
      return edit<std::string>(fields.texts, choices, [&](auto& text) { text = choices.text(); });
    case 1:
      return edit<std::uint32_t>(fields.small, choices, [&](auto& number) {
        number = static_cast<std::uint32_t>(choices.number());
      });
    case 2:
      return edit<std::uint64_t>(fields.large, choices,
                                 [&](auto& number) { number = choices.number(); });
    case 3:
      return edit<double>(fields.reals, choices, [&](auto& real) {
        real = static_cast<double>(static_cast<std::int64_t>(choices.number()));
      });
    case 4:
      return edit<bool>(fields.flags, choices, [](auto& flag) { flag = !flag; });
    case 5:
      return edit<Counters>(fields.counters, choices,
                            [&](auto& map) { map[choices.text()] = choices.number(); });
    case 6:
      return edit<std::map<std::string, std::string>>(fields.maps, choices, pairs);
    case 7:
      return edit<std::vector<std::string>>(fields.lists, choices,
                                            [&](auto& list) { list.push_back(choices.text()); });
    default:
      if (!fields.words.empty())
        *fields.words[choices.number() % fields.words.size()] = choices.text();
  }
}

void expect_fit(const std::string& text) {
  ASSERT_EQ(text.find_first_of("\n\r\x1b"), std::string::npos) << text;
}

}  // namespace
}  // namespace railgauge::agent

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railgauge::agent;
  Inventory node = sample_node();
  Fields fields = fields_of(node);
  Choices choices(data, size);
  for (std::size_t edits = 0; edits < kMostEdits && !choices.is_over(); ++edits)
    edit_one(fields, choices);
  const auto report = make_preflight_report(
      "n1", {.node = node, .required = {"acs"}, .now_unix_seconds = 1.7e9}, 0);
  railgauge::api::PreflightReport heard;
  EXPECT_TRUE(heard.ParseFromString(report.SerializeAsString())) << "text that is no UTF-8";
  for (const auto& check : report.checks()) {
    expect_fit(check.observed());
    expect_fit(check.subject());
    for (const std::string& line : check.remedy()) expect_fit(line);
  }
  EXPECT_FALSE(preflight_text(report).empty());
  return 0;
}

namespace railgauge::agent {
namespace {

// Words that parsers of checks look for, so that they are reached.
const std::vector<std::string>& seeds() {
  static const auto* const all =
      new std::vector<std::string>{"550.54.15",
                                   "4.9-0.1.7",
                                   "22.41.1000",
                                   "6.8.0-45-generic",
                                   "pci=nommconf iommu=pt",
                                   "intel_iommu=on pcie_acs_override=downstream",
                                   "0-55,112-167",
                                   "NVRM: Xid (PCI:0000:18:00",
                                   "nvidia_peermem: disagrees about version of symbol",
                                   "MLNX_OFED_LINUX-24.10-0.7.0.0",
                                   "active",
                                   "linkup",
                                   "N/A",
                                   "\xff\xfe",
                                   "a\nb",
                                   "$(reboot)",
                                   "../..",
                                   "0000:18:00.0"};
  return *all;
}

// Whether a list is whole decides between "there is none" and "not known".
TEST(ChecksFuzz, WhetherAListIsWholeIsAmongTheFields) {
  Inventory node = sample_node();
  const Fields fields = fields_of(node);
  RdmaDevice& nic = node.rdma.front();
  ModuleFacts& module = node.modules.at("ib_core");
  for (Fact<bool>* told :
       {&node.pci_told, &node.rdma_told, &node.limits.cgroup_rdma_told, &nic.ports_told,
        &nic.ports.front().gids_told, &module.parameters_told, &module.holders_told})
    EXPECT_NE(std::ranges::find(fields.flags, told), fields.flags.end());
}

TEST(ChecksFuzz, AnyFactsAreJudgedInWordsFitForTheWire) {
  std::mt19937_64 random(6);
  for (int round = 0; round < kRounds; ++round) {
    std::string bytes;
    while (bytes.size() < 400) {
      if (random() % 4 == 0) {
        const std::string& seed = seeds()[random() % seeds().size()];
        bytes += '\0';  // a text, of some field, known, of that length
        bytes += '\2';
        bytes += static_cast<char>(random() % 2);
        bytes += static_cast<char>(random());
        bytes += '\1';
        bytes += static_cast<char>(seed.size());
        bytes += seed;
      } else {
        bytes += static_cast<char>(random());
      }
    }
    const std::vector<std::uint8_t> data(bytes.begin(), bytes.end());
    ASSERT_EQ(LLVMFuzzerTestOneInput(data.data(), data.size()), 0);
    ASSERT_FALSE(testing::Test::HasFailure()) << "round " << round;
  }
}

}  // namespace
}  // namespace railgauge::agent

// Content of files and configuration space, mutated from fixed seeds: nothing may crash, and the
// agent's messages must be fit for the wire. LLVMFuzzerTestOneInput is libFuzzer's entry; here a
// plain test drives it. Run it under the asan preset too.
#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "agent/inventory/contract.h"
#include "agent/inventory/facts/pci_config.h"
#include "agent/inventory/sources/sources.h"
#include "agent/testing/mutator.h"
#include "agent/testing/temp_dir.h"

namespace railgauge::agent {
namespace {

constexpr int kConfigs = 20'000;
constexpr int kFiles = 100;
constexpr const char* kGpu = "0000:1b:00.0";
constexpr const char* kNic = "0000:18:00.0";

// Files that some parser reads, all with the same bytes.
const std::vector<std::string>& paths() {
  static const auto* const all =
      new std::vector<std::string>{"proc/cmdline",
                                   "proc/cpuinfo",
                                   "proc/meminfo",
                                   "proc/modules",
                                   "proc/kallsyms",
                                   "proc/self/limits",
                                   "proc/self/status",
                                   "proc/self/cgroup",
                                   "proc/driver/nvidia/params",
                                   "proc/driver/nvidia/version",
                                   "proc/sys/kernel/osrelease",
                                   "proc/driver/nvidia/gpus/0000:1b:00.0/information",
                                   "etc/os-release",
                                   "etc/nccl.conf",
                                   "etc/modules",
                                   "etc/modprobe.d/a.conf",
                                   "etc/modules-load.d/a.conf",
                                   "usr/bin/ofed_info",
                                   "usr/local/cuda/version.json",
                                   "usr/lib/pkgconfig/ucx.pc",
                                   "var/lib/dpkg/status",
                                   "dev/kmsg",
                                   "usr/lib/systemd/system/openibd.service",
                                   "sys/class/dmi/id/sys_vendor",
                                   "sys/devices/system/node/node0/distance",
                                   "sys/devices/system/node/node0/meminfo",
                                   "sys/kernel/mm/transparent_hugepage/enabled",
                                   "sys/devices/system/cpu/cpu0/cpuidle/state0/name",
                                   "sys/module/nvidia/version",
                                   "sys/module/nvidia/initstate",
                                   "sys/module/nvidia/parameters/a",
                                   "sys/module/ib_core/version",
                                   "sys/class/infiniband/mlx5_0/node_guid",
                                   "sys/class/infiniband/mlx5_0/ports/1/state",
                                   "sys/class/infiniband/mlx5_0/ports/1/rate",
                                   "sys/class/infiniband/mlx5_0/ports/1/gids/0",
                                   "sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error",
                                   "sys/fs/cgroup/memory.max",
                                   "sys/fs/cgroup/rdma.max",
                                   "sys/fs/cgroup/rdma.current",
                                   "sys/module/ib_core/holders/a",
                                   "sys/class/net/ib0/speed",
                                   "sys/class/net/ib0/qos/trust",
                                   "sys/class/net/ib0/device/vendor"};
  return *all;
}

// A list, and the fact whether it was read completely.
struct List {
  const char* path;
  const Fact<bool>& (*told)(const Inventory&);
};
const RdmaDevice& nic_of(const Inventory& node) {
  static const RdmaDevice kNone;
  return node.rdma.empty() ? kNone : node.rdma.front();
}
const RdmaPort& port_of(const Inventory& node) {
  static const RdmaPort kNone;
  return nic_of(node).ports.empty() ? kNone : nic_of(node).ports.front();
}
using Told = const Fact<bool>&;
constexpr std::array kLists{
    List{"sys/bus/pci/devices", [](const Inventory& node) -> Told { return node.pci_told; }},
    List{"sys/class/infiniband", [](const Inventory& node) -> Told { return node.rdma_told; }},
    List{"sys/class/infiniband/mlx5_0/ports",
         [](const Inventory& node) -> Told { return nic_of(node).ports_told; }},
    List{"sys/class/infiniband/mlx5_0/ports/1/gids",
         [](const Inventory& node) -> Told { return port_of(node).gids_told; }},
    List{"sys/module/nvidia/parameters",
         [](const Inventory& node) -> Told { return node.modules.at("nvidia").parameters_told; }},
    List{"sys/module/ib_core/holders",
         [](const Inventory& node) -> Told { return node.modules.at("ib_core").holders_told; }},
    List{"sys/fs/cgroup/rdma.max",
         [](const Inventory& node) -> Told { return node.limits.cgroup_rdma_told; }}};
constexpr unsigned kShapes = 3;  // a list stays, is another thing, or a link to itself

class Node {
 public:
  void lay_out_devices() const {
    for (const char* address : {kGpu, kNic}) {
      const std::string folder = fmt::format("sys/bus/pci/devices/{}/", address);
      root_.write(folder + "class", "0x030200\n");
      root_.write(folder + "vendor", "0x10de\n");
    }
  }
  void fill(const std::string& bytes) {
    if (!reshaped_.empty()) std::filesystem::remove_all(reshaped_);
    reshaped_.clear();
    lay_out_devices();
    for (const std::string& path : paths()) root_.write(path, bytes);
    const std::string folder = fmt::format("sys/bus/pci/devices/{}/", kNic);
    for (const char* name : {"numa_node", "current_link_speed", "current_link_width", "resource",
                             "aer_dev_correctable", "config", "local_cpulist"})
      root_.write(folder + name, bytes);
  }
  void write(const std::string& path, const std::string& text) const { root_.write(path, text); }
  // One of the lists in another shape, until the next fill().
  void reshape(const List& list, unsigned shape) {
    const std::filesystem::path path = root_ / list.path;
    std::filesystem::remove_all(path);
    if (shape == 2)
      std::filesystem::create_symlink(path.filename(), path);
    else if (path.filename() == "rdma.max")
      std::filesystem::create_directory(path);
    else
      root_.write(list.path, "no list\n");
    reshaped_ = path;
  }
  Inventory read() const {
    const NodeFiles files({.root = root_.path()});
    Inventory inventory;
    for (const auto source :
         {read_pci_tree, read_gpu_driver, read_rdma_names, read_net_names, read_numa, read_cpu,
          read_machine, read_linux, read_limits, read_modules, read_module_files, read_symbols,
          read_services, read_libraries, read_packages, read_kernel_log})
      source(files)(inventory);
    read_pci_device(files, inventory.pci[kNic])(inventory);
    read_gpu_information(files, kGpu)(inventory);
    for (const RdmaDevice& device : std::vector(inventory.rdma))
      read_rdma_device(files, device)(inventory);
    for (const NetDevice& device : std::vector(inventory.nets))
      read_net_device(files, device)(inventory);
    name_gpus(inventory);
    return inventory;
  }

 private:
  TempDir root_;
  std::filesystem::path reshaped_;
};

void tell(const Inventory& inventory) {
  api::Hello hello;
  hello.set_version("1");
  fill_hello(inventory, hello);
  api::Hello heard;
  ASSERT_TRUE(heard.ParseFromString(hello.SerializeAsString())) << "text that is no UTF-8";
}

}  // namespace
}  // namespace railgauge::agent

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railgauge::agent;
  static_cast<void>(parse_pci_config({data, size}, "/config"));
  static Node node;
  node.fill(std::string(data, data + size));
  if (size > 1 && data[1] % kShapes != 0)
    node.reshape(kLists[data[0] % kLists.size()], data[1] % kShapes);
  tell(node.read());
  return 0;
}

namespace railgauge::agent {
namespace {

TEST(Fuzz, AnyConfigurationSpaceIsAnswered) {
  std::string seed(512, '\0');
  seed[0x06] = 0x10;
  seed[0x34] = 0x60;
  seed[0x60] = 0x10;
  seed[0x100] = 0x0d;
  seed[0x102] = 0x01;
  Mutator mutator(1);
  int known = 0;
  for (int i = 0; i < kConfigs; ++i) {
    const std::string bytes = mutator.mutate(seed);
    const std::vector<std::uint8_t> data(bytes.begin(), bytes.end());
    const PciConfig config = parse_pci_config(data, "/config");
    for (const std::string& reason : {config.pcie.reason, config.acs.reason})
      ASSERT_EQ(reason.find('\n'), std::string::npos);
    if (config.acs.is_known()) ++known;
  }
  EXPECT_GT(known, kConfigs / 10) << "the mutations must reach what is valid too";
}

TEST(Fuzz, AListInAnotherShapeIsNotTakenForWhole) {
  Node node;
  for (const List& list : kLists)
    for (unsigned shape = 0; shape < kShapes; ++shape) {
      node.fill("0::/\n");
      node.write("proc/modules", "nvidia 1 0 - Live 0x0\nib_core 1 0 - Live 0x0\n");
      if (shape != 0) node.reshape(list, shape);
      const Inventory read = node.read();
      EXPECT_EQ(list.told(read).is_open(), shape != 0) << list.path << " in shape " << shape;
      tell(read);
    }
}

TEST(Fuzz, AnyFileIsAnsweredWithWordsFitForTheWire) {
  const std::vector<std::string> seeds{
      "nvidia 54263808 3 nvidia_peermem, Live 0x0\nmlx5_core 2000000 0 - Live 0x0\n",
      "Package: libnccl2\nStatus: install ok installed\nVersion: 2.21.5\n\n",
      "options nvidia NVreg_A=1\nblacklist nouveau\nnvidia-peermem\n",
      "MemTotal: 12345 kB\nModel: \t X\nCapEff: 00ff\nMax locked memory 1 2 bytes\n",
      "ID=ubuntu\nVERSION_ID=\"22.04\"\nNCCL_IB_TC=106\n",
      "{\"cuda\" : {\"version\" : \"12.4.1\"}}",
      "always [madvise] never",
      "4: ACTIVE",
      "400 Gb/sec (4X NDR)",
      "32.0 GT/s PCIe",
      "0x00 0xff 0x40200\n0x00 0x1f 0x14220c\n",
      "RxErr 0\nTOTAL_ERR_COR 18446744073709551615\n",
      "10 21",
      "-1",
      "",
      "0::/../../x\n6,1,2,-;NVRM: Xid (PCI:0000:1b:00): 79\n",
      "MLNX_OFED_LINUX-24.04-0.6.6.0 (OFED-24.04-0.6.6):\n",
      std::string(5000, '9')};
  Mutator mutator(2);
  for (int i = 0; i < kFiles; ++i) {
    const std::string bytes = mutator.pick(seeds);
    const std::vector<std::uint8_t> data(bytes.begin(), bytes.end());
    ASSERT_EQ(LLVMFuzzerTestOneInput(data.data(), data.size()), 0);
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << "round " << i;
  }
}

}  // namespace
}  // namespace railgauge::agent

#include "agent/inventory/read_inventory.h"

#include <algorithm>
#include <memory>

#include "agent/inventory/sources/sources.h"
#include "agent/inventory/timed_reads.h"
#include "kernels/core/base/clock.h"

namespace railgauge::agent {
namespace {

// The reads of one wave. Their results are stored in `inventory` in the order of add().
class Wave {
 public:
  Wave(std::shared_ptr<const NodeFiles> files, Inventory& inventory)
      : files_(std::move(files)), inventory_(inventory) {}

  void add(const std::string& name, std::function<Apply(const NodeFiles&)> read) {
    // A tree of files is another place than the machine.
    names_.push_back(files_->place() + " " + name);
    shown_[names_.back()] = name;
    reads_.emplace_back([files = files_, read = std::move(read), this_inventory = &inventory_]() {
      Apply apply = read(*files);
      return [apply = std::move(apply), this_inventory] { apply(*this_inventory); };
    });
  }

  void run(double seconds) {
    const TimedResult result = read_in_time(names_, reads_, seconds);
    for (const std::string& name : result.late) inventory_.late_sources.push_back(shown_[name]);
    for (const auto& [name, took] : result.milliseconds)
      inventory_.source_milliseconds[shown_[name]] = took;
  }

 private:
  std::shared_ptr<const NodeFiles> files_;
  Inventory& inventory_;
  std::vector<std::string> names_;
  std::map<std::string, std::string> shown_;
  std::vector<Read> reads_;
};

void add_machine(Wave& wave, const InventoryOptions& options) {
  wave.add("pci", read_pci_tree);
  wave.add("gpu driver", read_gpu_driver);
  wave.add("rdma", read_rdma_names);
  wave.add("net", read_net_names);
  wave.add("numa", read_numa);
  wave.add("cpu", read_cpu);
  wave.add("machine", read_machine);
  wave.add("linux", read_linux);
  wave.add("device nodes", read_device_nodes);
  wave.add("limits", read_limits);
  wave.add("modules", read_modules);
  wave.add("module files", read_module_files);
  wave.add("symbols", read_symbols);
  wave.add("services", read_services);
  wave.add("libraries", read_libraries);
  wave.add("packages", read_packages);
  if (options.with_kernel_log) wave.add("kernel log", read_kernel_log);
  // One read each: an installation is often on a network file system, which may hang.
  for (const MpiInstallation& one : options.mpi_installations)
    wave.add("mpi " + one.name,
             [one](const NodeFiles& files) { return read_mpi_installation(files, one); });
}

// The questions to each device, one read a device.
void add_devices(Wave& wave, const Inventory& inventory) {
  for (const auto& [address, device] : inventory.pci)
    wave.add("pci " + address,
             [device = device](const NodeFiles& files) { return read_pci_device(files, device); });
  for (const GpuFacts& gpu : inventory.gpus)
    wave.add("gpu " + gpu.pci_address, [address = gpu.pci_address](const NodeFiles& files) {
      return read_gpu_information(files, address);
    });
  for (const RdmaDevice& device : inventory.rdma)
    wave.add("rdma " + device.name,
             [device](const NodeFiles& files) { return read_rdma_device(files, device); });
  for (const NetDevice& device : inventory.nets)
    wave.add("net " + device.name,
             [device](const NodeFiles& files) { return read_net_device(files, device); });
}

constexpr double kFirstWavesShare = 2.0 / 3;
constexpr double kLeastWaveSeconds = 0.05;  // for what is in memory anyway

}  // namespace

double wave_seconds(const InventoryOptions& options, int wave, double spent_seconds) {
  if (options.all_seconds <= 0) return options.source_seconds;
  const double share = options.all_seconds * (wave == 0 ? kFirstWavesShare : 1);
  return std::min(options.source_seconds, std::max(share - spent_seconds, kLeastWaveSeconds));
}

Inventory read_inventory(const InventoryOptions& options) {
  const auto files = std::make_shared<const NodeFiles>(options);
  Inventory inventory;
  const double begin_ns = monotonic_now_ns();
  const auto run = [&](Wave& wave) {
    const auto number = static_cast<int>(inventory.wave_seconds.size());
    const double spent = (monotonic_now_ns() - begin_ns) / 1e9;
    inventory.wave_seconds.push_back(wave_seconds(options, number, spent));
    wave.run(inventory.wave_seconds.back());
  };
  for (const MpiInstallation& one : options.mpi_installations)
    inventory.mpi_installations[one.name] =
        Fact<std::string>::unknown(one.prefix, one.prefix + ": did not answer in time");
  Wave machine(files, inventory);
  add_machine(machine, options);
  run(machine);
  name_gpus(inventory);  // also GPUs that only PCI shows: NVML may know them
  Wave devices(files, inventory);
  add_devices(devices, inventory);
  if (options.with_nvml && files->is_this_machine())
    devices.add("nvml", [](const NodeFiles&) { return read_nvml(); });
  else
    inventory.nvml_reason = "NVML: not asked";
  run(devices);
  name_gpus(inventory);
  return inventory;
}

}  // namespace railgauge::agent

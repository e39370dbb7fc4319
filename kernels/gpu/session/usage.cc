// NVML's lists of processes, and the search for this process's number in them.
#include "kernels/gpu/session/usage.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <mutex>

#include <fmt/format.h>

namespace railgauge::gpu {
namespace {

// Processes named in one message; more are counted.
constexpr std::size_t kMaxNamedUsers = 4;

// This process's number in NVML's lists when it is not the pid: a container has its own pids, NVML
// uses the host's.
struct Learned {
  std::mutex mutex;
  OwnNumber number;
};
Learned& learned() {
  static Learned one;
  return one;
}

// The learned number, if there is one. Thread safe.
std::optional<unsigned> own_number() {
  const std::lock_guard lock(learned().mutex);
  return learned().number.number();
}

// Removes this process, by its own number and by the learned one.
void leave_out_own(GpuUsage& usage) {
  const auto self = static_cast<unsigned>(getpid());
  const std::optional<unsigned> other = own_number();
  std::erase_if(usage.processes, [&](const ml::Process& process) {
    return process.pid == self || process.pid == other;
  });
}

// One GPU's use; `shows_us` is read before this process is removed.
GpuUsage usage_of(const Nvml& nvml, const NvmlGpu& gpu) {
  GpuUsage usage;
  usage.pci_address = gpu.pci_address;
  unsigned mode = 0;
  unsigned pending = 0;
  usage.mig = nvml.device_get_mig_mode != nullptr &&
              nvml.device_get_mig_mode(gpu.device, &mode, &pending) == ml::kSuccess &&
              mode == ml::kMigOn;
  auto list = processes_on(nvml, gpu.device);
  usage.told = list.has_value();
  if (!list) return usage;
  usage.shows_us =
      std::ranges::count(*list, static_cast<unsigned>(getpid()), &ml::Process::pid) != 0;
  usage.processes = std::move(*list);
  leave_out_own(usage);
  return usage;
}

std::set<unsigned> pids_of(const GpuUsage& usage) {
  std::set<unsigned> pids;
  for (const ml::Process& process : usage.processes) pids.insert(process.pid);
  return pids;
}

// The processes on each of the GPUs `pci_addresses`; nothing where the list of one is unknown.
std::optional<std::set<unsigned>> on_all(const std::vector<GpuUsage>& usage,
                                         std::span<const std::string> pci_addresses) {
  std::optional<std::set<unsigned>> common;
  for (const std::string& address : pci_addresses) {
    const auto gpu = std::ranges::find(usage, address, &GpuUsage::pci_address);
    if (gpu == usage.end() || !gpu->told) return std::nullopt;
    const std::set<unsigned> here = pids_of(*gpu);
    if (!common) common = here;
    std::erase_if(*common, [&](unsigned pid) { return !here.contains(pid); });
  }
  return common;
}

// The name as Linux reports it, at most 15 letters; "" where it does not.
std::string name_of(const ml::Process& process) {
  std::string name;
  std::getline(std::ifstream(fmt::format("/proc/{}/comm", process.pid)), name);
  return name;
}

// Whether this is the server of MPS. The first context starts it, this process's perhaps, and it
// uses no GPU itself.
bool is_mps_server(const ml::Process& process) { return name_of(process) == "nvidia-cuda-mps"; }

// "pid 4242 (python3, 1.0 GB)"; name and memory appear where they are known.
std::string user_in_words(const ml::Process& process) {
  const std::string name = name_of(process);
  constexpr unsigned long long kMostBytes = 1ULL << 48U;  // above: NVML does not know
  const bool known = process.used_bytes != 0 && process.used_bytes < kMostBytes;
  const std::string bytes =
      known ? fmt::format("{:.1f} GB", static_cast<double>(process.used_bytes) / 1e9) : "";
  std::string inside = name;
  if (!name.empty() && known) inside += ", ";
  inside += bytes;
  return fmt::format("pid {}{}", process.pid, inside.empty() ? "" : " (" + inside + ")");
}

}  // namespace

std::vector<GpuUsage> gpu_usage() {
  std::vector<GpuUsage> all;
  const auto use = use_nvml();
  if (!use) return all;
  const auto gpus = nvml_gpus(loaded_nvml());
  if (!gpus) return all;
  for (const NvmlGpu& gpu : *gpus) all.push_back(usage_of(loaded_nvml(), gpu));
  return all;
}

// Each call keeps the candidates that are present again; this process is always among them.
void OwnNumber::learn(const std::vector<GpuUsage>& before, const std::vector<GpuUsage>& after,
                      std::span<const std::string> pci_addresses) {
  if (!asks()) return;
  if (!not_us_) {
    not_us_.emplace();
    hopeless_ = !on_all(before, pci_addresses);
    for (const GpuUsage& gpu : before) not_us_->merge(pids_of(gpu));
  }
  for (const GpuUsage& gpu : after) hopeless_ = hopeless_ || gpu.shows_us;
  auto shown = on_all(after, pci_addresses);
  if (hopeless_ || !shown) return;
  std::erase_if(*shown, [&](unsigned pid) {
    return not_us_->contains(pid) || (may_be_us_ && !may_be_us_->contains(pid));
  });
  may_be_us_ = std::move(*shown);
}

std::optional<unsigned> OwnNumber::number() const {
  if (hopeless_ || !may_be_us_ || may_be_us_->size() != 1) return std::nullopt;
  return *may_be_us_->begin();
}

std::vector<unsigned> OwnNumber::candidates() const {
  if (hopeless_ || !may_be_us_) return {};
  return {may_be_us_->begin(), may_be_us_->end()};
}

bool OwnNumber::asks() const { return !hopeless_ && (!may_be_us_ || may_be_us_->size() > 1); }

// The lock is not held during the query, which takes a while.
std::vector<GpuUsage> learn_own_number(std::vector<GpuUsage> before,
                                       std::span<const std::string> pci_addresses) {
  const bool asks = [] {
    const std::lock_guard lock(learned().mutex);
    return learned().number.asks();
  }();
  if (asks) {
    const std::vector<GpuUsage> after = gpu_usage();
    const std::lock_guard lock(learned().mutex);
    learned().number.learn(before, after, pci_addresses);
  }
  // Also where another thread learned it since `before` was read.
  for (GpuUsage& usage : before) leave_out_own(usage);
  return before;
}

std::vector<unsigned> possible_own_numbers() {
  const std::lock_guard lock(learned().mutex);
  return learned().number.candidates();
}

// A process is new when it is neither in `before` nor a candidate for this process.
GpuUsage newcomers(const std::vector<GpuUsage>& before, std::string_view pci_address,
                   std::span<const ml::Process> now) {
  GpuUsage found;
  found.pci_address = pci_address;
  const auto known = std::ranges::find(before, pci_address, &GpuUsage::pci_address);
  if (known == before.end() || !known->told) return found;  // nobody can count as new
  found.told = true;
  const std::vector<unsigned> possible = possible_own_numbers();
  for (const ml::Process& process : now) {
    if (process.pid == static_cast<unsigned>(getpid())) continue;
    if (std::ranges::find(possible, process.pid) != possible.end()) continue;
    if (std::ranges::count(known->processes, process.pid, &ml::Process::pid) != 0) continue;
    if (is_mps_server(process)) continue;
    found.processes.push_back(process);
  }
  return found;
}

void forget_own_number() {
  const std::lock_guard lock(learned().mutex);
  learned().number = OwnNumber();
}

// Absent when NVML, the GPU or the figure is absent.
std::optional<unsigned> gpu_utilization_percent(std::string_view pci_address) {
  const auto use = use_nvml();
  if (!use) return std::nullopt;
  const auto gpus = nvml_gpus(loaded_nvml());
  if (!gpus) return std::nullopt;
  const auto gpu = std::ranges::find(*gpus, pci_address, &NvmlGpu::pci_address);
  ml::Utilization utilization{};
  if (gpu == gpus->end() ||
      loaded_nvml().device_get_utilization(gpu->device, &utilization) != ml::kSuccess)
    return std::nullopt;
  return utilization.gpu_percent;
}

std::string users_in_words(const GpuUsage& usage) {
  std::string words;
  const std::size_t named = std::min(usage.processes.size(), kMaxNamedUsers);
  for (std::size_t i = 0; i < named; ++i)
    words += (i == 0 ? "" : ", ") + user_in_words(usage.processes[i]);
  if (named < usage.processes.size())
    words += fmt::format(" and {} more", usage.processes.size() - named);
  return words;
}

}  // namespace railgauge::gpu

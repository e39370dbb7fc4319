// Other users of the GPUs, by NVML. In a container NVML may show processes by the host's numbers:
// this process then learns its own number from the processes that appear with its contexts.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"
#include "kernels/dl/nvml_devices.h"

namespace railgauge::gpu {

using railgauge::nvml_gpus;
using railgauge::NvmlGpu;
using railgauge::processes_on;

// The use of one GPU by other processes.
struct GpuUsage {
  std::string pci_address;
  bool told = false;                   // its processes; where not, none are listed
  std::vector<ml::Process> processes;  // with a context on it, but for this process
  bool shows_us = false;               // this process is among them, by the number it has itself
  bool mig = false;                    // partitioned
};
// The use of every GPU; empty where NVML is not there.
std::vector<GpuUsage> gpu_usage();

// The number that NVML has for this process, where that is not its own: the one that was absent
// before its first context, and is present whenever it has one. Another that came at the same time
// is separated once it has gone; until then both count as others. Pure.
class OwnNumber {
 public:
  // `before` was read before this process took its first context; from the second call on it is not
  // looked at, since then this process may be in it. `after` was read while it had a context on
  // each of the GPUs `pci_addresses`.
  void learn(const std::vector<GpuUsage>& before, const std::vector<GpuUsage>& after,
             std::span<const std::string> pci_addresses);
  // The number, once it is the only candidate.
  [[nodiscard]] std::optional<unsigned> number() const;
  // The candidates: one where it is known, none where NVML does not report or has our own.
  [[nodiscard]] std::vector<unsigned> candidates() const;
  // Another call could narrow it down: nothing is known yet and something may be.
  [[nodiscard]] bool asks() const;

 private:
  bool hopeless_ = false;                        // NVML does not report it, or has our own number
  std::optional<std::set<unsigned>> not_us_;     // there before us
  std::optional<std::set<unsigned>> may_be_us_;  // there with each of our contexts so far
};
// Learns this process's number in NVML's list, by OwnNumber: called by every task, once it has a
// context on each of its GPUs, with the usage from before it took them. Returns `before` without
// this process. A learned number is no user for gpu_usage().
std::vector<GpuUsage> learn_own_number(std::vector<GpuUsage> before,
                                       std::span<const std::string> pci_addresses);
// OwnNumber::candidates() of this process so far. Thread safe.
std::vector<unsigned> possible_own_numbers();
// Those of `now` on the GPU `pci_address` that were not there in `before`, which has not this
// process, and are neither this process, as far as NVML's number for it is known, nor MPS's server.
GpuUsage newcomers(const std::vector<GpuUsage>& before, std::string_view pci_address,
                   std::span<const ml::Process> now);
// Forgets the learned number; for tests.
void forget_own_number();
// The share of time that the GPU computed, in percent, of the driver's last period.
std::optional<unsigned> gpu_utilization_percent(std::string_view pci_address);

// "pid 4242 (python3, 1.0 GiB) and pid 7" or "" when there are none.
std::string users_in_words(const GpuUsage& usage);

}  // namespace railgauge::gpu

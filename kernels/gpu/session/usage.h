// Other users of the GPUs, by NVML. In a container NVML may list processes by the host's numbers;
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
  bool told = false;                   // NVML listed its processes; if not, the list is empty
  std::vector<ml::Process> processes;  // with a context on it, except this process
  bool shows_us = false;               // NVML lists this process by its own pid
  bool mig = false;                    // partitioned
};
// Returns the use of every GPU; empty without NVML.
std::vector<GpuUsage> gpu_usage();

// The number that NVML has for this process, where it differs from the pid: the number that was
// absent before the first context and is present with each context since. While another process
// that came at the same time remains, both count as other users. Pure.
class OwnNumber {
 public:
  // Learns from `before`, read before this process took its first context, and `after`, read while
  // it had a context on each of the GPUs `pci_addresses`. From the second call on `before` is
  // ignored, because this process may be in it.
  void learn(const std::vector<GpuUsage>& before, const std::vector<GpuUsage>& after,
             std::span<const std::string> pci_addresses);
  // Returns the number, once there is only one candidate.
  [[nodiscard]] std::optional<unsigned> number() const;
  // Returns the candidates: one when known, none when NVML does not report or lists our own pid.
  [[nodiscard]] std::vector<unsigned> candidates() const;
  // Reports whether another call could narrow the candidates down.
  [[nodiscard]] bool asks() const;

 private:
  bool hopeless_ = false;                        // NVML does not report it, or has our own number
  std::optional<std::set<unsigned>> not_us_;     // there before us
  std::optional<std::set<unsigned>> may_be_us_;  // there with each of our contexts so far
};
// Learns this process's number in NVML's list by OwnNumber. Every task calls it once it has a
// context on each of its GPUs, with the usage from before. Returns `before` without this process.
// gpu_usage() no longer counts a learned number as a user.
std::vector<GpuUsage> learn_own_number(std::vector<GpuUsage> before,
                                       std::span<const std::string> pci_addresses);
// Returns OwnNumber::candidates() of this process so far. Thread safe.
std::vector<unsigned> possible_own_numbers();
// Returns the processes of `now` on the GPU `pci_address` that are absent from `before` (which
// excludes this process) and are neither this process, as far as its number is known, nor the MPS
// server.
GpuUsage newcomers(const std::vector<GpuUsage>& before, std::string_view pci_address,
                   std::span<const ml::Process> now);
// Forgets the learned number; for tests.
void forget_own_number();
// Returns the share of the driver's last period in which the GPU computed, in percent.
std::optional<unsigned> gpu_utilization_percent(std::string_view pci_address);

// Formats "pid 4242 (python3, 1.0 GB) and pid 7"; "" without users.
std::string users_in_words(const GpuUsage& usage);

}  // namespace railgauge::gpu

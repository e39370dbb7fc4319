// GPUs as the driver's library reports them: memory errors, mode, clocks.
#include <array>

#include <fmt/ranges.h>

#include "agent/preflight/rules/pairs.h"
#include "agent/preflight/rules/results.h"

namespace railgauge::agent {
namespace {

// Bits of NVML's clock event reasons that mean trouble (nvmlClocksEventReason in nvml.h).
struct Reason {
  std::uint64_t bit;
  const char* words;
};
constexpr std::array kBadReasons{
    Reason{0x8, "hardware slowdown"}, Reason{0x20, "software thermal slowdown"},
    Reason{0x40, "hardware thermal slowdown"}, Reason{0x80, "external power brake"}};
constexpr std::uint64_t kPowerCap = 0x4;
constexpr std::uint64_t kIdle = 0x1;

// The result if NVML is not available.
CheckResult not_told(const Inventory& node, const GpuFacts& gpu, std::string_view what) {
  return unknown(gpu.name,
                 fmt::format("{} only NVML reports{}{}", what, node.nvml_reason.empty() ? "" : ": ",
                             node.nvml_reason),
                 "NVML", {"nvidia-smi -q"});
}

// The commands that reset a GPU.
std::vector<std::string> reset(const GpuFacts& gpu) {
  return {"# in a maintenance window, with nothing on the GPU:",
          fmt::format("nvidia-smi --gpu-reset -i {}", gpu.pci_address)};
}

// Memory health: failed or pending row remaps, uncorrected errors, and whether ECC is on.
CheckResult judge_ecc(const Inventory& node, const GpuFacts& gpu) {
  const NvmlGpu& nvml = gpu.nvml;
  if (nvml.ecc_enabled.is_absent())
    return waived(gpu.name, "this GPU has no ECC", nvml.ecc_enabled);
  if (!nvml.ecc_enabled.is_known())
    return nvml.ecc_enabled.state == FactState::kError
               ? not_known(gpu.name, "ECC", nvml.ecc_enabled)
               : not_told(node, gpu, "ECC and row remaps");
  if (nvml.remap_failed.is(true))
    return failed(gpu.name, "a row remap failed: spare rows are used up", nvml.remap_failed,
                  {"# replace the GPU"});
  if (nvml.remap_pending.is(true))
    return failed(gpu.name, "a row remap waits for a reset", nvml.remap_pending, reset(gpu));
  if (nvml.ecc_volatile_uncorrected.value_or(0) > 0)
    return failed(gpu.name,
                  fmt::format("{} uncorrected memory errors since the driver was loaded",
                              nvml.ecc_volatile_uncorrected.value),
                  nvml.ecc_volatile_uncorrected, reset(gpu));
  for (const Fact<bool>* remap : {&nvml.remap_failed, &nvml.remap_pending})
    if (!remap->is_known() && !remap->is_absent())  // older GPUs have no remaps
      return not_known(gpu.name, "row remaps", *remap);
  if (nvml.ecc_enabled.value && !nvml.ecc_volatile_uncorrected.is_known())
    return not_known(gpu.name, "the count of memory errors", nvml.ecc_volatile_uncorrected);
  if (!nvml.ecc_enabled.value)
    return failed(gpu.name, "ECC is off", nvml.ecc_enabled,
                  {fmt::format("nvidia-smi -i {} -e 1 && reboot", gpu.pci_address)});
  return passed(gpu.name,
                fmt::format("ECC is on, {} corrected, none uncorrected",
                            nvml.ecc_volatile_corrected.value_or(0)),
                nvml.ecc_enabled);
}

// Modes that disturb a measurement: prohibited or exclusive compute mode, MIG, no persistence, and
// processes of others.
CheckResult judge_mode(const Inventory& node, const GpuFacts& gpu) {
  const NvmlGpu& nvml = gpu.nvml;
  if (nvml.persistence_mode.state == FactState::kError)
    return not_known(gpu.name, "persistence mode", nvml.persistence_mode);
  if (!nvml.persistence_mode.is_known() && !nvml.compute_mode.is_known())
    return not_told(node, gpu, "persistence, MIG and compute mode");
  CheckState state = CheckState::kPass;
  std::vector<std::string> seen;
  std::vector<std::string> remedy;
  const auto trouble = [&](CheckState worse, std::string text, std::string command) {
    if (state != CheckState::kFail) state = worse;
    seen.push_back(std::move(text));
    remedy.push_back(std::move(command));
  };
  const std::string& at = gpu.pci_address;
  if (nvml.compute_mode.is(2))
    trouble(CheckState::kFail, "compute mode is prohibited",
            fmt::format("nvidia-smi -i {} -c 0", at));
  if (nvml.mig_mode.is(true))
    trouble(CheckState::kFail,
            "MIG is on: a slice has a part of the GPU's bandwidth, and no peer among GPUs",
            fmt::format("nvidia-smi -i {} -mig 0", at));
  if (nvml.persistence_mode.is(false))
    trouble(CheckState::kWarn, "persistence is off: the driver starts anew for each task",
            "systemctl enable --now nvidia-persistenced");
  if (nvml.compute_mode.is(1) || nvml.compute_mode.is(3))
    trouble(CheckState::kWarn, "compute mode is exclusive",
            fmt::format("nvidia-smi -i {} -c 0", at));
  if (nvml.compute_processes.value_or(0) > 0)
    trouble(CheckState::kWarn,
            fmt::format("{} processes compute on it", nvml.compute_processes.value),
            fmt::format("nvidia-smi -i {} --query-compute-apps=pid,name --format=csv", at));
  if (seen.empty()) {
    if (!nvml.persistence_mode.is_known())
      return not_known(gpu.name, "persistence mode", nvml.persistence_mode);
    if (!nvml.compute_mode.is_known())
      return not_known(gpu.name, "compute mode", nvml.compute_mode);
    if (!nvml.mig_mode.is_known() && !nvml.mig_mode.is_absent())
      return not_known(gpu.name, "MIG mode", nvml.mig_mode);
    if (!nvml.compute_processes.is_known() && !nvml.compute_processes.is_absent())
      return not_known(gpu.name, "who computes on it", nvml.compute_processes);
    seen.emplace_back("persistence is on, MIG is off, compute mode is default");
  }
  return ResultOf{state}(gpu.name, fmt::format("{}", fmt::join(seen, ", ")),
                         nvml.persistence_mode.source, std::move(remedy));
}

// Whether heat, power or hardware holds the clocks down. A power cap or an idle GPU is no fault.
CheckResult judge_clocks(const Inventory& node, const GpuFacts& gpu) {
  const Fact<std::uint64_t>& reasons = gpu.nvml.clock_reasons;
  if (reasons.state == FactState::kError) return not_known(gpu.name, "clock reasons", reasons);
  if (!reasons.is_known()) return not_told(node, gpu, "why clocks are held down");
  std::string bad;
  for (const Reason& reason : kBadReasons)
    if ((reasons.value & reason.bit) != 0)
      bad += fmt::format("{}{}", bad.empty() ? "" : ", ", reason.words);
  const std::string clock = gpu.nvml.sm_clock_mhz.is_known()
                                ? fmt::format("{} of {} MHz", gpu.nvml.sm_clock_mhz.value,
                                              gpu.nvml.max_sm_clock_mhz.value_or(0))
                                : std::string("clock unknown");
  if (!bad.empty())
    return failed(
        gpu.name, fmt::format("{}: {}", clock, bad), reasons,
        {fmt::format("nvidia-smi -i {} -q -d PERFORMANCE,TEMPERATURE,POWER", gpu.pci_address),
         "# check fans, air flow, power cables and the power supply's limit"});
  const bool capped = (reasons.value & kPowerCap) != 0;
  const bool idle = (reasons.value & kIdle) != 0;
  return passed(gpu.name,
                fmt::format("{}{}", clock,
                            capped ? ", at its power cap"
                            : idle ? ", idle"
                                   : ""),
                reasons);
}

}  // namespace

CheckResults judge_gpu_ecc(const CheckInput& input) { return for_each_gpu(input.node, judge_ecc); }

CheckResults judge_gpu_mode(const CheckInput& input) {
  return for_each_gpu(input.node, judge_mode);
}

CheckResults judge_gpu_clocks(const CheckInput& input) {
  return for_each_gpu(input.node, judge_clocks);
}

}  // namespace railgauge::agent

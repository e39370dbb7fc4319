#include "agent/inventory/print.h"

#include <fmt/format.h>

#include "agent/inventory/stack.h"
#include "kernels/core/stack_hash.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

std::string lines_of(const char* part, const Words& words) {
  std::string text;
  for (const auto& [name, value] : words)
    text += printable(fmt::format("{} {} = {}", part, name, value)) + "\n";
  return text;
}

template <class T>
std::string nvml_line(const GpuFacts& gpu, const char* name, const Fact<T>& fact) {
  std::string text = "none";
  if (fact.is_known())
    text = fmt::format("{}", fact.value);
  else if (!fact.is_absent())
    text = "unknown " + fact.reason;
  return printable(fmt::format("nvml {}.{} = {}", gpu.name, name, text)) + "\n";
}

std::string nvml_lines(const GpuFacts& gpu) {
  const NvmlGpu& nvml = gpu.nvml;
  return nvml_line(gpu, "bar1_total_bytes", nvml.bar1_total_bytes) +
         nvml_line(gpu, "memory_total_bytes", nvml.memory_total_bytes) +
         nvml_line(gpu, "ecc_enabled", nvml.ecc_enabled) +
         nvml_line(gpu, "ecc_volatile_uncorrected", nvml.ecc_volatile_uncorrected) +
         nvml_line(gpu, "remap_pending", nvml.remap_pending) +
         nvml_line(gpu, "persistence_mode", nvml.persistence_mode) +
         nvml_line(gpu, "mig_mode", nvml.mig_mode) +
         nvml_line(gpu, "compute_mode", nvml.compute_mode) +
         nvml_line(gpu, "compute_capability", nvml.compute_capability) +
         nvml_line(gpu, "clock_reasons", nvml.clock_reasons) +
         nvml_line(gpu, "compute_processes", nvml.compute_processes) +
         nvml_line(gpu, "fabric_state", nvml.fabric_state);
}

}  // namespace

std::string print_inventory(const Inventory& inventory, const std::string& railgauge_version) {
  const Stack stack = stack_of(inventory, railgauge_version);
  std::string text = fmt::format("stack {}\n", stack_hash(stack.versions, stack.settings));
  text += lines_of("version", stack.versions);
  text += lines_of("setting", stack.settings);
  text += lines_of("fact", described_facts(inventory));
  if (!inventory.nvml_reason.empty()) text += printable("nvml " + inventory.nvml_reason) + "\n";
  for (const GpuFacts& gpu : inventory.gpus) text += nvml_lines(gpu);
  for (const auto& [name, milliseconds] : inventory.source_milliseconds)
    text += fmt::format("source {} took {:.1f} ms\n", printable(name), milliseconds);
  for (const std::string& name : inventory.late_sources)
    text += fmt::format("source {} did not answer in time\n", printable(name));
  return text;
}

}  // namespace railgauge::agent

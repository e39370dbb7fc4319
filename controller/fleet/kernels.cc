#include "controller/fleet/kernels.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace railgauge::fleet {

namespace {

constexpr int kMostMetrics = 256;  // of a kernel

// One node must not take metrics from the others, so those of all nodes are declared.
void add_metrics(const KernelInfo& from, KernelInfo& to) {
  if (std::ranges::equal(from.metrics(), to.metrics())) return;
  for (const std::string& metric : from.metrics())
    if (to.metrics_size() < kMostMetrics &&
        std::ranges::find(to.metrics(), metric) == to.metrics().end())
      to.add_metrics(metric);
}

}  // namespace

std::vector<KernelInfo> newest_kernels(std::span<const api::Hello* const> hellos) {
  std::map<std::string, const KernelInfo*> newest;
  for (const api::Hello* hello : hellos)
    for (const KernelInfo& kernel : hello->kernels()) {
      const KernelInfo*& held = newest[kernel.name()];
      if (held == nullptr || held->revision() < kernel.revision()) held = &kernel;
    }
  std::vector<KernelInfo> kernels;
  kernels.reserve(newest.size());
  std::map<std::string_view, KernelInfo*> merged;
  for (const auto& [name, kernel] : newest) kernels.push_back(*kernel);
  for (KernelInfo& kernel : kernels) merged[kernel.name()] = &kernel;
  for (const api::Hello* hello : hellos)
    for (const KernelInfo& kernel : hello->kernels())
      if (KernelInfo& known = *merged.at(kernel.name()); known.revision() == kernel.revision())
        add_metrics(kernel, known);
  return kernels;
}

Result<std::vector<KernelInfo>> common_kernels(std::span<const api::Hello* const> hellos) {
  struct Held {
    std::uint32_t revision;
    std::string node;
  };
  std::map<std::string, Held> first;
  for (const api::Hello* hello : hellos)
    for (const KernelInfo& kernel : hello->kernels()) {
      const auto [held, added] =
          first.try_emplace(kernel.name(), Held{kernel.revision(), hello->name()});
      if (held->second.revision != kernel.revision())
        return fail(
            Code::kFailedPrecondition,
            fmt::format(
                "kernel {} has revision {} on {} and {} on {}; bring the nodes to one version",
                kernel.name(), held->second.revision, held->second.node, kernel.revision(),
                hello->name()));
    }
  return newest_kernels(hellos);
}

}  // namespace railgauge::fleet

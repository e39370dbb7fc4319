#include "controller/fleet/kernels.h"

#include <map>
#include <string>

#include <fmt/format.h>

namespace railgauge::fleet {

// Points into the messages, which outlive the call.
std::vector<KernelInfo> newest_kernels(std::span<const api::Hello* const> hellos) {
  std::map<std::string, const KernelInfo*> newest;
  for (const api::Hello* hello : hellos)
    for (const KernelInfo& kernel : hello->kernels()) {
      const KernelInfo*& held = newest[kernel.name()];
      if (held == nullptr || held->revision() < kernel.revision()) held = &kernel;
    }
  std::vector<KernelInfo> kernels;
  kernels.reserve(newest.size());
  for (const auto& [name, kernel] : newest) kernels.push_back(*kernel);
  return kernels;
}

// The first node that has a kernel sets the revision that the others must have. A node without the
// kernel is no conflict: its tasks are waived.
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

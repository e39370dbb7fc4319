#include "kernels/verbs/memory/near_node.h"

#include <utility>

#include <fmt/format.h>

namespace railgauge::verbs {

// Every way out names its reason, because an unpinned thread changes the figures.
Pinned pin_near(int node, const std::string& who, const std::string& sysfs) {
  const auto not_pinned = [](const std::string& why) { return Pinned{{}, "not pinned: " + why}; };
  const auto nodes = numa_nodes(sysfs);
  if (!nodes) return not_pinned(nodes.error().message);
  if (nodes->size() == 1) return {{}, "single node"};
  if (node < 0) return not_pinned("the machine does not say on which node " + who + " is");
  const auto near = nearest_node(*nodes, node);
  if (!near) return not_pinned(near.error().message);
  auto binding = NumaBinding::bind((*nodes)[*near]);
  if (!binding) return not_pinned(binding.error().message);
  const char* more = binding->memory_bound() ? "" : "; the memory policy may not be set";
  return {std::move(*binding), fmt::format("node {}{}", (*nodes)[*near].id, more)};
}

}  // namespace railgauge::verbs

// Places a thread on its adapter's NUMA node, so that polls and memory cross no socket.
#pragma once

#include <string>

#include "kernels/memory/numa.h"

namespace railgauge::verbs {

struct Pinned {
  // Binds the calling thread until it is destroyed.
  NumaBinding binding;
  // The fact numa: "node 1", "single node", or "not pinned: " and the reason.
  std::string words;
};

// Binds the calling thread and its allocations to the node nearest to `node`, the node of adapter
// `who` (-1: unknown). Never fails: a refused affinity is reported in `words`.
Pinned pin_near(int node, const std::string& who, const std::string& sysfs = "/sys");

}  // namespace railgauge::verbs

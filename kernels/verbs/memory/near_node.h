// A thread on the NUMA node next to its adapter, so that its polls and its memory cross no socket.
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

// The calling thread, and what it allocates, to the node nearest to `node`, which is the adapter
// `who`'s (-1: not known). Nothing of it fails: where affinity forbids it, the words say so.
Pinned pin_near(int node, const std::string& who, const std::string& sysfs = "/sys");

}  // namespace railgauge::verbs

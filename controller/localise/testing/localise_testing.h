// Small fabrics for tests of this folder.
#pragma once

#include <cstdint>
#include <limits>

#include <string_view>

#include <fmt/format.h>

#include "controller/localise/localise.h"

namespace railgauge::localise {

// n0 to nN-1 on rail 0 with host and GPU memory, everybody with everybody, about 1,000 with a noise
// of 1 %; leaves l0, l1, ... of so many nodes each (0: not known).
inline PairData healthy(int nodes, int nodes_per_leaf = 0) {
  PairData data{.synthetic = true};
  for (int node = 0; node < nodes; ++node) {
    data.nodes.push_back(fmt::format("n{}", node));
    if (nodes_per_leaf == 0) continue;
    data.leaf_of.push_back(node / nodes_per_leaf);
    if (node % nodes_per_leaf == 0)
      data.leaves.push_back(fmt::format("l{}", node / nodes_per_leaf));
  }
  std::uint32_t state = 12345;
  const auto uniform = [&state] {
    state = state * 1664525U + 1013904223U;
    return static_cast<float>(state >> 8U) * 0x1p-24F - 0.5F;
  };
  for (const char* memory : {"host", "gpu"}) {
    Layer& layer = data.layers.emplace_back(Layer{.rail = 0, .memory = memory});
    for (int i = 0; i < nodes * nodes; ++i)
      layer.values.push_back(1000 * (1 + 0.02F * (uniform() + uniform() + uniform())));
    const auto row = static_cast<std::size_t>(nodes) + 1;
    for (std::size_t own = 0; own < layer.values.size(); own += row)
      layer.values[own] = std::numeric_limits<float>::quiet_NaN();
  }
  return data;
}

// change(from, to, value) for each pair of each layer, or of that memory alone.
template <class Change>
void for_all(PairData& data, Change change, std::string_view memory = "") {
  const int n = static_cast<int>(data.nodes.size());
  for (Layer& layer : data.layers) {
    if (!memory.empty() && layer.memory != memory) continue;
    float* value = layer.values.data();
    for (int from = 0; from < n; ++from)
      for (int to = 0; to < n; ++to, ++value)
        if (from != to) change(from, to, *value);
  }
}

}  // namespace railgauge::localise

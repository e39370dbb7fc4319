// A small fabric over many nights, as the judge of runs reads it. Synthetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "controller/findings/changes/series_runs.h"
#include "controller/verdict/testing/simulate.h"

namespace railgauge {

inline constexpr int kNodes = 6;
inline constexpr int kRuns = 40;

// All pairs of the nodes.
inline std::vector<SeriesRuns> fabric(std::uint64_t seed, int nodes = kNodes, double noise = 0.01) {
  analysis::Chance chance(seed);
  std::vector<SeriesRuns> all;
  for (int a = 1; a <= nodes; ++a)
    for (int b = a + 1; b <= nodes; ++b) {
      SeriesRuns& one = all.emplace_back();
      one.series.series_id = 100 * a + b;
      one.series.kernel = "verbs.write_lat";
      one.series.metric = "latency_ns";
      one.series.unit = "ns";
      one.series.message_bytes = 8;
      one.series.endpoints = {fmt::format("n{}/rxe0:1", a), fmt::format("n{}/rxe0:1", b)};
      for (int run = 0; run < kRuns; ++run)
        one.values.push_back(1500 * (1 + noise * chance.normal()));
    }
  return all;
}

inline bool has_node(const SeriesRuns& one, const std::string& node) {
  return one.series.endpoints[0].starts_with(node + "/") ||
         one.series.endpoints[1].starts_with(node + "/");
}

// From run `from` on.
inline void slow_down(SeriesRuns& one, std::size_t from, double share) {
  for (std::size_t run = from; run < one.values.size(); ++run) one.values[run] *= 1 + share;
}

}  // namespace railgauge

// Helpers for tests of the agent's metrics: points, and their values on the metrics page.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "agent/metrics.h"
#include "controller/metric/exposition.h"

namespace railgauge::agent {

inline Point latency(double bytes, double median_ns) {
  Point point;
  point.set_metric("latency_ns");
  point.set_message_bytes(bytes);
  point.set_median(median_ns);
  return point;
}

inline Point bandwidth(double bytes, double median) {
  Point point;
  point.set_metric("bandwidth_bytes_per_second");
  point.set_message_bytes(bytes);
  point.set_median(median);
  return point;
}

// Publishes the point as that of a task that passed.
inline void result(Metrics& metrics, const std::string& kernel, const std::string& endpoint,
                   const Point& point, double at,
                   const std::map<std::string, std::string>& facts = {}) {
  Started started;
  started.set_kernel(kernel);
  started.set_endpoint(endpoint);
  started.mutable_facts()->insert(facts.begin(), facts.end());
  Figures figures;
  metrics.add_figures(started, point, at, figures);
  metrics.show(figures);
}

// Returns the samples of these families, one a line, sorted because the page has no order.
inline std::string lines_with(const Metrics& metrics, const std::vector<std::string>& names) {
  std::set<std::string> lines;
  for (const metric::Sample& sample : metric::read_exposition(metrics.text())) {
    if (std::find(names.begin(), names.end(), sample.name) == names.end()) continue;
    std::string line = sample.name;
    for (const auto& [label, value] : sample.labels) line += fmt::format(" {}={}", label, value);
    lines.insert(fmt::format("{} {}\n", line, sample.value));
  }
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

}  // namespace railgauge::agent

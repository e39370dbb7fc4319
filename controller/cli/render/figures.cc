#include "controller/cli/render/figures.h"

#include <algorithm>

#include "controller/cli/render/results_table.h"

namespace railgauge::cli {
namespace {

// They say how, not what is measured; the size is the point's own.
const std::set<std::string> kNoDifference{"sizes",       "iterations",   "min_samples",
                                          "max_samples", "precision",    "time_cap",
                                          "verify",      "stall_timeout"};

template <class Message>
Parameters telling(const Message& message, const std::string& but) {
  Parameters parameters;
  for (const auto& [name, value] : message.parameters())
    if (name != but && !kNoDifference.contains(name)) parameters.emplace_back(name, value);
  std::ranges::sort(parameters);
  return parameters;
}

}  // namespace

Parameters telling_parameters(const railgauge::api::ResultPoint& point, const std::string& but) {
  return telling(point, but);
}

Parameters telling_parameters(const railgauge::api::TaskDetail& task, const std::string& but) {
  return telling(task, but);
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string value_text(double value, const std::string& unit) {
  if (unit == "bytes_per_second") return figure(value / 1e9) + " GB/s";
  if (unit == "ns") return figure(value / 1e3) + " us";
  return figure(value) + " " + unit;
}

}  // namespace railgauge::cli

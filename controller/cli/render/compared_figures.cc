#include "controller/cli/render/compared_figures.h"

#include <algorithm>

#include <fmt/format.h>

#include "controller/cli/render/results_table.h"
#include "kernels/core/text/json.h"

namespace railgauge::cli {
namespace {

// The parameters that distinguish figures, sorted by name.
template <class Message>
Parameters telling(const Message& message, const std::string& but) {
  Parameters parameters;
  for (const auto& [name, value] : message.parameters())
    if (name != but && !is_effort_parameter(name)) parameters.emplace_back(name, value);
  std::ranges::sort(parameters);
  return parameters;
}

}  // namespace

Parameters telling_parameters(const api::ResultPoint& point, const std::string& but) {
  return telling(point, but);
}

Parameters telling_parameters(const api::TaskDetail& task, const std::string& but) {
  return telling(task, but);
}

std::string key_of(const api::ResultPoint& point, const google::protobuf::Message& entry) {
  return fmt::format("{} {}", point.revision(), to_json(entry, JsonLayout::kCompact));
}

// GB/s are 10^9 bytes, as everywhere in tables.
std::string value_text(double value, const std::string& unit) {
  if (unit == "bytes_per_second") return figure(value / 1e9) + " GB/s";
  if (unit == "ns") return figure(value / 1e3) + " us";
  return figure(value) + " " + unit;
}

}  // namespace railgauge::cli

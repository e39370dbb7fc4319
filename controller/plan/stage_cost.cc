#include "controller/plan/stage_cost.h"

#include <algorithm>

namespace railgauge::plan {
namespace {

constexpr double kDefaultTimeCapSeconds = 1;

double cap_seconds_of(const KernelInfo& kernel, const Params& params) {
  double seconds = kDefaultTimeCapSeconds;
  if (find_parameter(kernel, "time_cap", "duration") != nullptr)
    seconds = params.duration_ns("time_cap") / 1e9;
  if (find_parameter(kernel, "duration", "duration") != nullptr)  // without a stop rule
    seconds = std::max(seconds, params.duration_ns("duration") / 1e9);
  return seconds;
}

}  // namespace

const ParameterInfo* find_parameter(const KernelInfo& kernel, std::string_view name,
                                    std::string_view type) {
  const auto& all = kernel.parameters();
  const auto found = std::ranges::find(all, name, &ParameterInfo::name);
  return found != all.end() && found->type() == type ? &*found : nullptr;
}

bool measures_bandwidth(const KernelInfo& kernel) {
  return std::ranges::any_of(kernel.metrics(), [](const std::string& metric) {
    return metric.find("bandwidth") != std::string::npos;
  });
}

StageCost::StageCost(const KernelInfo& kernel, const Params& params) {
  std::vector<std::uint64_t> sizes{0};
  if (find_parameter(kernel, "sizes", "bytes_list") != nullptr) sizes = params.bytes_list("sizes");
  std::int64_t iterations = 0;
  if (find_parameter(kernel, "iterations", "integer") != nullptr)
    iterations = params.integer("iterations");
  seconds_per_point_ = cap_seconds_of(kernel, params) * static_cast<double>(sizes.size());
  for (const std::uint64_t size : sizes)
    bytes_per_point_ += static_cast<double>(iterations) * static_cast<double>(size);
  by_rate_ = iterations <= 0 && measures_bandwidth(kernel);
  if (find_parameter(kernel, "gpus", "text") == nullptr) return;
  const std::string& chosen = params.text("gpus");
  by_node_gpus_ = chosen == "all";
  if (!by_node_gpus_) named_gpus_ = static_cast<std::size_t>(std::ranges::count(chosen, ',')) + 1;
}

TaskCost StageCost::of(double rate_bits_per_second, std::size_t node_gpus) const {
  const std::size_t gpus = by_node_gpus_ ? node_gpus : named_gpus_;
  const auto points = static_cast<double>(gpus < 2 ? 1 : gpus * (gpus - 1));
  const double measuring_seconds = seconds_per_point_ * points;
  return {
      .seconds = measuring_seconds + kTaskOverheadSeconds,
      .bytes = by_rate_ ? rate_bits_per_second / 8 * measuring_seconds : bytes_per_point_ * points};
}

TaskCost expected_cost(const KernelInfo& kernel,
                       const std::map<std::string, std::string>& effective_parameters,
                       double rate_bits_per_second, std::size_t node_gpus) {
  const auto params = Params::parse(kernel, effective_parameters);
  if (!params) return {};
  return StageCost(kernel, *params).of(rate_bits_per_second, node_gpus);
}

}  // namespace railgauge::plan

#include "controller/cli/report/placement_costs.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "controller/cli/render/compared_figures.h"
#include "controller/cli/render/results_table.h"
#include "controller/cli/render/table.h"
#include "kernels/core/base/headline.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/pci_distance.h"
#include "kernels/core/stats/quantile.h"
#include "kernels/core/text/units.h"

namespace railgauge::cli {
namespace {

using api::ResultPoint;

// kernels/gpu/session/placement.h and host_pages.h write these facts where the side is not known.
bool side_is_known(const ResultPoint& point) {
  return std::ranges::none_of(point.facts(), [](const auto& fact) {
    const bool pages = fact.first == "host_node" || fact.first.ends_with("_host_node");
    return (pages && fact.second.starts_with("not told")) ||
           (fact.first == "numa" && fact.second.starts_with("not bound"));
  });
}

// "" for a point of a task without a side.
std::string side_key_of(const ResultPoint& point) {
  const std::string side = value_of(point.parameters(), "numa");
  if ((side != "near" && side != "far") || point.outcome() != kPassed || !side_is_known(point))
    return "";
  return key_of(point, entry_for<NearFarRatio>(point, telling_parameters(point, "numa")));
}

}  // namespace

// A figure with one side only is left out: there is nothing to compare it with.
std::vector<NearFarRatio> near_far_ratios(
    const google::protobuf::RepeatedPtrField<ResultPoint>& points) {
  std::vector<NearFarRatio> out;
  for (const auto& figure : grouped(points, side_key_of)) {
    std::vector<double> near;
    std::vector<double> far;
    for (const ResultPoint* point : figure)
      (point->parameters().at("numa") == "near" ? near : far)
          .push_back(headline_of(point->point()));
    if (near.empty() || far.empty() || median(far) <= 0) continue;
    const ResultPoint& first = *figure.front();
    NearFarRatio& ratio =
        out.emplace_back(entry_for<NearFarRatio>(first, telling_parameters(first, "numa")));
    ratio.set_near(median(near));
    ratio.set_far(median(far));
    ratio.set_near_over_far(ratio.near() / ratio.far());
  }
  return out;
}

// The column of parameters has only those that differ between rows.
std::string near_far_table(const google::protobuf::RepeatedPtrField<NearFarRatio>& ratios,
                           bool colour) {
  Rows rows;
  for_each_compared(ratios, [&](const NearFarRatio& ratio, const std::string& told) {
    rows.push_back({ratio.endpoints(), ratio.kernel(), told, ratio.metric(), ratio.pair(),
                    ratio.message_bytes() > 0 ? format_bytes(ratio.message_bytes()) : "",
                    value_text(ratio.near(), ratio.unit()), value_text(ratio.far(), ratio.unit()),
                    fmt::format("{:.3f}", ratio.near_over_far())});
  });
  return render_section("ENDPOINTS|KERNEL|PARAMETERS|METRIC|PAIR|SIZE>|NEAR>|FAR>|NEAR/FAR>", rows,
                        colour, "near and far NUMA node");
}

namespace {

constexpr const char* kGpuParameter = "gpu";

// Node and port of "n1/mlx5_0:1+gpu3".
std::pair<std::string, std::string> split(const std::string& endpoint) {
  const std::size_t slash = endpoint.find('/');
  if (slash == std::string::npos) return {endpoint, ""};
  return {endpoint.substr(0, slash), endpoint.substr(slash + 1)};
}

// Points with the same entry differ in their NIC alone.
DistanceCost distance_entry(const ResultPoint& point) {
  auto cost = entry_for<DistanceCost>(point, telling_parameters(point, kGpuParameter));
  cost.set_node(split(point.endpoints(0)).first);
  cost.set_gpu("gpu" + value_of(point.parameters(), kGpuParameter));
  return cost;
}

// A task that was placed by a GPU may still use host memory alone.
bool used_gpu(const ResultPoint& point) {
  const std::string memory = value_of(point.parameters(), "memory");
  const std::string target = value_of(point.parameters(), "target_memory");
  return memory != "host" || (target != "host" && target != "same" && !target.empty());
}

// Reports whether the point says something about a GPU and a NIC: passed, over loopback, with a
// known distance and a GPU.
bool counts(const ResultPoint& point) {
  const std::string& unit = point.point().unit();
  return point.outcome() == kPassed && is_loopback(point) &&
         point.facts().contains(kDistanceFact) && point.parameters().contains(kGpuParameter) &&
         used_gpu(point) && (unit == "ns" || unit == "bytes_per_second") &&
         headline_of(point.point()) > 0;
}

using ByPort = std::map<std::string, std::vector<double>>;
// The figures at one distance, by port.
struct Distance {
  ByPort ports;
  // The median of the ports' medians: a port that was measured more often has no more weight.
  [[nodiscard]] double median() const {
    std::vector<double> medians;
    for (const auto& [port, values] : ports) medians.push_back(railgauge::median(values));
    return railgauge::median(medians);
  }
};
// One figure of one GPU by rank, the nearest first; the word beside it, since unknown ones share a
// rank.
using Distances = std::map<std::pair<std::size_t, std::string>, Distance>;

// The difference to the nearest distance; absent where one of the two distances is unknown.
DistanceCost cost_of(DistanceCost cost, const Distances& all, const std::string& distance,
                     const Distance& own) {
  cost.set_distance(distance);
  cost.set_pairs(static_cast<std::uint32_t>(own.ports.size()));
  cost.set_median(own.median());
  const auto& [nearest, nearest_ports] = *all.begin();
  // No known distance at all: nothing to compare with.
  if (nearest.first == kPciDistances.size()) return cost;
  cost.set_nearest(nearest.second);
  if (pci_distance_rank(distance) == kPciDistances.size()) return cost;
  if (cost.unit() == "ns")
    cost.set_latency_added_ns(cost.median() - nearest_ports.median());
  else
    cost.set_bandwidth_kept(cost.median() / nearest_ports.median());
  return cost;
}

}  // namespace

std::vector<DistanceCost> distance_costs(
    const google::protobuf::RepeatedPtrField<ResultPoint>& points) {
  const auto key = [](const ResultPoint& point) {
    return counts(point) ? key_of(point, distance_entry(point)) : "";
  };
  std::vector<DistanceCost> costs;
  for (const auto& figure : grouped(points, key)) {
    Distances all;
    for (const ResultPoint* point : figure) {
      const std::string& distance = point->facts().at(kDistanceFact);
      all[{pci_distance_rank(distance), distance}]
          .ports[split(point->endpoints(0)).second]
          .push_back(headline_of(point->point()));
    }
    for (const auto& [distance, own] : all)
      costs.push_back(cost_of(distance_entry(*figure.front()), all, distance.second, own));
  }
  return costs;
}

std::string distance_table(const google::protobuf::RepeatedPtrField<DistanceCost>& costs,
                           bool colour) {
  Rows rows;
  for_each_compared(costs, [&](const DistanceCost& cost, const std::string& told) {
    rows.push_back({cost.node() + "/" + cost.gpu(), cost.kernel(), told, cost.metric(),
                    cost.meaning(), cost.pair(),
                    cost.message_bytes() > 0 ? format_bytes(cost.message_bytes()) : "",
                    cost.distance(), cost.pairs(), value_text(cost.median(), cost.unit()),
                    cost.has_nearest() ? cost.nearest() : "-",
                    cost.has_latency_added_ns() ? value_text(cost.latency_added_ns(), "ns") : "",
                    cost.has_bandwidth_kept() ? fmt::format("{:.3f}", cost.bandwidth_kept()) : ""});
  });
  return render_section(
      "GPU|KERNEL|PARAMETERS|METRIC|MEANING|PAIR|SIZE>|DISTANCE|NICS>|MEDIAN>|AGAINST|"
      "LATENCY ADDED>|BANDWIDTH KEPT>",
      rows, colour, "GPU and NIC by distance, over loopback: says nothing about the fabric");
}

}  // namespace railgauge::cli

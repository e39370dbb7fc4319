#include "controller/cli/report/placement_costs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/cli/render/compared_figures.h"
#include "controller/cli/render/results_table.h"
#include "controller/cli/render/table.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/pci_distance.h"
#include "kernels/core/stats/quantile.h"
#include "kernels/core/text/units.h"

namespace railgauge::cli {
namespace {

using railgauge::api::ResultPoint;

// The identity of a figure, without the side that it was measured from.
using SideKey = std::tuple<std::string, std::string, std::uint32_t, std::vector<std::string>,
                           std::string, std::string, std::string, double, Parameters>;

// Points with the same key differ in their side alone.
SideKey side_key_of(const ResultPoint& point) {
  const Point& value = point.point();
  return {point.run_id(),
          point.kernel(),
          point.revision(),
          {point.endpoints().begin(), point.endpoints().end()},
          value.metric(),
          value.meaning(),
          value.pair(),
          value.message_bytes(),
          telling_parameters(point, "numa")};
}

// kernels/gpu/session/placement.h and host_pages.h write these facts where the side is not known.
bool side_is_known(const ResultPoint& point) {
  return std::ranges::none_of(point.facts(), [](const auto& fact) {
    const bool pages = fact.first == "host_node" || fact.first.ends_with("_host_node");
    return (pages && fact.second.starts_with("not told")) ||
           (fact.first == "numa" && fact.second.starts_with("not bound"));
  });
}

// The medians of one figure from both sides.
struct BothSides {
  SideKey key;
  const ResultPoint* first = nullptr;
  std::vector<double> near;
  std::vector<double> far;
};

// Both sides have at least one value here.
NearFarRatio ratio_of(const BothSides& both) {
  const ResultPoint& point = *both.first;
  NearFarRatio out;
  out.set_run_id(point.run_id());
  out.set_kernel(point.kernel());
  *out.mutable_endpoints() = point.endpoints();
  out.set_metric(point.point().metric());
  out.set_meaning(point.point().meaning());
  out.set_pair(point.point().pair());
  out.set_message_bytes(point.point().message_bytes());
  for (const auto& [name, value] : std::get<8>(both.key)) (*out.mutable_parameters())[name] = value;
  out.set_unit(point.point().unit());
  out.set_near(median(both.near));
  out.set_far(median(both.far));
  out.set_near_over_far(out.near() / out.far());
  return out;
}

}  // namespace

// A figure with one side only is left out: there is nothing to compare it with.
std::vector<NearFarRatio> near_far_ratios(
    const google::protobuf::RepeatedPtrField<ResultPoint>& points) {
  std::vector<BothSides> all;
  std::map<SideKey, std::size_t> places;
  for (const ResultPoint& point : points) {
    // Points of other tasks have no side.
    const auto side = point.parameters().find("numa");
    if (side == point.parameters().end() || point.outcome() != kPassed) continue;
    if (side->second != "near" && side->second != "far") continue;
    if (!side_is_known(point)) continue;
    SideKey key = side_key_of(point);
    const auto [place, is_new] = places.try_emplace(key, all.size());
    if (is_new) all.push_back({std::move(key), &point, {}, {}});
    BothSides& both = all[place->second];
    (side->second == "near" ? both.near : both.far).push_back(point.point().median());
  }
  std::vector<NearFarRatio> out;
  for (const BothSides& both : all)
    if (!both.near.empty() && !both.far.empty() && median(both.far) > 0)
      out.push_back(ratio_of(both));
  return out;
}

// The column of parameters has only those that differ between rows.
std::string near_far_table(const google::protobuf::RepeatedPtrField<NearFarRatio>& ratios,
                           bool colour) {
  if (ratios.empty()) return "";
  const std::vector<std::string> told = differing_parameters(ratios);
  Rows rows;
  for (int i = 0; i < ratios.size(); ++i) {
    const NearFarRatio& ratio = ratios[i];
    rows.push_back({fmt::format("{}", fmt::join(ratio.endpoints(), " ")), ratio.kernel(),
                    told[static_cast<std::size_t>(i)], ratio.metric(), ratio.pair(),
                    ratio.message_bytes() > 0 ? format_bytes(ratio.message_bytes()) : "",
                    value_text(ratio.near(), ratio.unit()), value_text(ratio.far(), ratio.unit()),
                    fmt::format("{:.3f}", ratio.near_over_far())});
  }
  return "\n" + toned("near and far NUMA node", Tone::kHeading, colour) + "\n" +
         render_table({{"ENDPOINTS"},
                       {"KERNEL"},
                       {"PARAMETERS"},
                       {"METRIC"},
                       {"PAIR"},
                       {"SIZE", true},
                       {"NEAR", true},
                       {"FAR", true},
                       {"NEAR/FAR", true}},
                      rows, colour);
}

namespace {

constexpr const char* kGpuParameter = "gpu";

// A figure of one GPU, whatever the port.
using DistanceKey = std::tuple<std::string, std::string, std::string, std::string, std::uint32_t,
                               std::string, std::string, std::string, double, Parameters>;

// Node and port of "n1/mlx5_0:1+gpu3".
std::pair<std::string, std::string> split(const std::string& endpoint) {
  const std::size_t slash = endpoint.find('/');
  if (slash == std::string::npos) return {endpoint, ""};
  return {endpoint.substr(0, slash), endpoint.substr(slash + 1)};
}

// "" where the map has no such name.
template <class Map>
std::string value_of(const Map& map, const std::string& name) {
  const auto found = map.find(name);
  return found == map.end() ? "" : found->second;
}

// Points with the same key differ in their NIC alone.
DistanceKey distance_key_of(const ResultPoint& point) {
  const Point& value = point.point();
  return {point.run_id(),
          split(point.endpoints(0)).first,
          "gpu" + value_of(point.parameters(), kGpuParameter),
          point.kernel(),
          point.revision(),
          value.metric(),
          value.meaning(),
          value.pair(),
          value.message_bytes(),
          telling_parameters(point, kGpuParameter)};
}

// A task that was placed by a GPU may still use host memory alone.
bool used_gpu(const ResultPoint& point) {
  const std::string memory = value_of(point.parameters(), "memory");
  const std::string target = value_of(point.parameters(), "target_memory");
  return memory != "host" || (target != "host" && target != "same" && !target.empty());
}

// Whether the point says something about a GPU and a NIC: passed, over loopback, with a known
// distance and a GPU.
bool counts(const ResultPoint& point) {
  const std::string& unit = point.point().unit();
  return point.outcome() == kPassed && is_loopback(point) &&
         point.facts().contains(kDistanceFact) && point.parameters().contains(kGpuParameter) &&
         used_gpu(point) && (unit == "ns" || unit == "bytes_per_second") &&
         point.point().median() > 0;
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
// One figure of one GPU, at all distances.
struct Figure {
  DistanceKey key;
  const ResultPoint* first = nullptr;
  // By rank, the nearest first; the word beside it, since unknown ones share a rank.
  std::map<std::pair<std::size_t, std::string>, Distance> distances;
};

// The difference to the nearest distance; absent where one of the two distances is unknown.
DistanceCost cost_of(const Figure& figure, const std::string& distance, const Distance& own) {
  const ResultPoint& point = *figure.first;
  DistanceCost cost;
  cost.set_run_id(point.run_id());
  cost.set_node(std::get<1>(figure.key));
  cost.set_gpu(std::get<2>(figure.key));
  cost.set_kernel(point.kernel());
  cost.set_metric(point.point().metric());
  cost.set_meaning(point.point().meaning());
  cost.set_pair(point.point().pair());
  cost.set_message_bytes(point.point().message_bytes());
  for (const auto& [name, value] : std::get<9>(figure.key))
    (*cost.mutable_parameters())[name] = value;
  cost.set_distance(distance);
  cost.set_pairs(static_cast<std::uint32_t>(own.ports.size()));
  cost.set_unit(point.point().unit());
  cost.set_median(own.median());
  const auto& [nearest, nearest_ports] = *figure.distances.begin();
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
  std::vector<Figure> figures;
  std::map<DistanceKey, std::size_t> places;
  for (const ResultPoint& point : points) {
    if (!counts(point)) continue;
    DistanceKey key = distance_key_of(point);
    const auto [place, is_new] = places.try_emplace(key, figures.size());
    if (is_new) figures.push_back({std::move(key), &point, {}});
    const std::string& distance = point.facts().at(kDistanceFact);
    figures[place->second]
        .distances[{pci_distance_rank(distance), distance}]
        .ports[split(point.endpoints(0)).second]
        .push_back(point.point().median());
  }
  std::vector<DistanceCost> costs;
  for (const Figure& figure : figures)
    for (const auto& [distance, own] : figure.distances)
      costs.push_back(cost_of(figure, distance.second, own));
  return costs;
}

std::string distance_table(const google::protobuf::RepeatedPtrField<DistanceCost>& costs,
                           bool colour) {
  if (costs.empty()) return "";
  const std::vector<std::string> told = differing_parameters(costs);
  Rows rows;
  for (int i = 0; i < costs.size(); ++i) {
    const DistanceCost& cost = costs[i];
    rows.push_back({cost.node() + "/" + cost.gpu(), cost.kernel(),
                    told[static_cast<std::size_t>(i)], cost.metric(), cost.meaning(), cost.pair(),
                    cost.message_bytes() > 0 ? format_bytes(cost.message_bytes()) : "",
                    cost.distance(), fmt::format("{}", cost.pairs()),
                    value_text(cost.median(), cost.unit()),
                    cost.has_nearest() ? cost.nearest() : "-",
                    cost.has_latency_added_ns() ? value_text(cost.latency_added_ns(), "ns") : "",
                    cost.has_bandwidth_kept() ? fmt::format("{:.3f}", cost.bandwidth_kept()) : ""});
  }
  return "\n" +
         toned("GPU and NIC by distance, over loopback: says nothing about the fabric",
               Tone::kHeading, colour) +
         "\n" +
         render_table({{"GPU"},
                       {"KERNEL"},
                       {"PARAMETERS"},
                       {"METRIC"},
                       {"MEANING"},
                       {"PAIR"},
                       {"SIZE", true},
                       {"DISTANCE"},
                       {"NICS", true},
                       {"MEDIAN", true},
                       {"AGAINST"},
                       {"LATENCY ADDED", true},
                       {"BANDWIDTH KEPT", true}},
                      rows, colour);
}

}  // namespace railgauge::cli

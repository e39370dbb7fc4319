#include "controller/cli/near_far.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/cli/results_table.h"
#include "controller/cli/table.h"
#include "kernels/core/outcome.h"
#include "kernels/core/units.h"

namespace railgauge::cli {
namespace {

using railgauge::api::ResultPoint;

// They say how, not what is measured; the size is the point's own.
const std::set<std::string> kNoDifference{"numa",        "sizes",     "iterations", "min_samples",
                                          "max_samples", "precision", "time_cap",   "verify"};

// What a figure is, but for the side that it was measured from.
using Key =
    std::tuple<std::string, std::string, std::uint32_t, std::vector<std::string>, std::string,
               std::string, std::string, double, std::vector<std::pair<std::string, std::string>>>;

Key key_of(const ResultPoint& point) {
  std::vector<std::pair<std::string, std::string>> parameters;
  for (const auto& [name, value] : point.parameters())
    if (!kNoDifference.contains(name)) parameters.emplace_back(name, value);
  std::ranges::sort(parameters);
  const Point& value = point.point();
  return {point.run_id(),       point.kernel(),
          point.revision(),     {point.endpoints().begin(), point.endpoints().end()},
          value.metric(),       value.meaning(),
          value.pair(),         value.message_bytes(),
          std::move(parameters)};
}

// What kernels/gpu/placement.h and host_pages.h tell in facts where the side is not known.
bool side_is_known(const ResultPoint& point) {
  return std::ranges::none_of(point.facts(), [](const auto& fact) {
    const bool pages = fact.first == "host_node" || fact.first.ends_with("_host_node");
    return (pages && fact.second.starts_with("not told")) ||
           (fact.first == "numa" && fact.second.starts_with("not bound"));
  });
}

struct Sides {
  Key key;
  const ResultPoint* first = nullptr;
  std::vector<double> near;
  std::vector<double> far;
};

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

NearFarRatio ratio_of(const Sides& sides) {
  const ResultPoint& point = *sides.first;
  NearFarRatio out;
  out.set_run_id(point.run_id());
  out.set_kernel(point.kernel());
  *out.mutable_endpoints() = point.endpoints();
  out.set_metric(point.point().metric());
  out.set_meaning(point.point().meaning());
  out.set_pair(point.point().pair());
  out.set_message_bytes(point.point().message_bytes());
  for (const auto& [name, value] : std::get<8>(sides.key))
    (*out.mutable_parameters())[name] = value;
  out.set_unit(point.point().unit());
  out.set_near(median_of(sides.near));
  out.set_far(median_of(sides.far));
  out.set_near_over_far(out.near() / out.far());
  return out;
}

// Value and unit as people read them: "55.60 GB/s".
std::string value_text(double value, const std::string& unit) {
  if (unit == "bytes_per_second") return figure(value / 1e9) + " GB/s";
  if (unit == "ns") return figure(value / 1e3) + " us";
  return figure(value) + " " + unit;
}

// Names of parameters whose values are not the same in all ratios of one kernel.
std::set<std::pair<std::string, std::string>> differing(
    const google::protobuf::RepeatedPtrField<NearFarRatio>& ratios) {
  std::map<std::pair<std::string, std::string>, std::string> first;
  std::set<std::pair<std::string, std::string>> out;
  for (const NearFarRatio& ratio : ratios)
    for (const auto& [name, value] : ratio.parameters()) {
      const std::pair key(ratio.kernel(), name);
      if (first.try_emplace(key, value).first->second != value) out.insert(key);
    }
  return out;
}

}  // namespace

std::vector<NearFarRatio> near_far_ratios(
    const google::protobuf::RepeatedPtrField<ResultPoint>& points) {
  std::vector<Sides> all;
  std::map<Key, std::size_t> places;
  for (const ResultPoint& point : points) {
    const auto side = point.parameters().find("numa");
    if (side == point.parameters().end() || point.outcome() != kPassed) continue;
    if (side->second != "near" && side->second != "far") continue;
    if (!side_is_known(point)) continue;
    Key key = key_of(point);
    const auto [place, is_new] = places.try_emplace(key, all.size());
    if (is_new) all.push_back({std::move(key), &point, {}, {}});
    Sides& sides = all[place->second];
    (side->second == "near" ? sides.near : sides.far).push_back(point.point().median());
  }
  std::vector<NearFarRatio> out;
  for (const Sides& sides : all)
    if (!sides.near.empty() && !sides.far.empty() && median_of(sides.far) > 0)
      out.push_back(ratio_of(sides));
  return out;
}

std::string near_far_table(const google::protobuf::RepeatedPtrField<NearFarRatio>& ratios,
                           bool colour) {
  if (ratios.empty()) return "";
  const auto told = differing(ratios);
  std::vector<std::vector<Cell>> rows;
  for (const NearFarRatio& ratio : ratios) {
    std::vector<std::string> parameters;
    for (const auto& [kernel, name] : told)
      if (kernel == ratio.kernel() && ratio.parameters().contains(name))
        parameters.push_back(name + " " + ratio.parameters().at(name));
    rows.push_back({fmt::format("{}", fmt::join(ratio.endpoints(), " ")), ratio.kernel(),
                    fmt::format("{}", fmt::join(parameters, ", ")), ratio.metric(), ratio.pair(),
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

}  // namespace railgauge::cli

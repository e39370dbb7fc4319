#include "controller/cli/report/near_far.h"

#include <map>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/cli/render/figures.h"
#include "controller/cli/render/table.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/units.h"

namespace railgauge::cli {
namespace {

using railgauge::api::ResultPoint;

// What a figure is, but for the side that it was measured from.
using Key = std::tuple<std::string, std::string, std::uint32_t, std::vector<std::string>,
                       std::string, std::string, std::string, double, Parameters>;

Key key_of(const ResultPoint& point) {
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

// What kernels/gpu/session/placement.h and host_pages.h tell in facts where the side is not known.
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
  const std::vector<std::string> told = differing_parameters(ratios);
  std::vector<std::vector<Cell>> rows;
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

}  // namespace railgauge::cli

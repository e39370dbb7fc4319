#include "controller/analysis/localise.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "controller/analysis/localise_report.h"
#include "controller/analysis/localise_search.h"

namespace railgauge::localise {
namespace {

constexpr double kMovedDeviations = 0.2;  // of what is expected, before all is looked at again
constexpr int kMostPasses = 3;

Status check_layers(const PairData& data) {
  const std::size_t n = data.nodes.size();
  std::set<std::pair<std::int32_t, std::string>> seen;
  for (const Layer& layer : data.layers) {
    if (layer.rail < 0 || layer.values.size() != n * n)
      return fail(Code::kInvalidArgument,
                  fmt::format("localise: rail {} {}: {} figures do not fit {} nodes", layer.rail,
                              layer.memory, layer.values.size(), n));
    if (!seen.emplace(layer.rail, layer.memory).second)
      return fail(Code::kInvalidArgument,
                  fmt::format("localise: rail {} {} is there twice", layer.rail, layer.memory));
  }
  return {};
}

Status check(const PairData& data) {
  const std::size_t n = data.nodes.size();
  if (n < 2 || n > kMaxNodes || data.layers.empty() || data.layers.size() > kMaxLayers)
    return fail(Code::kInvalidArgument,
                fmt::format("localise: {} nodes and {} layers; 2 to {} and 1 to {} are allowed", n,
                            data.layers.size(), kMaxNodes, kMaxLayers));
  const auto leaves = static_cast<std::int32_t>(data.leaves.size());
  const bool fits = data.leaf_of.empty() ||
                    (data.leaf_of.size() == n && std::ranges::all_of(data.leaf_of, [&](auto leaf) {
                       return leaf >= -1 && leaf < leaves;
                     }));
  if (!fits)
    return fail(
        Code::kInvalidArgument,
        fmt::format("localise: {} entries of nodes' leaves do not fit {} nodes and {} leaves",
                    data.leaf_of.size(), n, leaves));
  return check_layers(data);
}

// What is explained shall not speak again: of the least of several parts the others cannot be seen
// any more; what adds up is taken off.
void explain(Cells& cells, const Found& found, bool take_off) {
  for (const std::size_t layer : found.layers) {
    const double shift = found.drop / cells.layers()[layer].noise / kBinWidth;
    visit_pairs(cells.topology(), found.element, [&](std::int32_t from, std::int32_t to) {
      const std::uint8_t bin = cells.bin(layer, from, to);
      if (bin == kNoFigure) return;
      const auto moved = static_cast<std::uint8_t>(std::clamp(bin + shift, 0.0, kBins - 1.0));
      // What lay at or below the last bin is not known well enough to be corrected.
      cells.put(layer, from, to, take_off && bin > 0 ? moved : kNoFigure);
    });
  }
}

// Nodes without a single figure.
std::vector<std::int32_t> unmeasured(const Cells& cells) {
  std::vector<std::int32_t> nodes;
  for (std::size_t node = 0; node < cells.topology().nodes; ++node) {
    const bool any = std::ranges::any_of(cells.layers(), [node](const LayerCells& layer) {
      return layer.sends[node].count + layer.receives[node].count > 0;
    });
    if (!any) nodes.push_back(static_cast<std::int32_t>(node));
  }
  return nodes;
}

// Everything that stands out, each without what was found before it; `cells` are left without them.
std::vector<Found> search(Cells& cells, Model model, const Options& options) {
  std::vector<Found> all;
  while (all.size() < options.max_suspects) {
    const std::optional<Found> found = best_element(cells, options);
    if (!found) break;
    const bool again = std::ranges::any_of(
        all, [&](const Found& known) { return known.element == found->element; });
    explain(cells, *found, model == Model::kAdditive && !found->element.intermittent && !again);
    if (!again) all.push_back(*found);
  }
  return all;
}

// Whether what is expected was seen wrongly because of what was found since.
bool moved(const Cells& cells, const Cells::Centres& centres) {
  for (std::size_t l = 0; l < centres.size(); ++l)
    for (std::size_t c = 0; c < 2; ++c) {
      const LayerCells& of = cells.layers()[l];
      if (std::abs(centres[l][c] / of.centre[c] - 1) > kMovedDeviations * of.noise) return true;
    }
  return false;
}

}  // namespace

Result<Localisation> find_suspects(const PairData& data, const Options& options) {
  RG_TRY_OK(check(data));
  Cells cells(data, options);
  Localisation result{.synthetic = data.synthetic};
  const double n = static_cast<double>(data.nodes.size());
  result.possible_pairs = n * (n - 1) * static_cast<double>(data.layers.size());
  for (const LayerCells& layer : cells.layers()) {
    result.measured_pairs += layer.all.count;
    result.noise = std::max(result.noise, layer.noise);
  }
  if (result.measured_pairs == 0)
    return fail(Code::kFailedPrecondition, "localise: no pair has a figure; nothing can be said");
  result.unmeasured_nodes = unmeasured(cells);
  std::vector<Found> found = search(cells, data.model, options);
  Cells::Centres centres;
  for (int pass = 0; pass < kMostPasses && !found.empty(); ++pass) {
    Cells::Centres better = cells.centres(data.model);
    if (!moved(cells, better)) break;
    centres = std::move(better);
    cells = Cells(data, options, centres);
    found = search(cells, data.model, options);
  }
  // Told in the same order over figures of which nothing is explained yet.
  Cells fresh = found.empty() ? std::move(cells) : Cells(data, options, centres);
  const Reporter reporter(data, fresh);
  for (const Found& each : found) {
    result.suspects.push_back(reporter.suspect(each));
    explain(fresh, each, data.model == Model::kAdditive && !each.element.intermittent);
  }
  for (const Found& each : slow_rails(fresh, data.model, options))
    result.suspects.push_back(reporter.suspect(each));
  for (const Found& each : slow_pairs(fresh, options))
    result.suspects.push_back(reporter.suspect(each));
  std::ranges::stable_sort(result.suspects, [](const Suspect& a, const Suspect& b) {
    return std::pair(a.confirmed, a.weight) > std::pair(b.confirmed, b.weight);
  });
  if (result.suspects.size() > options.max_suspects) result.suspects.resize(options.max_suspects);
  return result;
}

}  // namespace railgauge::localise

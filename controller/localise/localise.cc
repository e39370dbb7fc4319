#include "controller/localise/localise.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "controller/localise/localise_elements.h"
#include "controller/localise/localise_nodes.h"
#include "controller/localise/localise_report.h"
#include "controller/localise/localise_search.h"
#include "kernels/core/stats/quantile.h"

namespace railgauge::localise {
namespace {

// The search starts again when an expected value moves by more than this share of its noise.
constexpr double kMovedDeviations = 0.2;
constexpr int kMostPasses = 3;

// Each layer is a square matrix over the nodes, and no rail and memory kind occurs twice.
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

// Refuses input beyond the bounds, so that the search itself needs no checks.
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

// Removes an explained fault from the cells. In the minimum model its pairs are masked: a slower
// part hides all others on the same pair. In the additive model its drop is subtracted.
void explain(Cells& cells, const Found& found, bool take_off) {
  for (const std::size_t layer : found.layers) {
    const double shift = found.drop / cells.layers()[layer].noise / kBinWidth;
    visit_pairs(cells.topology(), found.element, [&](std::int32_t from, std::int32_t to) {
      const std::uint8_t bin = cells.bin(layer, from, to);
      if (bin == kNoFigure) return;
      const auto moved = static_cast<std::uint8_t>(std::clamp(bin + shift, 0.0, kBins - 1.0));
      // A figure at or below the last bin is not known well enough to be corrected.
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

// Every outlier, each without the ones found before it.
struct Pass {
  std::vector<Found> found{};
  // The figures without what was found; absent: nothing was.
  std::optional<Cells> rest{};
};

Pass search(const Cells& cells, Model model, const Options& options) {
  Pass pass;
  while (pass.found.size() < options.max_suspects) {
    const std::optional<Found> found = best_element(pass.rest ? *pass.rest : cells, options);
    if (!found) break;
    const bool again = std::ranges::any_of(
        pass.found, [&](const Found& known) { return known.element == found->element; });
    if (!pass.rest) pass.rest = cells;
    explain(*pass.rest, *found,
            model == Model::kAdditive && !found->element.intermittent && !again);
    if (!again) pass.found.push_back(*found);
  }
  return pass;
}

// Reports whether elements found since then have changed the expected figures.
bool moved(const Cells& cells, const Cells::Centres& centres) {
  for (std::size_t l = 0; l < centres.size(); ++l)
    for (std::size_t c = 0; c < 2; ++c) {
      const LayerCells& of = cells.layers()[l];
      if (std::abs(centres[l][c] / of.centre[c] - 1) > kMovedDeviations * of.noise) return true;
    }
  return false;
}

// Whether a found node is an outlier among the nodes. Hosts differ by more than single figures
// scatter: a search that knows only the scatter of figures would call the slowest of them bad.
enum class Outlier {
  // Beyond the differences of the other nodes.
  kClear,
  // At the edge of the differences of the other nodes.
  kDoubtful,
  // Among the other nodes.
  kUsual,
};

// Chance of a clear outlier, all sides of all nodes counted.
constexpr double kClearChance = 0.005;
// Chance of this node alone, below which it is at least doubtful.
constexpr double kDoubtfulChance = 0.01;
constexpr std::size_t kLeastOthers = 3;
// From the median absolute deviation to the standard deviation of a normal.
constexpr double kOfBell = 1.4826;
// Efficiency of the median absolute deviation relative to the standard deviation.
constexpr double kEfficiency = 0.37;
// Sides of a node that are tested: it sends, it receives, both.
constexpr double kSides = 3;

// The mean of one node's figures on the element's layers.
Sums figures_of(const Cells& cells, const Found& found, std::int32_t node) {
  Element element = found.element;
  element.first = node;
  return sums_of(cells, found.layers, element);
}

// `cells`: found leaves, trunks and spines are subtracted, nodes are not: the differences must
// remain. An element that is no node or port is clear.
Outlier classify_outlier(const Cells& cells, const Found& found) {
  if (!is_of_node(found.element)) return Outlier::kClear;
  // Means of the other nodes.
  std::vector<double> means;
  for (std::size_t node = 0; node < cells.topology().nodes; ++node) {
    if (static_cast<std::int32_t>(node) == found.element.first) continue;
    const Sums of = figures_of(cells, found, static_cast<std::int32_t>(node));
    if (of.count >= 2) means.push_back(of.sum / of.count);
  }
  const Sums own = figures_of(cells, found, found.element.first);
  if (means.size() < kLeastOthers || own.count < 2) return Outlier::kDoubtful;
  const double count = static_cast<double>(means.size());
  const double usual = upper_median(means);
  for (double& mean : means) mean = std::abs(mean - usual);
  const double spread = kOfBell * upper_median(means);
  // In deviations of a figure; nodes that happen to be alike are no proof of less noise.
  const double variance = std::max(spread * spread, 1 / own.count) * (1 + 1 / count);
  const double degrees = std::max(1.0, kEfficiency * (count - 1));
  const double chance = chance_of((usual - own.sum / own.count) / std::sqrt(variance), degrees);
  if (chance * kSides * (count + 1) < kClearChance) return Outlier::kClear;
  return chance < kDoubtfulChance ? Outlier::kDoubtful : Outlier::kUsual;
}

// Result of a search in one of its two forms, before it becomes a report.
struct Searched {
  std::vector<Found> found{};
  // All figures, with nothing explained yet.
  std::optional<Cells> cells{};
  // Nodes that were found and are one of many.
  std::vector<Found> usual{};
  // For few nodes: single pairs, and the figures without the found elements.
  std::vector<Found> pairs{};
  std::optional<Cells> rest{};
};

// Few nodes: compares the sides of nodes with each other, not with the noise of single figures.
Searched search_few(const PairData& data, const Options& options, const Cells& all) {
  FewFindings few = find_few(data, options);
  Searched out{.found = std::move(few.nodes), .pairs = std::move(few.pairs)};
  const Cells& rest = out.rest.emplace(few.rest, options, Cells::Centres{}, few.noise);
  Cells::Centres centres;
  for (const LayerCells& layer : rest.layers()) centres.push_back(layer.centre);
  // For a layer without a healthy figure, the figures with the fault give the expectation.
  for (std::size_t l = 0; l < centres.size(); ++l)
    if (centres[l][0] <= 0) centres[l] = all.layers()[l].centre;
  out.cells.emplace(data, options, centres, few.noise);
  return out;
}

// Moves nodes that are no outliers among the nodes to `usual`: nodes differ, and one of them is
// always the slowest.
void drop_usual_nodes(Searched& searched) {
  // The figures without the explained groups.
  std::optional<Cells> without;
  for (const Found& each : searched.found) {
    if (is_of_node(each.element)) continue;
    if (!without) without = searched.cells;
    explain(*without, each, false);
  }
  std::vector<Found> kept;
  for (Found& each : searched.found) {
    const Outlier outlier = classify_outlier(without ? *without : *searched.cells, each);
    if (outlier == Outlier::kDoubtful) {
      each.confirmed = false;
      each.doubt = "not clear of what nodes differ by, so nothing is called bad; measure it again";
    }
    (outlier == Outlier::kUsual ? searched.usual : kept).push_back(std::move(each));
  }
  searched.found = std::move(kept);
}

// Searches among many nodes: repeats with better expected figures until these are stable.
Searched search_many(const PairData& data, const Options& options, Cells cells) {
  Searched out{.cells = std::move(cells)};
  Pass pass = search(*out.cells, data.model, options);
  for (int i = 0; i < kMostPasses && !pass.found.empty(); ++i) {
    const Cells::Centres better = pass.rest->centres(data.model);
    if (!moved(*pass.rest, better)) break;
    // Before the next ones: a figure's byte is held twice at most.
    pass.rest.reset();
    out.cells.reset();
    out.cells.emplace(data, options, better);
    pass = search(*out.cells, data.model, options);
  }
  out.found = std::move(pass.found);
  drop_usual_nodes(out);
  return out;
}

}  // namespace

Result<Localisation> find_suspects(const PairData& data, const Options& options) {
  RG_TRY_OK(check(data));
  Cells cells(data, options);
  Localisation result{.synthetic = data.synthetic};
  const double n = static_cast<double>(data.nodes.size());
  result.possible_pairs = n * (n - 1) * static_cast<double>(data.layers.size());
  for (const LayerCells& layer : cells.layers()) result.measured_pairs += layer.all.count;
  if (result.measured_pairs == 0)
    return fail(Code::kFailedPrecondition, "localise: no pair has a figure; nothing can be said");
  result.unmeasured_nodes = unmeasured(cells);
  const bool few = data.nodes.size() <= kFewNodes;
  Searched searched =
      few ? search_few(data, options, cells) : search_many(data, options, std::move(cells));
  // Reported in the same order over figures of which nothing is explained yet.
  // The report masks each suspect before the next one, in the order of the search.
  Cells& fresh = *searched.cells;
  for (const LayerCells& layer : fresh.layers())
    if (layer.all.count > 0) result.noise = std::max(result.noise, layer.noise);
  for (const Found& each : searched.found) {
    result.suspects.push_back(suspect_of(data, fresh, each));
    explain(fresh, each, data.model == Model::kAdditive && !each.element.intermittent && !few);
  }
  for (const Found& each : searched.usual) explain(fresh, each, data.model == Model::kAdditive);
  for (const Found& each : slow_rails(few ? *searched.rest : fresh, data.model, options))
    result.suspects.push_back(suspect_of(data, fresh, each));
  for (const Found& each : few ? searched.pairs : slow_pairs(fresh, options))
    result.suspects.push_back(suspect_of(data, fresh, each));
  std::ranges::stable_sort(result.suspects, [](const Suspect& a, const Suspect& b) {
    return std::pair(a.confirmed, a.weight) > std::pair(b.confirmed, b.weight);
  });
  if (result.suspects.size() > options.max_suspects) result.suspects.resize(options.max_suspects);
  return result;
}

}  // namespace railgauge::localise

#include "controller/upgrades/level_figures.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "controller/upgrades/side_figures.h"
#include "kernels/core/base/lookup.h"
#include "kernels/core/stats/quantile.h"

namespace railgauge {
namespace {

// The ends of a series in the words of levels.
struct Ends {
  std::string from{};
  std::string to{};
  std::int32_t rail = -1;
  bool gpu = false;
};

// Figures of one class share a scale: memory, across leaves, hardware of both ends, class of rail.
using ScaleKey = std::tuple<bool, bool, std::int32_t, std::int32_t, std::int32_t>;

// The memory is a parameter of the series; where it is not, the endpoint names a GPU or none.
Ends ends_of(const store::SeriesRow& series, const RailOf& rail_of) {
  // A read transfers from the target to the initiator.
  const bool reads = series.kernel.find(".read_") != std::string::npos;
  const std::string& from = series.endpoints[reads ? 1 : 0];
  const auto [node, port] = split_endpoint(from);
  const std::string memory = value_of(series.parameters, "memory");
  return {.from = node,
          .to = split_endpoint(series.endpoints[reads ? 0 : 1]).first,
          .rail = rail_of(node, port),
          .gpu = memory.empty() ? memory_of_row(from) == "gpu" : !memory.starts_with("host")};
}

// The nodes of a night by name, so that 16,384 of them are not searched for each pair.
class NightIndex {
 public:
  explicit NightIndex(const LeveledNight& night) : night_(&night) {
    for (std::size_t i = 0; i < night.levels.nodes.size(); ++i)
      numbers_.emplace(night.levels.nodes[i].name, i);
  }
  [[nodiscard]] const LeveledNight& night() const { return *night_; }
  [[nodiscard]] std::optional<std::size_t> number(const std::string& node) const {
    const auto found = numbers_.find(node);
    return found == numbers_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  const LeveledNight* night_;
  std::map<std::string, std::size_t> numbers_{};
};

// The loss of the pair by the levels of the night, a logarithm; absent: an end is not known.
std::optional<double> loss_on(const NightIndex& index, const Ends& ends) {
  const parts::Levels& levels = index.night().levels;
  const auto from = index.number(ends.from);
  const auto to = index.number(ends.to);
  if (!from || !to || ends.rail < 0 || static_cast<std::uint32_t>(ends.rail) >= levels.rails)
    return std::nullopt;
  // A night of one kind of memory says nothing about the other.
  if (!levels.has_gpu && ends.gpu != index.night().base_is_gpu) return std::nullopt;
  const parts::Memory memory =
      ends.gpu && levels.has_gpu ? parts::Memory::kGpu : parts::Memory::kBase;
  const auto rail = static_cast<std::size_t>(ends.rail);
  const parts::Level& sends = levels.end(memory, parts::Side::kSends, *from, rail);
  const parts::Level& receives = levels.end(memory, parts::Side::kReceives, *to, rail);
  if (!sends.known() || !receives.known()) return std::nullopt;
  double loss = static_cast<double>(sends.loss) + static_cast<double>(receives.loss);
  if (const parts::Level& centre = levels.centre(memory, rail); centre.known())
    loss += static_cast<double>(centre.loss);
  const std::int32_t a = levels.nodes[*from].leaf;
  const std::int32_t b = levels.nodes[*to].leaf;
  // Inside a leaf a block has the ends' part in it.
  if (a >= 0 && b >= 0 && a != b && !levels.blocks.empty())
    if (const parts::Level& block =
            levels.block(rail, static_cast<std::size_t>(a), static_cast<std::size_t>(b));
        block.known())
      loss += static_cast<double>(block.loss);
  return loss;
}

// By the nodes and rails of one night, whose numbers of hardware mean nothing on another; absent: a
// node is not among them.
std::optional<ScaleKey> scale_key(const NightIndex& index, const Ends& ends) {
  const parts::Levels& levels = index.night().levels;
  const auto from = index.number(ends.from);
  const auto to = index.number(ends.to);
  if (!from || !to) return std::nullopt;
  const parts::NightNode& a = levels.nodes[*from];
  const parts::NightNode& b = levels.nodes[*to];
  const auto rail = static_cast<std::size_t>(std::max(ends.rail, 0));
  return ScaleKey{ends.gpu, a.leaf < 0 || a.leaf != b.leaf, std::min(a.hardware, b.hardware),
                  std::max(a.hardware, b.hardware),
                  rail < levels.rail_class.size() ? levels.rail_class[rail] : 0};
}

// A pair with figures after the upgrade, and its losses on the nights.
struct LeveledPair {
  std::int64_t series = 0;
  bool larger_is_better = false;
  ScaleKey scale{};
  // By night.
  std::vector<std::optional<double>> losses{};
  std::size_t known = 0;
  double after = 0;  // median of the logarithms of its figures
};

// Over the nights that know both ends.
double mean_loss(const LeveledPair& pair) {
  double sum = 0;
  for (const auto& loss : pair.losses) sum += loss.value_or(0);
  return sum / static_cast<double>(pair.known);
}

// A loss makes a rate smaller and a time larger.
double log_of_figure(const LeveledPair& pair, double loss) {
  return pair.larger_is_better ? -loss : loss;
}

// The logarithm of what a pair without a loss gives, by class.
std::map<ScaleKey, double> scales_of(const std::vector<const LeveledPair*>& controls) {
  std::map<ScaleKey, std::vector<double>> logs;
  for (const LeveledPair* pair : controls)
    logs[pair->scale].push_back(pair->after - log_of_figure(*pair, mean_loss(*pair)));
  std::map<ScaleKey, double> scales;
  for (const auto& [key, values] : logs)
    if (values.size() >= kLeastScalePairs) scales[key] = median(values);
  return scales;
}

// The pairs of the kind that both sides know, with those of two controls apart.
struct Pairs {
  std::vector<LeveledPair> all{};
  std::vector<const LeveledPair*> controls{};
};

Pairs pairs_of_kind(const std::vector<NightIndex>& nights, const RailOf& rail_of,
                    const std::string& kind, const UpgradeData& sides) {
  Pairs out;
  const std::set<std::string> controls = control_nodes(sides);
  std::vector<bool> is_control;
  for (const auto& [id, points] : by_series(sides.after)) {
    const store::SeriesRow& series = sides.series.at(id);
    if (kind_of(series) != kind || !level_series_of(series)) continue;
    const Ends ends = ends_of(series, rail_of);
    const std::optional<ScaleKey> scale = scale_key(nights.back(), ends);
    if (!scale) continue;
    LeveledPair pair{.series = id, .larger_is_better = series.larger_is_better, .scale = *scale};
    for (const NightIndex& night : nights) {
      pair.losses.push_back(loss_on(night, ends));
      pair.known += pair.losses.back() ? 1 : 0;
    }
    std::vector<double> logs;
    for (const store::SidePointRow* point : points)
      if (point->headline > 0) logs.push_back(std::log(point->headline));
    if (pair.known < kLeastLeveledNights || logs.empty()) continue;
    pair.after = median(logs);
    is_control.push_back(controls.contains(ends.from) && controls.contains(ends.to));
    out.all.push_back(std::move(pair));
  }
  for (std::size_t i = 0; i < out.all.size(); ++i)
    if (is_control[i]) out.controls.push_back(&out.all[i]);
  return out;
}

}  // namespace

// Ends in different kinds of memory are excluded: a night's levels are of pairs with one kind.
std::optional<PairSeries> level_series_of(const store::SeriesRow& series) {
  const bool is_judged =
      series.metric == "bandwidth_bytes_per_second" || series.metric == "latency_ns";
  const std::string target = value_of(series.parameters, "target_memory");
  const bool is_mixed = !target.empty() && target != value_of(series.parameters, "memory");
  if (!is_judged || is_mixed || series.endpoints.size() != 2 || !series.pair.empty() ||
      series.kernel.starts_with("nccl.") || value_of(series.parameters, "direction") == "both" ||
      node_of(series.endpoints[0]) == node_of(series.endpoints[1]))
    return std::nullopt;
  return PairSeries{.kernel = series.kernel,
                    .metric = series.metric,
                    .meaning = series.meaning,
                    .unit = series.unit,
                    .message_bytes = series.message_bytes,
                    .larger_is_better = series.larger_is_better};
}

std::set<std::string> kinds_without_before(const UpgradeData& sides) {
  const std::set<std::string> changed = changed_names(sides.upgrade);
  const BySeries before = by_series(sides.before);
  std::map<std::string, std::map<std::string, bool>> shown;  // by kind, place
  for (const auto& [id, points] : by_series(sides.after)) {
    const store::SeriesRow& series = sides.series.at(id);
    if (!level_series_of(series)) continue;
    const auto own = before.find(id);
    const bool is_enough = own != before.end() && own->second.size() >= kHistoryRunsBefore;
    for (const std::string& endpoint : series.endpoints)
      if (changed.contains(node_of(endpoint))) {
        bool& is_shown = shown[kind_of(series)][endpoint];
        is_shown = is_shown || is_enough;
      }
  }
  std::set<std::string> out;
  for (const auto& [kind, places] : shown)
    if (!std::ranges::all_of(places, [](const auto& place) { return place.second; }))
      out.insert(kind);
  return out;
}

// Whether a pair with nights of its own would have no before side: its regression would be missed.
bool loses_measured_pairs(std::span<const store::SidePointRow> figures, const std::string& kind,
                          const UpgradeData& sides) {
  std::set<std::int64_t> replaced;
  for (const store::SidePointRow& figure : figures) replaced.insert(figure.series);
  const BySeries before = by_series(sides.before);
  return std::ranges::any_of(before, [&](const auto& own) {
    return kind_of(sides.series.at(own.first)) == kind && own.second.size() >= kHistoryRunsBefore &&
           !replaced.contains(own.first);
  });
}

// All pairs of the kind have the same before side: a scale taken from controls beside figures that
// have their own would make the two kinds of pairs differ by what changed for all.
std::size_t take_level_figures(std::span<const LeveledNight> nights, const RailOf& rail_of,
                               const std::string& kind, UpgradeData& sides) {
  if (nights.size() < kLeastLeveledNights) return 0;
  const std::vector<NightIndex> indices(nights.begin(), nights.end());
  const Pairs pairs = pairs_of_kind(indices, rail_of, kind, sides);
  const std::map<ScaleKey, double> scales = scales_of(pairs.controls);
  std::vector<store::SidePointRow> figures;
  std::set<std::size_t> used;
  for (const LeveledPair& pair : pairs.all) {
    const auto scale = scales.find(pair.scale);
    if (scale == scales.end()) continue;
    for (std::size_t night = 0; night < nights.size(); ++night) {
      if (!pair.losses[night]) continue;
      used.insert(night);
      const double value = std::exp(scale->second + log_of_figure(pair, *pair.losses[night]));
      figures.push_back({.run_id = nights[night].run_id,
                         .series = pair.series,
                         .measured_at = nights[night].at,
                         .headline = value,
                         // No launch of a real run has a negative number.
                         .launch = -1 - static_cast<std::int64_t>(night)});
    }
  }
  if (figures.empty() || loses_measured_pairs(figures, kind, sides)) return 0;
  std::erase_if(sides.before, [&](const store::SidePointRow& point) {
    return kind_of(sides.series.at(point.series)) == kind;
  });
  sides.before.insert(sides.before.end(), figures.begin(), figures.end());
  return used.size();
}

}  // namespace railgauge

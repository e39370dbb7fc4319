#include "controller/findings/part_levels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "controller/findings/parts.pb.h"
#include "controller/parts/judge.h"

namespace railgauge {
namespace {

// Steps of a logarithm of 1.
constexpr double kSteps = 1e5;
constexpr double kMostSteps = 2e9;

std::int32_t steps_of(float value) {
  return static_cast<std::int32_t>(
      std::clamp(std::round(kSteps * static_cast<double>(value)), -kMostSteps, kMostSteps));
}

void put_levels(const std::vector<parts::Level>& levels, LevelList& list) {
  for (const parts::Level& level : levels) {
    list.add_loss(level.known() ? steps_of(level.loss) : 0);
    list.add_error(
        level.known() ? 1 + static_cast<std::uint32_t>(std::max(steps_of(level.error), 0)) : 0);
  }
}

// False: not `count` levels.
bool take_levels(const LevelList& list, std::size_t count, std::vector<parts::Level>& levels) {
  if (static_cast<std::size_t>(list.loss_size()) != count || list.error_size() != list.loss_size())
    return false;
  levels.resize(count);
  for (int i = 0; i < list.loss_size(); ++i)
    if (list.error(i) > 0)
      levels[static_cast<std::size_t>(i)] = {
          .loss = static_cast<float>(list.loss(i) / kSteps),
          .error = static_cast<float>((list.error(i) - 1) / kSteps)};
  return true;
}

// False: lists of pairs that do not fit, or a node or rail that is not there.
bool take_pairs(const PartLevels& kept, parts::Levels& levels) {
  const int count = kept.pair_from_size();
  if (kept.pair_to_size() != count || kept.pair_rail_size() != count ||
      kept.pair_gpu_size() != count || kept.pair_loss_size() != count)
    return false;
  const std::size_t nodes = levels.nodes.size();
  for (int i = 0; i < count; ++i) {
    levels.pairs.push_back({.from = kept.pair_from(i),
                            .to = kept.pair_to(i),
                            .rail = kept.pair_rail(i),
                            .gpu = kept.pair_gpu(i),
                            .loss = kept.pair_loss(i)});
    const parts::PairLoss& pair = levels.pairs.back();
    if (pair.from >= nodes || pair.to >= nodes || pair.rail >= levels.rails) return false;
  }
  return true;
}

// False: sizes beyond the bounds, or a leaf that is not there.
bool take_places(const PartLevels& kept, parts::Levels& levels) {
  const int count = kept.nodes_size();
  if (kept.leaf_size() != count || kept.hardware_size() != count ||
      static_cast<std::size_t>(count) > parts::kMostNodes || kept.rails() > parts::kMostRails ||
      static_cast<std::uint32_t>(kept.rail_class_size()) != kept.rails())
    return false;
  for (int i = 0; i < count; ++i) {
    if (kept.leaf(i) >= kept.leaves_size()) return false;
    levels.nodes.push_back(
        {.name = kept.nodes(i), .leaf = kept.leaf(i), .hardware = kept.hardware(i)});
  }
  levels.leaves.assign(kept.leaves().begin(), kept.leaves().end());
  levels.rail_class.assign(kept.rail_class().begin(), kept.rail_class().end());
  levels.rails = kept.rails();
  levels.has_gpu = kept.has_gpu();
  return true;
}

// Equal values have equal numbers, in the order of their first occurrence.
template <class Value>
class Numbers {
 public:
  std::int32_t of(const Value& value) {
    return numbers_.try_emplace(value, static_cast<std::int32_t>(numbers_.size())).first->second;
  }

 private:
  std::map<Value, std::int32_t> numbers_{};
};

// Sets nodes, leaves and classes of rails. Names are in order, so that the same nodes give the same
// shape each night.
void place_nodes(const RunPlaces& places, const std::set<std::string>& names,
                 parts::NightFigures& night) {
  std::set<std::string> leaves;
  for (const std::string& name : names)
    if (std::string leaf = places.leaf(name); !leaf.empty()) leaves.insert(std::move(leaf));
  night.leaves.assign(leaves.begin(), leaves.end());
  Numbers<std::string> hardware;
  for (const std::string& name : names) {
    const auto leaf = std::ranges::find(night.leaves, places.leaf(name));
    night.nodes.push_back({.name = name,
                           .leaf = leaf == night.leaves.end()
                                       ? -1
                                       : static_cast<std::int32_t>(leaf - night.leaves.begin()),
                           .hardware = hardware.of(places.hardware(name))});
  }
  Numbers<double> rates;
  for (const double rate : places.rail_rates()) night.rail_class.push_back(rates.of(rate));
}

}  // namespace

Result<std::vector<PartSeries>> part_series_of(const store::Store& store,
                                               const std::string& run_id) {
  std::map<PairSeries, std::vector<store::PairMatrixRow>> stored;
  for (store::PairMatrixRow& head : RG_TRY(store.pair_matrices(run_id))) {
    const bool is_judged =
        head.metric == "bandwidth_bytes_per_second" || head.metric == "latency_ns";
    if (is_judged && head.rail >= 0) stored[matrix_series(head)].push_back(std::move(head));
  }
  std::vector<PartSeries> all;
  for (auto& [series, matrices] : stored)
    all.push_back({.series = series, .matrices = std::move(matrices)});
  return all;
}

// Two passes: names first, since numbers of nodes are in the order of names.
Result<parts::NightFigures> night_of(const store::Store& store, const RunPlaces& places,
                                     const std::vector<std::string>& nodes,
                                     const PartSeries& series) {
  parts::NightFigures night{.larger_is_better = series.series.larger_is_better};
  std::set<std::string> names(nodes.begin(), nodes.end());
  // By matrix; figures hold rows of their matrix until all names are known.
  std::vector<std::vector<std::string>> endpoints;
  std::vector<std::size_t> first_figure;
  for (const store::PairMatrixRow& head : series.matrices) {
    std::vector<std::string>& rows = endpoints.emplace_back();
    std::vector<bool> is_gpu;
    first_figure.push_back(night.figures.size());
    RG_TRY_OK(store.visit_pair_matrix(
        matrix_key(head),
        [&](const store::PairMatrixRow& matrix, std::size_t from, std::size_t to, float value) {
          if (rows.empty())
            for (const std::string& endpoint : matrix.endpoints) {
              rows.push_back(split_endpoint(endpoint).first);
              is_gpu.push_back(memory_of_row(endpoint) == "gpu");
            }
          night.figures.push_back({.from = static_cast<std::uint32_t>(from),
                                   .to = static_cast<std::uint32_t>(to),
                                   .rail = static_cast<std::uint32_t>(head.rail),
                                   .gpu = is_gpu[from],
                                   .value = static_cast<double>(value)});
        }));
    names.insert(rows.begin(), rows.end());
  }
  place_nodes(places, names, night);
  std::map<std::string, std::uint32_t> numbers;
  for (const std::string& name : names)
    numbers.emplace(name, static_cast<std::uint32_t>(numbers.size()));
  for (std::size_t matrix = 0; matrix < endpoints.size(); ++matrix) {
    const std::size_t end =
        matrix + 1 < first_figure.size() ? first_figure[matrix + 1] : night.figures.size();
    std::vector<std::uint32_t> number_of_row;
    for (const std::string& name : endpoints[matrix]) number_of_row.push_back(numbers.at(name));
    for (std::size_t i = first_figure[matrix]; i < end; ++i) {
      night.figures[i].from = number_of_row[night.figures[i].from];
      night.figures[i].to = number_of_row[night.figures[i].to];
    }
  }
  return night;
}

std::uint32_t measured_nodes(const parts::NightFigures& night) {
  std::vector<bool> has(night.nodes.size(), false);
  for (const parts::Figure& figure : night.figures) has[figure.from] = has[figure.to] = true;
  return static_cast<std::uint32_t>(std::ranges::count(has, true));
}

std::string bytes_of_levels(const parts::Levels& levels) {
  PartLevels kept;
  for (const parts::NightNode& node : levels.nodes) {
    kept.add_nodes(node.name);
    kept.add_leaf(node.leaf);
    kept.add_hardware(node.hardware);
  }
  kept.mutable_leaves()->Add(levels.leaves.begin(), levels.leaves.end());
  kept.mutable_rail_class()->Add(levels.rail_class.begin(), levels.rail_class.end());
  kept.set_rails(levels.rails);
  kept.set_has_gpu(levels.has_gpu);
  put_levels(levels.ends, *kept.mutable_ends());
  put_levels(levels.centres, *kept.mutable_centres());
  put_levels(levels.blocks, *kept.mutable_blocks());
  for (const parts::PairLoss& pair : levels.pairs) {
    kept.add_pair_from(pair.from);
    kept.add_pair_to(pair.to);
    kept.add_pair_rail(pair.rail);
    kept.add_pair_gpu(pair.gpu);
    kept.add_pair_loss(pair.loss);
  }
  kept.set_figures(levels.figures);
  kept.set_noise(levels.noise);
  kept.set_largest_gain(levels.largest_gain);
  return kept.SerializeAsString();
}

Result<parts::Levels> levels_of_bytes(std::string_view bytes) {
  PartLevels kept;
  parts::Levels levels;
  const bool is_read = kept.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) &&
                       take_places(kept, levels) && take_pairs(kept, levels);
  const std::size_t ends = 4 * levels.nodes.size() * levels.rails;
  const std::size_t leaves = levels.leaves.size();
  const std::size_t blocks = kept.blocks().loss_size() == 0 ? 0 : levels.rails * leaves * leaves;
  if (!is_read || !take_levels(kept.ends(), ends, levels.ends) ||
      !take_levels(kept.centres(), std::size_t{2} * levels.rails, levels.centres) ||
      !take_levels(kept.blocks(), blocks, levels.blocks))
    return fail(Code::kDataLoss, "the levels of parts are damaged");
  levels.figures = kept.figures();
  levels.noise = kept.noise();
  levels.largest_gain = kept.largest_gain();
  return levels;
}

store::PartLevelsRow row_of_levels(const std::string& run_id, const PairSeries& series) {
  return {.run_id = run_id,
          .kernel = series.kernel,
          .metric = series.metric,
          .meaning = series.meaning,
          .message_bytes = series.message_bytes};
}

Result<std::vector<LevelsOfRun>> read_nights(const store::Store& store, const std::string& run_id,
                                             const PairSeries& series) {
  std::vector<LevelsOfRun> nights;
  for (const store::PartLevelsRow& row :
       RG_TRY(store.read(store::read_part_levels, row_of_levels(run_id, series),
                         static_cast<std::uint32_t>(parts::kMostNightsJudged)))) {
    auto levels = levels_of_bytes(row.body);
    if (!levels && row.run_id == run_id) return tl::unexpected(levels.error());
    if (levels)
      nights.push_back({.run_id = row.run_id, .at = row.created_at, .levels = std::move(*levels)});
  }
  return nights;
}

}  // namespace railgauge

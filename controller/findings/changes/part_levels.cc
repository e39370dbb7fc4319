#include "controller/findings/changes/part_levels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "controller/parts/judge.h"

namespace railgauge {
namespace {

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
                                     const PartSeries& series, const BriefPairs& brief) {
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
  brief.leave_out(series.series, night);
  return night;
}

std::uint32_t measured_nodes(const parts::NightFigures& night) {
  std::vector<bool> has(night.nodes.size(), false);
  for (const parts::Figure& figure : night.figures) has[figure.from] = has[figure.to] = true;
  return static_cast<std::uint32_t>(std::ranges::count(has, true));
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

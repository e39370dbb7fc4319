// Levels of the fabric's parts by a run's pair matrices: made, kept by the store, and read back
// with those of earlier runs of the same suite. Called on worker threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "controller/findings/changes/brief_pairs.h"
#include "controller/findings/changes/run_places.h"
#include "controller/history/pair_figures.h"
#include "controller/parts/kept/levels_bytes.h"
#include "controller/parts/levels.h"
#include "controller/store/store.h"

namespace railgauge {

// Nodes with figures from which on a run has levels: fewer parts give no scatter to compare with.
inline constexpr std::size_t kFewestNodesOfLevels = 8;

// One series of a run's pairs, with its matrices.
struct PartSeries {
  PairSeries series{};
  // Without endpoints and values.
  std::vector<store::PairMatrixRow> matrices{};
};

// The series of bandwidth and latency among the run's matrices. Other metrics of a task say the
// same once more, or depend on the hosts' CPUs. Empty: the run has no matrices.
Result<std::vector<PartSeries>> part_series_of(const store::Store& store,
                                               const std::string& run_id);

// The figures of one series without those of `brief`. `nodes`: those of the run, so that a node
// without figures has a place.
Result<parts::NightFigures> night_of(const store::Store& store, const RunPlaces& places,
                                     const std::vector<std::string>& nodes,
                                     const PartSeries& series, const BriefPairs& brief);

// Number of nodes with figures.
std::uint32_t measured_nodes(const parts::NightFigures& night);

// A run with its levels.
struct LevelsOfRun {
  std::string run_id{};
  double at = 0;  // unix seconds
  parts::Levels levels{};
};
// Reads the levels of the run and of earlier runs of its suite, the oldest first, the run's own the
// last. Damaged levels of earlier runs are left out. Empty: the run has none of that series.
Result<std::vector<LevelsOfRun>> read_nights(const store::Store& store, const std::string& run_id,
                                             const PairSeries& series);

// The row of the store, without levels.
store::PartLevelsRow row_of_levels(const std::string& run_id, const PairSeries& series);

}  // namespace railgauge

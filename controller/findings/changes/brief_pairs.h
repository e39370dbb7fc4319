// Pairs whose rates a run measured too briefly to be judged (decision 133). Matrices show them, and
// the levels of parts leave them out. Called on worker threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "controller/findings/changes/run_places.h"
#include "controller/history/pair_figures.h"
#include "controller/parts/night_figures.h"
#include "controller/store/store.h"

namespace railgauge {

// Those of one run, 8 bytes each. Immutable.
class BriefPairs {
 public:
  // None.
  BriefPairs() = default;
  // Those of the run. Errors: those of the store.
  static Result<BriefPairs> of(const store::Store& store, const RunPlaces& places,
                               const std::string& run_id);

  // The number of pairs of the series, by rail and memory.
  [[nodiscard]] std::size_t count(const PairSeries& series) const;
  // Removes their figures from the night, which is one of the series. A pair with one brief figure
  // among several is left out too.
  void leave_out(const PairSeries& series, parts::NightFigures& night) const;

 private:
  // A pair with its rail and memory as one number.
  using Key = std::uint64_t;

  // Sorted, each once.
  std::map<PairSeries, std::vector<Key>> keys_{};
  std::map<std::string, std::uint32_t> nodes_{};
};

}  // namespace railgauge

// A series' points as one figure a run: the input of every judgement of a run. Reading needs the
// store and runs on worker threads; the rest is pure.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controller/api/states.h"
#include "controller/detect/changes.h"
#include "controller/fleet/leaf_map.h"
#include "controller/nodes/pause_times.h"
#include "controller/store/store.h"

namespace railgauge {

// One figure a run, oldest first; the last one is of the run that is judged.
struct SeriesRuns {
  store::SeriesRow series{};
  std::vector<double> values{};
  // The run of each value; empty: not known, and no curve over sizes is formed.
  std::vector<std::string> runs{};
  // Hardware of its nodes and the distance between them: series that differ here are no peers. ""
  // unknown.
  std::string peers{};
  // For each value, whether its nodes had their present stack at that time; empty: not known.
  std::vector<bool> present_stack{};
};

using MovedKind = analysis::ChangeKind;
// Absent for the kinds of other findings.
inline std::optional<MovedKind> moved_kind_of(std::string_view text) {
  return api::state_of<MovedKind>(analysis::kChangeKindWords, text);
}

// Newest points of a series that are read: 90 runs of three launches.
inline constexpr std::uint32_t kPointsOfSeries = 270;

// When runs were made, by the controller's clock, and which nodes were paused meanwhile. Each run
// is read once; one thread at a time.
class RunTimes {
 public:
  explicit RunTimes(const store::Store& store) : store_(store) {}
  // The time of the run; unix seconds. kNotFound: no such run.
  Result<double> of(const std::string& run_id);
  // Whether a node of the series was paused during the run: its figures are judged by nobody.
  Result<bool> had_pause(const std::string& run_id, const store::SeriesRow& series);

 private:
  struct Times {
    double made_at = 0;
    std::set<std::string> paused{};  // nodes, at any time of the run
  };
  Result<const Times*> times_of(const std::string& run_id);

  const store::Store& store_;
  std::map<std::string, Times> times_{};
  std::optional<PauseTimes> pauses_{};
};

// Fills `out` with one figure a run, the median of its launches, in the order in which the runs
// were made: a node's clock may be years ahead. Runs in which a node of out.series was paused are
// left out. Returns when each run's last figure was measured, by the clock of the node; unix
// seconds.
Result<std::vector<double>> take_runs(const std::vector<store::HistoryPointRow>& points,
                                      RunTimes& made, SeriesRuns& out);

// The run's series with their newest figures, their class of peers, and which figures were made
// with the present stack; without series of nodes that were paused during the run. `leaves` gives
// the leaf of nodes that do not report it; `ends`, where given, is read between series. Fails as
// the store fails. kCancelled: `ends` became true.
Result<std::vector<SeriesRuns>> series_of_run(const store::Store& store, const std::string& run_id,
                                              const LeafSource& leaves = {},
                                              const std::atomic<bool>* ends = nullptr);

// Series by the store's id.
using SeriesById = std::map<std::int64_t, const SeriesRuns*>;
// The pointers are into `all`, which outlives the result.
SeriesById by_id_of(const std::vector<SeriesRuns>& all);

}  // namespace railgauge

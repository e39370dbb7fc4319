// Looks at what each run measured against its series' past, and keeps what it finds as findings:
// new at the first run that shows it, confirmed by a second, fixed when the series are back.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/findings/series_runs.h"
#include "controller/fleet/leaf_map.h"
#include "controller/fleet/worker_pool.h"
#include "controller/store/store.h"

namespace railgauge {

// Who starts the runs that confirm.
inline constexpr std::string_view kRunJudgeWho = "judge";

// Judges the run: opens, confirms, opens again or ends findings. `now`: unix seconds. Runs of
// upgrades are judged as such, and not here, nor are series that a later run has measured. Returns
// the first series of each finding that is new, where the run came by schedule: a run of its own
// shall confirm those. kNotFound: no such run.
Result<std::vector<store::SeriesRow>> judge_run(store::Store& store, const std::string& run_id,
                                                double now, const LeafSource& leaves = {});

// A suite that measures such series again, three launches each, on `nodes`, which are theirs and
// one that is well; kNotFound where none of them is of a pair or of one node.
struct ConfirmingRun {
  std::string suite_text{};
  std::vector<std::string> nodes{};
};
Result<ConfirmingRun> confirming_run(const std::vector<store::SeriesRow>& series,
                                     const std::vector<std::string>& known_nodes);

// Judges runs on a thread of its own, because a night of a large fabric takes minutes. Runs that
// are not judged when it stops stay unjudged; the next run covers the same series.
class RunJudge {
 public:
  using Confirm = std::function<void(const std::vector<store::SeriesRow>&)>;
  explicit RunJudge(store::Store& store, LeafSource leaves = {})
      : store_(store), leaves_(std::move(leaves)) {}
  ~RunJudge() { stop(); }
  RunJudge(const RunJudge&) = delete;
  RunJudge& operator=(const RunJudge&) = delete;

  // Sets the function that starts a confirming run. It is called on the judge's thread. Must be set
  // before the first want().
  void on_new(Confirm confirm) { confirm_ = std::move(confirm); }
  // Stops the thread. No callback runs after this returns.
  void stop();
  // The run has ended. Any thread; asked twice is done once.
  void want(const std::string& run_id);

 private:
  store::Store& store_;
  const LeafSource leaves_;
  Confirm confirm_ = [](const std::vector<store::SeriesRow>&) {};
  std::atomic<bool> ending_ = false;
  std::mutex confirming_;  // held while confirm_ runs
  std::mutex mutex_;       // guards what follows
  std::set<std::string> waiting_;
  fleet::WorkerPool pool_{1};  // last: its thread uses all above
};

// Ends findings of the judge of runs whose series, as far as the run measured them, are all back.
// Nights measure a slice of them: of those that this one did not measure none may be as bad as it
// was in the newest run since, and half of all have to be back. `now`: unix seconds.
Status end_what_is_back(store::Store& store, const std::vector<SeriesRuns>& all,
                        const std::string& run_id, double now);

}  // namespace railgauge

// Compares each run with the past of its series and stores the result as findings: new at the first
// run that shows it, confirmed by a second, fixed when the series are back.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/findings/changes/run_changes.h"
#include "controller/findings/changes/series_runs.h"
#include "controller/fleet/leaf_map.h"
#include "controller/fleet/worker_pool.h"
#include "controller/store/rows/remark_rows.h"
#include "controller/store/store.h"

namespace railgauge {

// Reports whether `event` is worse by the bound than `known` records: by the levels of the series
// that both have, else by their losses. `delta`: the practical bound of their metric, a fraction.
// `series` may lack some of the event's.
bool has_grown(const store::FindingRow& known, const RunEvent& event, const SeriesById& series,
               double delta);

// Sets the levels with which `event` is compared, and its loss. For an open finding these are the
// levels before it began; for one that a person settled, the settled levels; for a fixed one they
// stay.
void set_reference_levels(const store::FindingRow& known, const SeriesById& series,
                          RunEvent& event);

// The requester of confirming runs, and the author of the judge's steps.
inline constexpr std::string_view kRunJudgeWho = "judge";

// Judges the run: opens, confirms, reopens or ends findings. `now`: unix seconds. Runs of upgrades
// are judged elsewhere, but for wrong bytes, and series that a later run has measured are skipped.
// Parts of the fabric are judged with part_judge.h, by the pair matrices that are stored by then.
// Returns the first series of each new finding where a schedule started the run, so that a
// confirming run can follow. kNotFound: no such run. kCancelled: `ends` became true while the
// series were read; nothing was judged.
Result<std::vector<store::SeriesRow>> judge_run(store::Store& store, const std::string& run_id,
                                                double now, const LeafSource& leaves = {},
                                                const std::atomic<bool>* ends = nullptr);

// A suite that measures some series again, and the nodes that it needs.
struct ConfirmingRun {
  std::string suite_text{};
  std::vector<std::string> nodes{};
};
// Makes a suite of three launches each for the worst of `series`. Its nodes are those of the series
// and one other node of `known_nodes` for comparison. kNotFound: none of the series is of a pair or
// of one node.
Result<ConfirmingRun> confirming_run(const std::vector<store::SeriesRow>& series,
                                     const std::vector<std::string>& known_nodes);

// Judges runs on a thread of its own, because a night of a large fabric takes minutes. Runs that
// are not judged when it stops stay unjudged until UnjudgedRuns names them.
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
  // Sets the function that is called once a run was judged, before the one above. Likewise.
  void on_judged(std::function<void(const std::string& run_id)> judged) {
    judged_ = std::move(judged);
  }
  // Stops the judge. No callback runs after this returns. Any thread but the judge's.
  void stop();
  // Queues a run that has ended. Any thread. A run that is queued already is judged once; a full
  // queue drops the run, as if the judge had stopped.
  void want(const std::string& run_id);
  // Whether no run waits to be judged and none is being judged. Any thread.
  [[nodiscard]] bool is_idle() { return queue_.is_idle(); }

 private:
  void judge(const std::string& run_id);

  store::Store& store_;
  const LeafSource leaves_;
  Confirm confirm_ = [](const std::vector<store::SeriesRow>&) {};
  std::function<void(const std::string& run_id)> judged_ = [](const std::string&) {};
  std::atomic<bool> ending_ = false;
  // Held while confirm_ or judged_ runs, so that stop() waits for it.
  std::mutex confirming_;
  // The last member: its thread uses all members above, and the destructor joins it first.
  fleet::RunQueue queue_{[this](const std::string& run_id) { judge(run_id); }};
};

// Runs that ended and were never judged: the controller stopped first, its queue was full, or an
// error came between. Not thread safe.
class UnjudgedRuns {
 public:
  // Older runs stay as they are: a verdict that late is about another fabric.
  static constexpr double kPastSeconds = 8 * 86'400;
  // So often a run is judged again; the last error is in the log.
  static constexpr int kMostTries = 3;

  explicit UnjudgedRuns(store::Store& store) : store_(store) {}

  // The runs that are to be judged now, oldest first: they ended before `until` (unix seconds), and
  // no record of theirs is to come that would have them judged. A run whose tries are used up is an
  // event, once. Errors: the store's.
  Result<std::vector<std::string>> due(double until);

 private:
  store::Store& store_;
  std::map<std::string, int> tries_{};
};

// Ends findings of runs whose series, as far as the run measured them, are all back. A night
// measures a slice of the series only. None of the other series may be as bad in its newest run as
// it was found, and half of all series have to be back. `now`: unix seconds.
Status end_what_is_back(store::Store& store, const std::vector<SeriesRuns>& all,
                        const std::string& run_id, double now);

}  // namespace railgauge

#include "controller/findings/unjudged_runs.h"

#include <fmt/format.h>

#include "controller/store/queries/queries.h"
#include "controller/store/queries/remarks.h"

namespace railgauge {

// Runs that were judged meanwhile are forgotten with the next look.
Result<std::vector<std::string>> UnjudgedRuns::due(double until) {
  std::map<std::string, int> tries;
  std::vector<std::string> due;
  for (const std::string& run_id :
       RG_TRY(store_.read(store::read_unjudged, until - kPastSeconds, until))) {
    if (RG_TRY(store_.read(store::is_cut_short, run_id))) continue;
    const auto known = tries_.find(run_id);
    const int before = known == tries_.end() ? 0 : known->second;
    tries[run_id] = before + 1;
    if (before < kMostTries)
      due.push_back(run_id);
    else if (before == kMostTries)
      RG_TRY_OK(store_.add_event(
          {.kind = "run_not_judged",
           .run_id = run_id,
           .text = fmt::format("not judged in {} tries: the log has the error of each; its figures "
                               "and findings of other runs stay",
                               kMostTries)}));
  }
  tries_ = std::move(tries);
  return due;
}

}  // namespace railgauge

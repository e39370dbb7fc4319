// Findings and baselines as people see and change them. Called on worker threads.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "controller/api/judge.pb.h"
#include "controller/findings/finding_causes.h"
#include "controller/fleet/leaf_map.h"
#include "controller/store/store.h"

namespace railgauge {

class FindingService {
 public:
  explicit FindingService(store::Store& store, LeafSource leaves = {})
      : store_(store), leaves_(std::move(leaves)) {}

  // `now` (unix seconds): an acknowledgement that is over is open again.
  Result<api::FindingList> list(const api::ListFindingsRequest& request, double now);
  Result<api::Finding> get(const std::string& finding_id, double now);
  Result<api::Finding> step(const api::FindingStepRequest& request, const std::string& who,
                            double now);
  Result<api::BaselineList> pin(const api::PinRequest& request, const std::string& who, double now);
  Result<api::BaselineList> baselines(const api::ListBaselinesRequest& request);

 private:
  // Since when, and what changed on its nodes just then (finding_causes.h).
  Status explain(const store::FindingRow& row, const std::vector<store::SeriesRow>& series,
                 api::Finding& out);
  Status study_rollouts(const store::SeriesRow& moved, double opened_at, FindingCauses& found);

  Status add_event(api::Finding& out);

  store::Store& store_;
  const LeafSource leaves_;
};

}  // namespace railgauge

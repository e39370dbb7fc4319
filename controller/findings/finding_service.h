// Findings and baselines as people see and change them: each public function answers one rpc of
// judge.proto. Called on worker threads; the store serialises writes. A name that is not known is
// kInvalidArgument.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "controller/api/judge.pb.h"
#include "controller/findings/changes/run_places.h"
#include "controller/findings/finding_causes.h"
#include "controller/fleet/leaf_map.h"
#include "controller/store/store.h"

namespace railgauge {

// Thread safe. Its state is the store, and the places of nodes for a while. `leaves` gives the leaf
// switch of nodes that do not report it.
class FindingService {
 public:
  explicit FindingService(store::Store& store, LeafSource leaves = {})
      : store_(store), places_(store, std::move(leaves)) {}

  // The findings, newest first, with the event that each open one belongs to. `now`: unix seconds;
  // an acknowledgement that has ended by then counts as reopened. Without a state in the request
  // closed findings are left out. With a node set: findings whose suspect is or names one of its
  // nodes. kInvalidArgument: the request names a run that is not known, or its node set is wrong.
  Result<api::FindingList> list(const api::ListFindingsRequest& request, double now);
  // One finding with its series, its causes, its event and the next steps.
  Result<api::Finding> get(const std::string& finding_id, double now);
  // Applies a person's step (acknowledge, accept, resolve and so on) in the name of `who`, and
  // returns the finding as it is then. kInvalidArgument: the state of the finding does not allow
  // the step, or a nudge names a begin that is no longer the present one.
  Result<api::Finding> step(const api::FindingStepRequest& request, const std::string& who,
                            double now);
  // Pins the present level of each series that the request matches as its golden baseline.
  // kInvalidArgument: no series matches.
  Result<api::BaselineList> pin(const api::PinRequest& request, const std::string& who, double now);
  // The baselines of a kind, of all kinds where the request names none.
  Result<api::BaselineList> baselines(const api::ListBaselinesRequest& request);

 private:
  store::Store& store_;
  KeptRunPlaces places_;
  std::mutex nudging_;  // held from the reading of a nudge to its writing
};

}  // namespace railgauge

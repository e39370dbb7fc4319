// Findings and baselines as people see and change them. Called on worker threads.
#pragma once

#include <string>

#include "controller/api/judge.pb.h"
#include "controller/store/store.h"

namespace railgauge {

class FindingsDesk {
 public:
  explicit FindingsDesk(store::Store& store) : store_(store) {}

  // `now` (unix seconds): an acknowledgement that is over is open again.
  Result<api::FindingList> list(const api::ListFindingsRequest& request, double now);
  Result<api::Finding> get(const std::string& finding_id, double now);
  Result<api::Finding> step(const api::FindingStepRequest& request, const std::string& who,
                            double now);
  Result<api::BaselineList> pin(const api::PinRequest& request, const std::string& who, double now);
  Result<api::BaselineList> baselines(const api::ListBaselinesRequest& request);

 private:
  store::Store& store_;
};

}  // namespace railgauge

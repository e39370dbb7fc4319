// Runs that a person starts for a finding: its own series again, or the same measurement on pairs
// that it does not touch. Called on worker threads.
#pragma once

#include <string>
#include <vector>

#include "controller/control/control.h"
#include "controller/store/store.h"

namespace railgauge {

// Starts them. Thread safe: its only state is in the store and in Control.
class FindingRuns {
 public:
  // Both outlive it.
  FindingRuns(Control& control, store::Store& store) : control_(control), store_(store) {}

  // Starts a run of `kind` ("rerun", "control") in the name of `who`, and adds it to the finding's
  // history. Controls are attached, idle and unpaused nodes of the same hardware, as a gate chooses
  // them: those of no open finding, whose stack has not changed since the finding began.
  // kInvalidArgument: no such kind or finding, or its series are not those of nodes or pairs.
  // kFailedPrecondition: too few nodes are left. Else as Control::start_run().
  Result<std::string> start(const std::string& finding_id, const std::string& kind,
                            const std::string& who);

 private:
  Control& control_;
  store::Store& store_;
};

}  // namespace railgauge

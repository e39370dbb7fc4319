// Proposals of gates that wait for an answer, as the store has them.
#pragma once

#include <vector>

#include "controller/api/judge.pb.h"
#include "controller/report/site_report.h"
#include "controller/store/store.h"

namespace railgauge {

// The proposals of the last 8 days whose nodes nobody has measured since, newest first. `now`: unix
// seconds. Thread safe. Errors: those of the store.
Result<std::vector<report::WaitingProposal>> open_proposals(const store::Store& store, double now);

// The proposal as an entry of the list of upgrades: its state is "proposed", it has no id, and its
// reason names the change and the command.
api::Upgrade entry_of(const report::WaitingProposal& waiting);

}  // namespace railgauge

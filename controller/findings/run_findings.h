// The life of a finding that one run shows by itself, without a history: how a run opens, confirms
// or reopens it, and how a later run ends it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controller/store/rows/rows.h"
#include "controller/store/store.h"
#include "kernels/core/base/result.h"

namespace railgauge {

// The nodes that a run's findings name.
struct RunNodes {
  std::map<std::string, std::string> ids{};  // by name
  std::set<std::string> paused{};            // names of nodes that were paused during the run
};

// Reads the nodes of the store and the pauses of the run's time. Errors: those of the store.
Result<RunNodes> read_run_nodes(store::Store& store, const store::RunRow& run);

// Opens the finding, or adds a step that confirms or reopens it. A finding that an operator put
// aside, and one that this run judged before, stay as they are. `is_proved`: one run suffices to
// confirm it. Errors: those of the store. Thread safe.
Status keep_run_finding(store::Store& store, store::FindingRow row, bool is_proved);

// Open findings of the kind, the newest first, which the run may end: neither those that it opened
// nor those of an upgrade, and among the newest 1,000 findings. Errors: those of the store.
Result<std::vector<store::FindingRow>> findings_to_end(store::Store& store, std::string_view kind,
                                                       const store::RunRow& run);

// Ends the finding by a step with the run's id and the text. `now`: unix seconds. Errors: those of
// the store.
Status end_run_finding(store::Store& store, const store::FindingRow& finding,
                       const store::RunRow& run, std::string_view text, double now);

}  // namespace railgauge

// Nodes that a run may use, by what its suite asks of preflight.
#pragma once

#include <map>
#include <string>

#include "controller/fleet/preflight_desk.h"
#include "controller/plan/policy/preflight_gate.h"

namespace railgauge {

// Asks `nodes` (name to node id) and judges them; an empty gate admits all and asks nobody. Blocks
// as PreflightDesk::ask. What they said is stored with the run when `run_id` is one of the store's.
plan::Admission admit_nodes(PreflightDesk& desk, const plan::PreflightGate& gate,
                            const std::map<std::string, std::string>& nodes,
                            const std::string& run_id);

}  // namespace railgauge

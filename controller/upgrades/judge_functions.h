// Compares the functions that worked on either side of an upgrade: tasks, endpoints and preflight's
// checks. Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "controller/upgrades/upgrade_data.h"
#include "controller/verdict/verdict.h"

namespace railgauge {

// "n1/rxe0:1" parted; without an endpoint it is the host's.
std::pair<std::string, std::string> place_of(const std::string& text);

// "n1/mlx5_0:1" and "n1/gpu0" of "mlx5_0:1+gpu0", which is a port and a GPU.
void add_used(const std::string& node, std::string_view endpoint, std::set<std::string>& used);

// The `controls` that stopped working while the after side was measured: a task's reason says that
// the node was lost, or tasks between two of them pass no more. Failures together with such a node
// are not caused by the upgrade and say nothing about it.
std::set<std::string> failed_controls(const UpgradeData& sides,
                                      const std::set<std::string>& controls);

// Tasks of the roles that a changed node took part in, endpoints that tasks passed on before, and
// checks of the changed nodes; what is waived everywhere is named in the notes.
void add_functions(const UpgradeData& sides, const NodeRoles& roles, analysis::UpgradeRuns& out);

}  // namespace railgauge

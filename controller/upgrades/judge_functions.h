// Compares the functions that worked on both sides of an upgrade: tasks, endpoints and preflight's
// checks. Pure; thread safe.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "controller/upgrades/upgrade_data.h"
#include "controller/verdict/verdict.h"

namespace railgauge {

// The node and the endpoint of "n1/rxe0:1"; a text without an endpoint is the host's.
std::pair<std::string, std::string> place_of(const std::string& text);

// Adds each part of an endpoint: "n1/mlx5_0:1" and "n1/gpu0" for "mlx5_0:1+gpu0", which is a port
// and a GPU.
void add_used(const std::string& node, std::string_view endpoint, std::set<std::string>& used);

// The `controls` that stopped working while the after side was measured: the reason of a task says
// that the node was lost, or tasks between two controls pass no more. Failures together with such a
// node are not caused by the upgrade.
std::set<std::string> failed_controls(const UpgradeData& sides,
                                      const std::set<std::string>& controls);

// Reports whether a task of that outcome read wrong bytes, as opposed to a missed floor. Kernels
// report both as failed, and only the reason separates them.
bool reads_wrong_bytes(std::string_view outcome, std::string_view reason);

// Adds to `out` tasks that a changed node took part in with nodes of `roles` only, endpoints that
// tasks passed on before, and checks of the changed nodes. A task that is waived everywhere becomes
// a note.
void add_functions(const UpgradeData& sides, const NodeRoles& roles, analysis::UpgradeRuns& out);

}  // namespace railgauge

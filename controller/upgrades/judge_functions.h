// What worked on either side of an upgrade: tasks, endpoints and preflight's checks. Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "controller/upgrades/judge_sides.h"
#include "controller/verdict/verdict.h"

namespace railgauge {

struct Cast {
  std::set<std::string> changed{};
  std::set<std::string> controls{};
  [[nodiscard]] bool has(const std::string& node) const {
    return changed.contains(node) || controls.contains(node);
  }
};

// "n1/rxe0:1" parted; without an endpoint it is the host's.
std::pair<std::string, std::string> place_of(const std::string& text);

// "n1/mlx5_0:1" and "n1/gpu0" of "mlx5_0:1+gpu0", which is a port and a GPU.
void add_used(const std::string& node, std::string_view endpoint, std::set<std::string>& used);

// Of `controls`, those that stopped working while the after side was measured: a task's reason says
// that the node was lost, or what passed between two of them before does not any more. What failed
// with such a node is not the upgrade's doing, nor does it say anything of what it changed.
std::set<std::string> failed_controls(const Sides& sides, const std::set<std::string>& controls);

// Tasks of the cast that a changed node took part in, endpoints that tasks passed on before, and
// checks of the changed nodes; what is waived everywhere is named in the notes.
void add_functions(const Sides& sides, const Cast& cast, analysis::UpgradeRuns& out);

}  // namespace railgauge

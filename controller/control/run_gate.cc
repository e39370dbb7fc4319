#include "controller/control/run_gate.h"

#include <algorithm>
#include <vector>

namespace railgauge {

plan::Admission admit_nodes(PreflightDesk& desk, const plan::PreflightGate& gate,
                            const std::map<std::string, std::string>& nodes,
                            const std::string& run_id) {
  plan::Admission admission;
  if (gate.empty()) {
    for (const auto& [name, node_id] : nodes) admission.admitted.push_back(name);
    return admission;
  }
  const bool probe =
      std::ranges::find(gate.require, "gpudirect_registration") != gate.require.end();
  const api::PreflightReport report =
      desk.ask({.nodes = nodes, .require = gate.require, .probe = probe, .run_id = run_id});
  std::vector<plan::NodePreflight> answers;
  for (const api::PreflightNode& node : report.nodes()) {
    plan::NodePreflight& answer = answers.emplace_back();
    answer.node = node.node();
    answer.error = node.error();
    for (const api::PreflightCheck& check : report.checks())
      if (check.node() == node.node())
        answer.checks.push_back({.id = check.id(),
                                 .subject = check.subject(),
                                 .state = check.state(),
                                 .observed = check.observed()});
  }
  return plan::admit(gate, answers);
}

}  // namespace railgauge

// Upgrades as people and pipelines drive them: the before side, then the gate step by step. Called
// on worker threads. Every decision is in the store, so that no state here has to survive a
// restart.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/api/judge.pb.h"
#include "controller/api/states.h"
#include "controller/control/control.h"
#include "controller/store/store.h"
#include "controller/upgrades/upgrade_stack.h"

namespace railgauge {

// The name of the suite that measures an upgrade where the request names none.
inline std::string suite_or_default(const std::string& suite) {
  return suite.empty() ? "upgrade" : suite;
}

using api::GateState;

// Starts the runs of both sides. Thread safe: its only state is in the store and in Control.
class GateService {
 public:
  // Controls of an upgrade of few nodes. In a ring six are five pairs. Two would be one pair, which
  // shows nothing about the drift of nodes; with the two pairs of three the interval between
  // emulated guests was a hundredfold.
  static constexpr std::size_t kLeastControls = 6;
  // Controls of an upgrade of many nodes; more cost measuring time and narrow the interval little.
  static constexpr std::size_t kMostControls = 16;

  // Everything outlives it.
  GateService(Control& control, store::Store& store) : control_(control), store_(store) {}

  // Starts the run of the before side in the name of `who`. kFailedPrecondition: a node is not
  // attached. kInvalidArgument: no node is named, or a node would be upgraded and a control.
  Result<api::Upgrade> prepare(const api::PrepareRequest& request, const std::string& who);
  // Takes the next step of the gate: waits, starts a run of the after side, or reports that the
  // side is measured. A cause that may pass by itself is a step `waiting` with its reason, not an
  // error. kNotFound: no such upgrade.
  Result<api::GateStep> gate(const api::GateRequest& request, const std::string& who);

 private:
  // Nodes as they report themselves now, by name.
  using Infos = std::map<std::string, api::NodeInfo>;
  // The stack of a node before its present one, and the time it had it; unix seconds.
  struct Earlier {
    std::int64_t stack = 0;
    double from = 0;
    double until = 0;
  };
  // Reads the nodes and commits their stacks to the store.
  Result<Infos> node_infos();
  // The names of a node set. kInvalidArgument: it is empty.
  Result<std::vector<std::string>> selected(const std::string& node_set);
  // `before`: the earlier stack of nodes that have changed already; absent: they are to change yet.
  // A set of controls that the request names is taken as it is, "none" is none.
  Result<std::vector<std::string>> choose_controls(const std::vector<std::string>& nodes,
                                                   const std::string& control_set,
                                                   const Infos& infos,
                                                   const std::optional<Earlier>& before);
  // Asks the agents for a preflight whose checks the store keeps.
  void ask_preflight(const std::vector<std::string>& nodes);
  // Whether the upgrade passed and its nodes have moved to another stack since.
  Result<bool> is_over(const store::UpgradeRow& row);
  // kFailedPrecondition: the node had no other stack since it is known.
  Result<Earlier> earlier_stack(const std::string& name, const std::string& node_id);
  // Whether an endpoint that worked before is gone. `is_stored`: whether the store has the row;
  // else it is written first.
  Result<bool> has_lost_an_endpoint(const store::UpgradeRow& upgrade, bool is_stored);
  // The newest upgrade that was prepared for exactly these nodes and is not over.
  Result<std::optional<store::UpgradeRow>> prepared_for(const std::vector<std::string>& nodes);
  // An upgrade whose before side is runs of the last weeks. kFailedPrecondition: there are none.
  Result<store::UpgradeRow> from_history(const std::vector<std::string>& nodes,
                                         const api::GateRequest& request, const Infos& infos,
                                         const std::string& who);
  // "" when the after side can be measured, else the missing condition.
  Result<std::string> not_ready(const store::UpgradeRow& upgrade, const api::GateRequest& request,
                                const Infos& infos);
  // Starts a run of the after side and adds it to the upgrade.
  Result<api::GateStep> start_after(const store::UpgradeRow& upgrade, const Infos& infos,
                                    const api::GateRequest& request, const std::string& who);

  Control& control_;
  store::Store& store_;
};

}  // namespace railgauge

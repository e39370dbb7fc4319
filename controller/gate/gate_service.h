// Upgrades as people and pipelines drive them: the before side, then the gate step by step. Called
// on worker threads. Every decision is in the store, so that no state here has to survive.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/api/judge.pb.h"
#include "controller/control/control.h"
#include "controller/store/store.h"
#include "controller/upgrades/upgrade_stack.h"

namespace railgauge {

inline std::string suite_or_default(const std::string& suite) {
  return suite.empty() ? "upgrade" : suite;
}

class GateService {
 public:
  // In a ring six are five pairs. Two would be one pair, which says nothing of what nodes drift by;
  // with the two pairs of three an interval between emulated guests reached to a hundredfold.
  static constexpr std::size_t kLeastControls = 6;
  static constexpr std::size_t kMostControls = 16;

  // Everything outlives it.
  GateService(Control& control, store::Store& store) : control_(control), store_(store) {}

  // Starts the run of the before side. kFailedPrecondition: a node is not attached.
  Result<api::Upgrade> prepare(const api::PrepareRequest& request, const std::string& who);
  // Returns the next step of the gate. kFailedPrecondition: there is no before side.
  Result<api::GateStep> gate(const api::GateRequest& request, const std::string& who);

 private:
  using Infos = std::map<std::string, api::NodeInfo>;
  struct Earlier {  // what a node had before its present stack; unix seconds
    std::int64_t stack = 0;
    double from = 0;
    double until = 0;
  };
  Result<Infos> node_infos();
  Result<std::vector<std::string>> selected(const std::string& node_set);
  // `before`: of nodes that have changed already, what they had; absent: they are to change yet.
  Result<std::vector<std::string>> choose_controls(const std::vector<std::string>& nodes,
                                                   const std::string& control_set,
                                                   const Infos& infos,
                                                   const std::optional<Earlier>& before);
  // Since when the node has had its stack; unix seconds.
  Result<double> unchanged_since(const std::string& node_id);
  void ask_preflight(const std::vector<std::string>& nodes);
  Result<bool> is_over(const store::UpgradeRow& row);
  Result<Earlier> earlier_stack(const std::string& name, const std::string& node_id);
  Result<bool> has_lost_an_endpoint(const store::UpgradeRow& upgrade, bool is_stored);
  Result<std::optional<store::UpgradeRow>> prepared_for(const std::vector<std::string>& nodes);
  Result<store::UpgradeRow> from_history(const std::vector<std::string>& nodes,
                                         const api::GateRequest& request, const Infos& infos,
                                         const std::string& who);
  Result<std::string> not_ready(const store::UpgradeRow& upgrade, const api::GateRequest& request,
                                const Infos& infos);
  Result<api::GateStep> start_after(const store::UpgradeRow& upgrade, const Infos& infos,
                                    const api::GateRequest& request, const std::string& who);

  Control& control_;
  store::Store& store_;
};

}  // namespace railgauge

// Upgrades as people and pipelines drive them: the before side, then the gate step by step. Called
// on worker threads; what was decided stands in the store, so that nothing here has to survive.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/api/judge.pb.h"
#include "controller/control.h"
#include "controller/store/store.h"

namespace railgauge {

// "" where the stack has it, else what it has instead. PART is a key ("gpu_driver"), or its last
// word ("driver"); a version also stands for those that refine it ("580.95" for "580.95.05").
std::string unmet_expectation(const store::StackParts& stack, const std::string& part,
                              const std::string& version);

class UpgradeDesk {
 public:
  static constexpr std::size_t kLeastControls =
      3;  // in a ring two would be one pair, which says nothing of its noise
  static constexpr std::size_t kMostControls = 16;
  static constexpr double kHistoryDays = 14;
  static constexpr std::uint32_t kHistoryRuns = 60;

  // Everything outlives it.
  UpgradeDesk(Control& control, store::Store& store) : control_(control), store_(store) {}

  // Starts the run of the before side. kFailedPrecondition: a node is not attached.
  Result<api::Upgrade> prepare(const api::PrepareRequest& request, const std::string& who);
  // What is to be done next. kFailedPrecondition: there is no before side.
  Result<api::GateStep> gate(const api::GateRequest& request, const std::string& who);

 private:
  using Infos = std::map<std::string, api::NodeInfo>;
  Result<Infos> node_infos();
  Result<std::vector<std::string>> selected(const std::string& node_set);
  Result<std::vector<std::string>> choose_controls(const std::vector<std::string>& nodes,
                                                   const std::string& control_set,
                                                   const Infos& infos);
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

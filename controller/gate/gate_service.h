// Upgrades as people and pipelines drive them: the before side, then the gate step by step. Called
// on worker threads. Every decision is in the store, so that no state here has to survive.
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
#include "controller/control/control.h"
#include "controller/store/store.h"
#include "controller/upgrades/upgrade_stack.h"

namespace railgauge {

inline std::string suite_or_default(const std::string& suite) {
  return suite.empty() ? "upgrade" : suite;
}

// What a step of the gate found, and the one table of its texts, which clients read.
enum class GateState : std::uint8_t {
  kWaiting,    // for nodes, a run or a stack; the reason says for which
  kMeasuring,  // a run of the after side has begun
  kMeasured    // no run can be planned because endpoints are gone: judge without one
};
inline constexpr std::array<std::string_view, 3> kGateStateTexts{"waiting", "measuring",
                                                                 "measured"};
constexpr std::string_view text_of(GateState state) {
  return kGateStateTexts.at(static_cast<std::size_t>(state));
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

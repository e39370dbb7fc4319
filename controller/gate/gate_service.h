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
  Control& control_;
  store::Store& store_;
};

}  // namespace railgauge

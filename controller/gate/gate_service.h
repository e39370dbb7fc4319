// Upgrades driven by people and pipelines: the before side, then the gate step by step. Called on
// worker threads. Every decision is in the store, so no state here has to survive a restart.
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

// Returns the suite that measures an upgrade: the requested one, or "upgrade".
inline std::string suite_or_default(const std::string& suite) {
  return suite.empty() ? "upgrade" : suite;
}

using api::GateState;

// Starts the runs of both sides. Thread safe: its only state is in the store and in Control.
class GateService {
 public:
  // Number of controls of an upgrade of few nodes. On a ring, six nodes are five pairs. Two nodes
  // are one pair, which shows nothing about the drift of nodes. With the two pairs of three nodes,
  // the interval between emulated guests was a hundred times as wide.
  static constexpr std::size_t kLeastControls = 6;
  // Most controls of an upgrade of many nodes; more of them cost time and hardly narrow the
  // interval.
  static constexpr std::size_t kMostControls = 16;

  // Everything outlives it.
  GateService(Control& control, store::Store& store) : control_(control), store_(store) {}

  // Starts the run of the before side in the name of `who`. kFailedPrecondition: a node is not
  // attached. kInvalidArgument: no node is named, or a node would be upgraded and a control.
  Result<api::Upgrade> prepare(const api::PrepareRequest& request, const std::string& who);
  // Takes the next step of the gate: waits, starts a run of the after side, names the one that is
  // under way for the same nodes and stack, or reports that the side is measured. A cause that may
  // pass by itself is a step `waiting` with its reason, not an error; it names the upgrade where
  // the nodes are ready and only a turn is waited for. The terms of the request are stored with the
  // run. kNotFound: no such upgrade. kInvalidArgument: terms that are none.
  Result<api::GateStep> gate(const api::GateRequest& request, const std::string& who);

 private:
  Control& control_;
  store::Store& store_;
};

}  // namespace railgauge

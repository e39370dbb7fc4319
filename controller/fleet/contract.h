// The version of the contract between agent and controller, and who may talk to whom.
#pragma once

#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "controller/api/agent.pb.h"
#include "kernels/core/result.h"

namespace railgauge::fleet {

struct Contract {
  std::uint32_t major;
  std::uint32_t minor;
};

// Raised with controller/api/agent.proto: minor for additions, major when an older peer would be
// misled.
inline constexpr Contract kContract{1, 0};

// One minor version apart works together. kFailedPrecondition names both and whom to upgrade.
inline Status check_contract(const api::ContractVersion& theirs, Contract ours = kContract) {
  const std::uint32_t apart =
      theirs.minor() > ours.minor ? theirs.minor() - ours.minor : ours.minor - theirs.minor();
  if (theirs.major() == ours.major && apart <= 1) return {};
  const bool agent_older =
      theirs.major() < ours.major || (theirs.major() == ours.major && theirs.minor() < ours.minor);
  return fail(
      Code::kFailedPrecondition,
      fmt::format("the agent speaks contract {}.{}, the controller {}.{}: more than one minor "
                  "version apart; upgrade the {}",
                  theirs.major(), theirs.minor(), ours.major, ours.minor,
                  agent_older ? "agent" : "controller"));
}

}  // namespace railgauge::fleet

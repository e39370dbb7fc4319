// The version of the contract between agent and controller, and the rule by which versions work
// together. Both sides use this file.
#pragma once

#include <cstdint>

#include <fmt/format.h>

#include "controller/api/agent.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge {

// The version of every printed document; it is raised when a key changes its meaning.
inline constexpr std::uint32_t kSchemaVersion = 1;

// Makes an empty document with its version.
template <class Document>
Document new_document() {
  Document document;
  document.set_schema_version(kSchemaVersion);
  return document;
}

}  // namespace railgauge

namespace railgauge::api {

struct Contract {
  std::uint32_t major;
  std::uint32_t minor;
};

// Raised with controller/api/agent.proto: minor for additions, major when an older peer would be
// misled. The calls of people's tools (control, archive, judge) are not counted: a call
// that one of them does not have ends with a line that names both versions.
// In 1.4: Hello, Welcome, PrepareTask and GoTask carry the generation of the controller's lease. An
// older agent obeys each controller that its list leads to; the archive still fences the older one.
inline constexpr Contract kContract{1, 4};

inline ContractVersion to_message(Contract contract) {
  ContractVersion message;
  message.set_major(contract.major);
  message.set_minor(contract.minor);
  return message;
}

// Reports whether two versions work together: equal major, minor at most one apart.
inline bool contracts_match(const ContractVersion& theirs, Contract ours = kContract) {
  const std::uint32_t apart =
      theirs.minor() > ours.minor ? theirs.minor() - ours.minor : ours.minor - theirs.minor();
  return theirs.major() == ours.major && apart <= 1;
}

// The fact of a Hello that names the port of the agent's metrics, or kNoMetrics. Agents before 0.2
// do not say it.
inline constexpr const char* kMetricsPortFact = "metrics_port";
inline constexpr const char* kNoMetrics = "none";

// Checks an agent's version for the controller. kFailedPrecondition: the versions do not work
// together; the message names both versions and the side to upgrade.
inline Status check_contract(const ContractVersion& agents, Contract ours = kContract) {
  if (contracts_match(agents, ours)) return {};
  const bool agent_older =
      agents.major() < ours.major || (agents.major() == ours.major && agents.minor() < ours.minor);
  return fail(
      Code::kFailedPrecondition,
      fmt::format("the agent speaks contract {}.{}, the controller {}.{}: more than one minor "
                  "version apart; upgrade the {}",
                  agents.major(), agents.minor(), ours.major, ours.minor,
                  agent_older ? "agent" : "controller"));
}

}  // namespace railgauge::api

// Which nodes a suite may use, from what preflight says of them. Pure. A node whose answer is
// missing, late or incomplete does not pass: gates fail closed.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace railgauge::plan {

// The suite's key `preflight`: {require: [...], allow_unknown: [...]}, ids of checks.
struct PreflightGate {
  std::vector<std::string> require{};
  // Those required checks that may be `unknown`.
  std::vector<std::string> allow_unknown{};
  [[nodiscard]] bool empty() const { return require.empty(); }
};

// One result of a check, as far as a gate reads it.
struct GateCheck {
  std::string id{};
  // Subject of the check; "" is the node.
  std::string subject{};
  // One of pass, warn, fail, error, waived, unknown.
  std::string state{};
  std::string observed{};
};

// All results of one node.
struct NodePreflight {
  std::string node{};
  // Why it gave no answer; "" when it did.
  std::string error{};
  std::vector<GateCheck> checks{};
};

// Why the node may not take part, in one line; nothing when it may. pass, warn and waived pass;
// fail and error never do; unknown only where the gate allows it; a required check without a result
// does not.
std::optional<std::string> refusal_of(const PreflightGate& gate, const NodePreflight& node);

// A node that may not take part, and the reason in one line.
struct RefusedNode {
  std::string node{};
  std::string reason{};
};
struct Admission {
  // Names in the order of `nodes`.
  std::vector<std::string> admitted{};
  std::vector<RefusedNode> refused{};
};
// An empty gate admits every node, also one that gave no answer: nothing was asked.
Admission admit(const PreflightGate& gate, std::span<const NodePreflight> nodes);

}  // namespace railgauge::plan

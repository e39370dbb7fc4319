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
  std::vector<std::string> allow_unknown{};  // of those, which may be `unknown`
  [[nodiscard]] bool empty() const { return require.empty(); }
};

// What a gate reads of one result of a check.
struct GateCheck {
  std::string id{};
  std::string subject{};  // "" is the node
  std::string state{};    // pass, warn, fail, error, waived, unknown
  std::string observed{};
};

struct NodePreflight {
  std::string node{};
  std::string error{};  // why it gave no answer; "" when it did
  std::vector<GateCheck> checks{};
};

// Why the node may not take part, in one line; nothing when it may. pass, warn and waived pass;
// fail and error never do; unknown only where the gate allows it; a required check without a result
// does not.
std::optional<std::string> refusal_of(const PreflightGate& gate, const NodePreflight& node);

struct RefusedNode {
  std::string node{};
  std::string reason{};
};
struct Admission {
  std::vector<std::string> admitted{};  // in the order of `nodes`
  std::vector<RefusedNode> refused{};
};
// An empty gate admits every node, also one that gave no answer: nothing was asked.
Admission admit(const PreflightGate& gate, std::span<const NodePreflight> nodes);

}  // namespace railgauge::plan

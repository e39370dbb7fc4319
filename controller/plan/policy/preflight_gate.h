// Preflight gate: selects a suite's nodes by their preflight results. Gates fail closed: a node
// with a missing, late or incomplete answer does not pass. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace railgauge::plan {

// The suite's key `preflight`: {require: [...], allow_unknown: [...]}, ids of checks.
struct PreflightGate {
  std::vector<std::string> require{};
  // Required checks whose state may be `unknown`.
  std::vector<std::string> allow_unknown{};
  [[nodiscard]] bool empty() const { return require.empty(); }
};

// The fields of one check's result that a gate reads.
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
  // Reason why the node gave no answer; "" when it answered.
  std::string error{};
  std::vector<GateCheck> checks{};
};

// Returns the reason in one line why the gate refuses the node; absent when the node is admitted.
// A required check passes as pass, warn or waived, and as unknown where the gate allows that. It is
// refused as fail or error, or without a result.
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
// Applies the gate to each node. An empty gate admits every node, even one without an answer, since
// no check is required.
Admission admit(const PreflightGate& gate, std::span<const NodePreflight> nodes);

}  // namespace railgauge::plan

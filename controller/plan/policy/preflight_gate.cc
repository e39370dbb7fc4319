#include "controller/plan/policy/preflight_gate.h"

#include <algorithm>

#include <fmt/format.h>

#include "controller/api/states.h"
#include "kernels/core/text/text.h"

namespace railgauge::plan {
namespace {

using api::CheckState;

// Named checks in a reason, which stays one line.
constexpr std::size_t kMaxNamedChecks = 3;

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

// Reports whether one result of a required check lets the node take part.
bool passes(const PreflightGate& gate, const GateCheck& check) {
  const auto state = api::state_of<CheckState>(check.state);
  if (state == CheckState::kUnknown) return contains(gate.allow_unknown, check.id);
  return state && *state <= CheckState::kWarn;
}

// "id state of subject (observed)".
std::string text_of(const GateCheck& check) {
  std::string text = fmt::format("{} {}", check.id, check.state);
  if (!check.subject.empty()) text += fmt::format(" of {}", check.subject);
  if (!check.observed.empty()) text += fmt::format(" ({})", check.observed);
  return text;
}

}  // namespace

// A check with several subjects passes only where each of them does.
std::optional<std::string> refusal_of(const PreflightGate& gate, const NodePreflight& node) {
  if (gate.empty()) return std::nullopt;
  if (!node.error.empty()) return fmt::format("preflight: no answer: {}", node.error);
  std::vector<std::string> reasons;
  for (const std::string& id : gate.require) {
    bool found = false;
    for (const GateCheck& check : node.checks) {
      if (check.id != id) continue;
      found = true;
      if (!passes(gate, check)) reasons.push_back(text_of(check));
    }
    if (!found) reasons.push_back(fmt::format("{} was not answered", id));
  }
  if (reasons.empty()) return std::nullopt;
  return "preflight: " + some_of(reasons, kMaxNamedChecks);
}

// Each node is judged by itself.
Admission admit(const PreflightGate& gate, std::span<const NodePreflight> nodes) {
  Admission admission;
  for (const NodePreflight& node : nodes) {
    if (auto reason = refusal_of(gate, node))
      admission.refused.push_back({node.node, std::move(*reason)});
    else
      admission.admitted.push_back(node.node);
  }
  return admission;
}

}  // namespace railgauge::plan

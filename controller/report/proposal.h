// The text of an event `upgrade_proposed`: the watch writes it, the report reads it. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace railgauge::report {

// The kind of the event.
inline constexpr std::string_view kProposedKind = "upgrade_proposed";

// A cohort of nodes that changed together, and waits for a gate.
struct Proposal {
  std::vector<std::string> nodes{};
  std::string to{};       // "gpu_driver -> 580.95"
  std::string why_not{};  // why the policy did not measure it; "": it only proposes
};

// Writes the event's text, with the nodes folded. `stable_seconds`: the age of the change.
std::string proposal_text(const Proposal& proposal, double stable_seconds);
// Reads such a text; those with a list of names too. Absent: the text has another form.
std::optional<Proposal> proposal_of(std::string_view text);
// Names the cohort, whatever is said of it: nodes and change, and whether a reason is given.
std::string cohort_key(const Proposal& proposal);

}  // namespace railgauge::report

#include "controller/report/proposal.h"

#include <fmt/format.h>

#include "controller/plan/topology/node_set.h"
#include "kernels/core/text/fold.h"

namespace railgauge::report {
namespace {

constexpr std::string_view kChanged = " changed ";
constexpr std::string_view kStayed = " and stayed so for ";
constexpr std::string_view kCommand = "; railgauge upgrades gate --nodes ";
constexpr std::string_view kSays = " says what it cost";
// Joins the proposal and the reason why the policy did not measure.
constexpr std::string_view kNotByItself = "; not measured by policy: ";

// The text between two marks; absent where one of them is missing.
std::optional<std::string_view> between(std::string_view text, std::string_view begin,
                                        std::string_view end) {
  const std::size_t from = text.find(begin);
  if (from == std::string_view::npos) return std::nullopt;
  text.remove_prefix(from + begin.size());
  const std::size_t until = text.find(end);
  if (until == std::string_view::npos) return std::nullopt;
  return text.substr(0, until);
}

}  // namespace

std::string proposal_text(const Proposal& proposal, double stable_seconds) {
  const std::string nodes = fold_names(proposal.nodes);
  std::string text = fmt::format("{}{}{}{}{:.0f} minutes{}{}{}", nodes, kChanged, proposal.to,
                                 kStayed, stable_seconds / 60, kCommand, nodes, kSays);
  if (!proposal.why_not.empty()) text += std::string(kNotByItself) + proposal.why_not;
  return text;
}

std::optional<Proposal> proposal_of(std::string_view text) {
  const auto to = between(text, kChanged, kStayed);
  const auto nodes = between(text, kCommand, kSays);
  if (!to || !nodes) return std::nullopt;
  const auto set = plan::parse_node_set(*nodes);
  if (!set) return std::nullopt;
  Proposal proposal{.to = std::string(*to)};
  for (const plan::NodeSet::Item& item : set->included)
    proposal.nodes.insert(proposal.nodes.end(), item.names.begin(), item.names.end());
  if (const std::size_t why = text.find(kNotByItself); why != std::string_view::npos)
    proposal.why_not = text.substr(why + kNotByItself.size());
  return proposal;
}

std::string cohort_key(const Proposal& proposal) {
  return fmt::format("{}\n{}\n{}", fold_names(proposal.nodes), proposal.to,
                     proposal.why_not.empty() ? "proposed" : "not measured");
}

}  // namespace railgauge::report

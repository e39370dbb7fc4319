#include "controller/gate/open_proposals.h"

#include <string>

#include <fmt/format.h>

#include "controller/api/contract.h"
#include "controller/gate/upgrade_watch.h"
#include "controller/store/queries/events.h"
#include "controller/upgrades/judge_report.h"
#include "kernels/core/text/fold.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge {
namespace {

constexpr std::uint32_t kMostProposals = 200;  // newest events
constexpr std::uint32_t kMostAnswers = 200;    // newest upgrades

}  // namespace

Result<std::vector<report::WaitingProposal>> open_proposals(const store::Store& store, double now) {
  const store::EventFilter filter{.since = now - kWindowAgoSeconds,
                                  .kinds = {std::string(report::kProposedKind)},
                                  .limit = kMostProposals};
  google::protobuf::RepeatedPtrField<api::Event> events;
  for (const store::StoredEvent& stored : RG_TRY(store.read(store::find_events, filter))) {
    api::Event& event = *events.Add();
    event.set_at(rfc3339(stored.event.at));
    event.set_text(stored.event.text);
  }
  if (events.empty()) return std::vector<report::WaitingProposal>{};
  google::protobuf::RepeatedPtrField<api::Upgrade> upgrades;
  for (const store::UpgradeRow& row : RG_TRY(store.read(store::read_upgrades, kMostAnswers)))
    *upgrades.Add() = summary_of(row);
  return report::waiting_proposals(events, upgrades);
}

api::Upgrade entry_of(const report::WaitingProposal& waiting) {
  const report::Proposal& proposal = waiting.proposal;
  auto entry = new_document<api::Upgrade>();
  entry.set_state("proposed");
  entry.set_requested_by(std::string(UpgradeWatch::kWho));
  entry.set_created_at(waiting.at);
  for (const std::string& node : proposal.nodes) entry.add_nodes(node);
  entry.set_reason(fmt::format(
      "changed {}; railgauge upgrades gate --nodes {}{}{}", proposal.to, fold_names(proposal.nodes),
      proposal.why_not.empty() ? "" : "; not measured by policy: ", proposal.why_not));
  return entry;
}

}  // namespace railgauge

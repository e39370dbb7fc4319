#include "controller/findings/proof/proof_judge.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/findings/changes/run_places.h"
#include "controller/findings/part_cases.h"
#include "controller/findings/run_judge.h"
#include "controller/store/nodes/node_facts.h"
#include "controller/store/queries/remarks.h"

namespace railgauge {
namespace {

using parts::ProofState;

// Newest findings among which those that a proof is about are searched.
constexpr std::uint32_t kFindingsProved = 10'000;
// The share of its loss that a pair may still lack, and be as expected.
constexpr double kPairShare = 1.0 / 3;

// Null where the node was not to be proved.
const NodeProof* find_node(const RunProof& proof, const std::string& name) {
  const auto found = std::ranges::find(proof.nodes, name, &NodeProof::node);
  return found == proof.nodes.end() ? nullptr : &*found;
}

// Whether a part of a node is one of those that the finding is about.
bool is_about(const ProvedPart& part, const PartEvidence& evidence) {
  if (part.node != evidence.first() || part.rail < 0) return false;
  if (evidence.has_rail() && part.rail != evidence.rail()) return false;
  if (evidence.memory() == "gpu" && !part.gpu) return false;
  if (evidence.direction() == "sends" && part.side != parts::Side::kSends) return false;
  return evidence.direction() != "receives" || part.side == parts::Side::kReceives;
}

// The worst answer among the parts of a port or a node. Unsure where a side of the finding has no
// figure of its series, or where tasks of the node failed: what was measured is not all then. A
// node as a whole needs the whole proof.
ProofState answer_about_ports(const RunProof& proof, const PartEvidence& evidence) {
  const NodeProof* node = find_node(proof, evidence.first());
  if (node == nullptr) return ProofState::kUnsure;
  ProofState worst = evidence.has_rail() ? ProofState::kProved : node->state;
  if (node->has_failures) worst = std::max(worst, ProofState::kUnsure);
  std::set<parts::Side> sides;
  for (const ProvedPart& part : proof.parts) {
    if (!is_about(part, evidence)) continue;
    if (part.series == evidence.series()) sides.insert(part.side);
    worst = std::max(worst, part.answer.state);
  }
  for (const ProvedPart& part : proof.unmeasured)
    if (is_about(part, evidence)) worst = std::max(worst, part.answer.state);
  const bool is_one_way = evidence.direction() == "sends" || evidence.direction() == "receives";
  const bool has_all = sides.size() >= (is_one_way ? 1U : 2U);
  return has_all ? worst : std::max(worst, ProofState::kUnsure);
}

// The direction and the memory of the finding count: another way has another figure. Both ends
// have to be proved too.
ProofState answer_about_pair(const RunProof& proof, const PartEvidence& evidence, double worse) {
  bool any = false;
  for (const auto& [pair, loss] : proof.pairs) {
    if (pair.series != evidence.series() || (evidence.has_rail() && pair.rail != evidence.rail()))
      continue;
    if (pair.from != evidence.first() || pair.to != evidence.second()) continue;
    if (evidence.memory() == "gpu" && !pair.gpu) continue;
    any = true;
    if (loss >= kPairShare * worse) return ProofState::kWorse;
  }
  ProofState ends = any ? ProofState::kProved : ProofState::kUnsure;
  for (const std::string& name : {evidence.first(), evidence.second()}) {
    const NodeProof* node = find_node(proof, name);
    ends = std::max(ends, node == nullptr ? ProofState::kUnsure : node->state);
  }
  return ends == ProofState::kWorse ? ProofState::kUnsure : ends;
}

// Half of a leaf proves nothing about its switch, and neither do partners below the same switch.
ProofState answer_about_leaf(const RunProof& proof, const PartEvidence& evidence,
                             const std::vector<std::string>& nodes_of_leaf) {
  const bool has_other = std::ranges::any_of(proof.partner_leaves, [&](const std::string& leaf) {
    return !leaf.empty() && leaf != evidence.first();
  });
  if (!has_other || nodes_of_leaf.empty()) return ProofState::kUnsure;
  ProofState worst = ProofState::kProved;
  for (const std::string& name : nodes_of_leaf) {
    const NodeProof* node = find_node(proof, name);
    worst = std::max(worst, node == nullptr ? ProofState::kUnsure : node->state);
  }
  return worst;
}

// Whether the judge said something of the run at the finding already.
bool has_said(const store::FindingRow& finding, const std::string& head) {
  return std::ranges::any_of(finding.steps, [&](const store::FindingStepRow& step) {
    return step.who == kRunJudgeWho && step.text.starts_with(head);
  });
}

// "n3 rail 2, sending: 10 % worse than its peers ...": the first sentence about the finding's node.
std::string why_worse(const RunProof& proof, const PartEvidence& evidence) {
  for (const std::string& name : {evidence.first(), evidence.second()})
    if (const NodeProof* node = find_node(proof, name); node != nullptr && !node->worse.empty())
      return node->worse.front();
  return "it is still slow";
}

}  // namespace

ProofState answer_about(const RunProof& proof, const PartEvidence& evidence, double worse,
                        const std::vector<std::string>& nodes_of_leaf) {
  const std::string& part = evidence.part();
  if (part == "port" || part == "node") return answer_about_ports(proof, evidence);
  if (part == "pair") return answer_about_pair(proof, evidence, worse);
  if (part == "leaf" || part == "uplink") return answer_about_leaf(proof, evidence, nodes_of_leaf);
  return ProofState::kUnsure;
}

// Findings are read as they are now: one that a person ended meanwhile stays ended.
Status judge_proof(store::Store& store, const std::string& run_id, double now,
                   const LeafSource& leaves) {
  if (RG_TRY(store.run_summary(run_id)).run.trigger != kProofTrigger) return {};
  const RunProof proof = RG_TRY(proof_of_run(store, run_id, leaves));
  const RunPlaces places = RG_TRY(RunPlaces::of(store, leaves));
  std::vector<std::string> names;
  for (const store::KnownNodeRow& node : RG_TRY(store.read(store::read_known_nodes)))
    names.push_back(node.name);
  const std::string head = fmt::format("run {}: ", run_id);
  for (const store::FindingRow& row :
       RG_TRY(store.read(store::read_findings, {}, kFindingsProved))) {
    if (row.kind != kPartKind || !api::is_open(row.state)) continue;
    const PartEvidence evidence = part_evidence_of(row);
    std::vector<std::string> of_leaf;
    for (const std::string& name : names)
      if (places.leaf(name) == evidence.first()) of_leaf.push_back(name);
    const ProofState answer = answer_about(proof, evidence, row.worse.value_or(0), of_leaf);
    if (answer == ProofState::kUnsure) continue;
    const store::FindingRow whole = RG_TRY(store.read(store::read_finding, row.finding_id));
    if (has_said(whole, head)) continue;
    const bool is_proved = answer == ProofState::kProved;
    RG_TRY_OK(
        store.write(store::write_finding_step, row.finding_id,
                    {.at = now,
                     .who = std::string(kRunJudgeWho),
                     .action = is_proved ? "resolve" : "comment",
                     .text = head + (is_proved ? "proved: as its peers and as before"
                                               : "not proved: " + why_worse(proof, evidence))}));
  }
  spdlog::info("run {}: {}", run_id, proof_word(proof.state));
  return {};
}

}  // namespace railgauge

#include "controller/gate/finding_runs.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/findings/measured_again.h"
#include "controller/findings/part_cases.h"
#include "controller/findings/run_judge.h"
#include "controller/gate/controls.h"
#include "controller/upgrades/series_measure.h"
#include "kernels/core/text/lines.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

// Newest findings whose nodes are no controls.
constexpr std::uint32_t kFindingsLooked = 1'000;
constexpr std::uint32_t kEpochsLookedBack = 50;  // of a node, newest first
constexpr std::uint32_t kSeriesLooked = 10'000;
// Two nodes are one pair.
constexpr std::size_t kFewestControls = 2;
constexpr std::string_view kProof = "prove";

// The finding with the series that a run measures again, and the nodes that it touches.
struct Touched {
  // Whole, with its steps and series.
  store::FindingRow finding{};
  // Empty where it rests on no figure: wrong bytes, lost function.
  std::vector<store::SeriesRow> series{};
  // Those that its suspect names and that its upgrade changed; else both ends of its pairs.
  std::set<std::string> nodes{};
};

// An error about the finding, with the kind of the run that was asked for.
Error refused(Code code, const store::FindingRow& finding, std::string_view kind,
              const std::string& why) {
  return {code, fmt::format("finding {}: {}: {}", finding.finding_id, kind, why)};
}

// Nodes that the words of a suspect name: "n1/mlx5_0:1", "n1".
void add_named(const std::string& suspect, const NodeInfos& infos, std::set<std::string>& out) {
  for (const std::string_view word : words_of(suspect)) {
    std::string name(word.substr(0, word.find_first_of("/,")));
    if (infos.contains(name)) out.insert(std::move(name));
  }
}

// A part has no series of its own: one of the pairs by which it was found is measured for them
// all.
Result<std::vector<store::SeriesRow>> series_of_part(const store::Store& store,
                                                     const PartEvidence& evidence) {
  const std::vector<std::string_view> words = words_of(evidence.series());
  if (words.empty()) return std::vector<store::SeriesRow>();
  for (const store::SeriesRow& series :
       RG_TRY(store.list_series({.kernel = std::string(words.front()), .limit = kSeriesLooked})))
    if (series.endpoints.size() == 2 && metric_text(series, "") == evidence.series())
      return std::vector{series};
  return std::vector<store::SeriesRow>();
}

// Reads the finding with all that it touches. `infos` are the nodes that the controller knows.
Result<Touched> touched_by(const store::Store& store, const std::string& finding_id,
                           const NodeInfos& infos) {
  Touched out{.finding = RG_TRY(store.read(store::read_finding, finding_id))};
  for (const store::FindingSeriesRow& moved : out.finding.series)
    out.series.push_back(RG_TRY(store.read(store::read_one_series, moved.series)));
  add_named(out.finding.suspect, infos, out.nodes);
  if (!out.finding.upgrade_id.empty()) {
    const auto upgrade = RG_TRY(store.read(store::read_upgrade, out.finding.upgrade_id));
    for (const store::UpgradeNodeRow& node : upgrade.nodes)
      if (node.changed) out.nodes.insert(node.node);
  }
  // The other ends of a suspect's pairs are not to blame.
  if (out.nodes.empty())
    for (const store::SeriesRow& series : out.series) out.nodes.merge(nodes_of(series));
  if (out.finding.kind != kPartKind) return out;
  const PartEvidence evidence = part_evidence_of(out.finding);
  constexpr std::string_view kNodeMark = "node ";
  for (const std::string& mark : evidence.marks())
    if (mark.starts_with(kNodeMark)) out.nodes.insert(mark.substr(kNodeMark.size()));
  out.series = RG_TRY(series_of_part(store, evidence));
  return out;
}

// A node set of these nodes.
std::string names_of(const std::vector<std::string>& nodes) {
  return fmt::format("{}", fmt::join(nodes, ","));
}

// A run of a suite that is text, as a person would start it.
api::RunRequest request_of(const std::string& suite_text, const std::string& file_name,
                           const std::vector<std::string>& nodes) {
  api::RunRequest request;
  request.mutable_suite()->set_text(suite_text);
  request.mutable_suite()->set_file_name(file_name);
  request.set_node_set(names_of(nodes));
  request.set_trigger("cli");
  return request;
}

// Its own series once more, or a proof of the nodes of a part.
Result<api::RunRequest> rerun_of(const Touched& touched, const NodeInfos& infos) {
  if (touched.finding.kind == kPartKind) {
    const std::string part = part_evidence_of(touched.finding).part();
    if (touched.nodes.empty() || (part != "port" && part != "node" && part != "pair"))
      return tl::unexpected(refused(Code::kInvalidArgument, touched.finding, kRerun,
                                    fmt::format("no proof of nodes shows a {}; start a suite on "
                                                "its nodes",
                                                part)));
    api::RunRequest request;
    request.mutable_suite()->set_name(std::string(kProof));
    request.set_node_set(names_of({touched.nodes.begin(), touched.nodes.end()}));
    request.set_trigger(std::string(kProof));
    return request;
  }
  std::vector<std::string> attached;
  for (const auto& [name, info] : infos)
    if (info.state() == kAttached && !info.has_pause()) attached.push_back(name);
  const auto again = confirming_run(touched.series, attached);
  if (!again)
    return tl::unexpected(refused(Code::kInvalidArgument, touched.finding, kRerun,
                                  "it rests on no figure of a node or of a pair"));
  return request_of(again->suite_text, "rerun.yaml", again->nodes);
}

// Nodes of other open findings are no controls: what is slow there is none of this one's.
Result<NodeInfos> without_suspects(const store::Store& store, const Touched& touched,
                                   NodeInfos infos) {
  std::set<std::string> suspects;
  for (const store::FindingRow& other :
       RG_TRY(store.read(store::read_findings, {}, kFindingsLooked)))
    if (api::is_open(other.state)) add_named(other.suspect, infos, suspects);
  for (const std::string& name : suspects)
    if (!touched.nodes.contains(name)) infos.erase(name);
  return infos;
}

// The stack that the node had when the finding was opened. Absent: the node had none.
Result<std::optional<Stay>> stay_at(const store::Store& store, const api::NodeInfo& node,
                                    double opened_at) {
  for (const store::EpochRow& epoch :
       RG_TRY(store.read(store::read_epochs, node.node_id(), kEpochsLookedBack)))
    if (epoch.valid_from <= opened_at)
      return std::optional(Stay{.stack = epoch.stack, .from = opened_at, .until = opened_at});
  return std::nullopt;
}

// The same measurement among nodes that the change did not touch.
Result<api::RunRequest> control_of(Control& control, store::Store& store, const Touched& touched,
                                   const NodeInfos& infos) {
  const auto again = confirming_run(touched.series, {});
  if (!again)
    return tl::unexpected(refused(Code::kInvalidArgument, touched.finding, kControlRun,
                                  "it rests on no figure of a node or of a pair"));
  std::vector<std::string> own;
  for (const std::string& node : touched.nodes)
    if (infos.contains(node)) own.push_back(node);
  if (own.empty())
    return tl::unexpected(refused(Code::kFailedPrecondition, touched.finding, kControlRun,
                                  "none of its nodes is known any more, so that none is like "
                                  "them"));
  const auto before = RG_TRY(stay_at(store, infos.at(own.front()), touched.finding.opened_at));
  const NodeInfos others = RG_TRY(without_suspects(store, touched, infos));
  const auto chosen = RG_TRY(choose_controls(control, store, own, "", others, before));
  if (chosen.size() < kFewestControls)
    return tl::unexpected(refused(
        Code::kFailedPrecondition, touched.finding, kControlRun,
        fmt::format(
            "{} of the attached, idle nodes of the same hardware {} without an open finding "
            "and without a change of the stack since it began; two are needed",
            chosen.size(), chosen.size() == 1 ? "is" : "are")));
  return request_of(again->suite_text, "control.yaml", chosen);
}

}  // namespace

Result<std::string> FindingRuns::start(const std::string& finding_id, const std::string& kind,
                                       const std::string& who) {
  if (kind != kRerun && kind != kControlRun)
    return fail(Code::kInvalidArgument,
                fmt::format("finding {}: {} is no kind of run; rerun and control are", finding_id,
                            in_quotes(kind)));
  const NodeInfos infos = RG_TRY(node_infos(control_, store_));
  const Touched touched = RG_TRY(touched_by(store_, finding_id, infos));
  const auto request =
      kind == kRerun ? rerun_of(touched, infos) : control_of(control_, store_, touched, infos);
  if (!request) return tl::unexpected(request.error());
  const api::RunSummary run = RG_TRY(control_.start_run(*request, who));
  RG_TRY_OK(store_.write(
      store::write_finding_step, finding_id,
      {.at = fleet::unix_seconds(), .who = who, .action = kind, .text = run.run_id()}));
  return run.run_id();
}

}  // namespace railgauge

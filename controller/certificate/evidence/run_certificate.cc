// The certificate of a run: its plan and outcomes, and what its nights could see.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "controller/certificate/evidence/certifier.h"
#include "controller/certificate/evidence/shared.h"
#include "controller/findings/changes/part_levels.h"
#include "controller/findings/part_cases.h"
#include "controller/findings/proof/run_proof.h"
#include "controller/parts/sight.h"
#include "controller/parts/tables.h"
#include "controller/stats/loss_steps.h"
#include "controller/store/nodes/node_facts.h"
#include "controller/store/queries/events.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge::certificate {
namespace {

constexpr std::uint32_t kEpochsRead = 200;  // of a node

// The stack that a node had when the run began; 0: not known.
Result<std::int64_t> stack_at(const store::Store& store, const std::string& node_id, double at) {
  if (node_id.empty()) return std::int64_t{0};
  for (const store::EpochRow& epoch : RG_TRY(store.read(store::read_epochs, node_id, kEpochsRead)))
    if (epoch.valid_from <= at && (!epoch.valid_to || *epoch.valid_to > at)) return epoch.stack;
  return std::int64_t{0};
}

// Adds the run's nodes with their stacks, and the nodes that took no part.
Status add_nodes(const store::Store& store, const store::RunRow& run, Certificate& out) {
  const std::set<std::string> ours(run.nodes.begin(), run.nodes.end());
  const double at = run.started_at > 0 ? run.started_at : run.created_at;
  std::map<std::string, std::int64_t> stacks;
  for (const std::string& name : run.nodes) stacks[name] = 0;
  std::vector<std::string> others;
  for (const store::KnownNodeRow& node : RG_TRY(store.read(store::read_known_nodes))) {
    if (ours.contains(node.name))
      stacks[node.name] = RG_TRY(stack_at(store, node.node_id, at));
    else if (node.first_seen_at <= at)
      others.push_back(node.name);
  }
  out.set_nodes(folded(run.nodes));
  out.set_other_nodes(folded(others));
  RG_TRY_OK(add_stacks(store, stacks, {}, out));
  for (std::string& text : RG_TRY(store.read(store::read_left_out, run.run_id)))
    out.add_left_out(std::move(text));
  return {};
}

// Adds the measured share of the pairs of each series, by its matrices.
Status add_pairs(const store::Store& store, const store::RunRow& run,
                 const std::vector<PartSeries>& all, Certificate& out) {
  const double pairs =
      static_cast<double>(run.nodes.size()) * (static_cast<double>(run.nodes.size()) - 1);
  for (const PartSeries& series : all) {
    MeasuredPairs& told = *out.add_pairs();
    told.set_series(text_of_series(series.series));
    std::set<std::pair<std::int32_t, std::string>> layers;
    double measured = 0;
    for (const store::PairMatrixRow& head : series.matrices) {
      std::vector<std::string> memory;
      RG_TRY_OK(store.visit_pair_matrix(
          matrix_key(head),
          [&](const store::PairMatrixRow& matrix, std::size_t from, std::size_t, float) {
            if (memory.empty())
              for (const std::string& endpoint : matrix.endpoints)
                memory.push_back(memory_of_row(endpoint));
            layers.emplace(head.rail, memory[from]);
            ++measured;
          }));
    }
    told.set_measured(measured);
    told.set_possible(pairs * static_cast<double>(layers.size()));
  }
  return {};
}

// The smallest losses of one part: by two nights, by this one.
using Seen = std::pair<double, double>;
// A step of a loss, or infinity where there is none, so that the unknown comes last.
double order_of(double share) {
  const double step = analysis::rounded_up_loss(share);
  return step > 0 ? step : std::numeric_limits<double>::infinity();
}

// Adds a kind's parts, those with like losses together.
void add_kind(const parts::KindSight& kind, SeenSeries& out) {
  std::map<Seen, std::vector<std::string>> alike;
  for (const parts::PartSight& part : kind.parts)
    alike[{order_of(part.two_nights), order_of(part.this_night)}].push_back(part.name);
  SeenKind& told = *out.add_kinds();
  told.set_kind(std::string(parts::table_word(kind.id)));
  for (const auto& [seen, names] : alike) {
    SeenParts& group = *told.add_parts();
    if (std::isfinite(seen.first)) group.set_two_nights_percent(percent_of(seen.first));
    if (std::isfinite(seen.second)) group.set_this_night_percent(percent_of(seen.second));
    group.set_count(static_cast<double>(names.size()));
    group.set_names(folded(names));
  }
}

// Adds what the levels of the run's nights could show.
Status add_sight(const store::Store& store, const store::RunRow& run,
                 const std::vector<PartSeries>& all, Certificate& out) {
  for (const PartSeries& series : all) {
    const std::vector<LevelsOfRun> nights = RG_TRY(read_nights(store, run.run_id, series.series));
    if (nights.empty()) {
      out.add_limits(
          fmt::format("{}: the levels of its parts are not kept, so that no smallest "
                      "loss is known; they need {} nodes with figures",
                      text_of_series(series.series), kFewestNodesOfLevels));
      continue;
    }
    std::vector<const parts::Levels*> levels;
    for (const LevelsOfRun& night : nights) levels.push_back(&night.levels);
    SeenSeries& told = *out.add_seen();
    told.set_series(text_of_series(series.series));
    told.set_nights(static_cast<std::uint32_t>(nights.size()));
    told.set_noise_percent(percent_of(nights.back().levels.noise));
    for (const parts::KindSight& kind : parts::sight_of(levels)) add_kind(kind, told);
  }
  return {};
}

}  // namespace

Result<Certificate> certificate_of_run(const store::Store& store, const std::string& run_id,
                                       const LeafSource& leaves) {
  const store::RunRow run = RG_TRY(store.run_summary(run_id)).run;
  if (run.state != store::RunState::kEnded)
    return fail(Code::kFailedPrecondition,
                fmt::format("run {} has not ended; a certificate is about all of a run", run_id));
  Certificate out;
  out.set_schema_version(1);
  out.set_kind("run");
  out.set_subject(run_id);
  out.set_suite(run.suite);
  out.set_trigger(run.trigger);
  out.set_requested_by(run.requested_by);
  out.set_outcome(run.outcome);
  if (!run.reason.empty()) out.set_reason(run.reason);
  if (run.started_at > 0) out.set_started_at(rfc3339(run.started_at));
  if (run.ended_at > 0) out.set_ended_at(rfc3339(run.ended_at));
  if (run.judged_at > 0) out.set_judged_at(rfc3339(run.judged_at));
  out.set_findings_new(run.findings_new);
  out.set_findings_confirmed(run.findings_confirmed);
  RG_TRY_OK(add_data_kind(store, out));
  RG_TRY_OK(add_suite(store, run_id, out));
  RG_TRY_OK(add_nodes(store, run, out));
  RG_TRY_OK(add_tasks(store, run_id, out));
  const std::vector<PartSeries> all = RG_TRY(part_series_of(store, run_id));
  RG_TRY_OK(add_pairs(store, run, all, out));
  RG_TRY_OK(add_sight(store, run, all, out));
  if (run.trigger == kProofTrigger) RG_TRY_OK(add_proof(store, run_id, leaves, out));
  if (run.judged_at == 0)
    out.add_limits(
        "the run's figures were not compared with the past, so that its findings are "
        "not known");
  if (all.empty())
    out.add_limits(
        "the run measured no pairs of nodes on a rail: what single parts could show is "
        "not known");
  if (!out.seen().empty())
    out.add_limits(
        "a loss that a part shares with all of its peers, since before the first of the "
        "nights, is not seen");
  return out;
}

}  // namespace railgauge::certificate

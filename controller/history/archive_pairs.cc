// What the archive says of a run's pairs: matrices and suspects.
#include <fmt/format.h>

#include "controller/history/archive.h"
#include "controller/history/pair_figures.h"
#include "controller/localise/localise_report.h"
#include "controller/localise/retest/suspects_followup.h"

namespace railgauge {
namespace {

using localise::Element;
using localise::Kind;

constexpr std::uint32_t kPairsVersion = 1;

std::string series_text(const PairSeries& series) {
  return fmt::format("{} {} {}", series.kernel, series.metric, series.message_bytes);
}

Result<PairFigures> figures_for(store::Store& store, const api::PairsRequest& request,
                                const LeafSource& leaves) {
  Result<PairFigures> figures = read_pair_figures(store, request, leaves);
  // A run without pairs is the caller's wrong word, not a missing part of the system.
  if (!figures && figures.error().code == Code::kNotFound)
    return fail(Code::kInvalidArgument, figures.error().message);
  return figures;
}

std::string layer_text(const localise::Layer& layer) {
  return fmt::format("rail {}{}{}", layer.rail, layer.memory.empty() ? "" : " ", layer.memory);
}

void name_parts(const localise::PairData& data, const Element& element, api::Suspect& suspect) {
  const auto first = static_cast<std::size_t>(element.first);
  const auto second = static_cast<std::size_t>(element.second);
  switch (element.kind) {
    case Kind::kPair:
      suspect.set_other_node(data.nodes[second]);
      [[fallthrough]];
    case Kind::kPort:
    case Kind::kNode:
      suspect.set_node(data.nodes[first]);
      break;
    case Kind::kTrunk:
      suspect.set_other_leaf(data.leaves[second]);
      [[fallthrough]];
    case Kind::kLeaf:
    case Kind::kUplink:
      suspect.set_leaf(data.leaves[first]);
      break;
    case Kind::kRail:
    case Kind::kSpine:
      break;
  }
  if (element.rail >= 0) suspect.set_rail(element.rail);
}

api::Suspect to_api(const localise::PairData& data, const localise::Suspect& found) {
  const auto node = [&data](std::int32_t index) {
    return data.nodes[static_cast<std::size_t>(index)];
  };
  api::Suspect suspect;
  suspect.set_name(localise::name_of(data, found.element));
  suspect.set_kind(std::string(localise::kind_word(found.element.kind)));
  suspect.set_direction(std::string(localise::direction_word(found.element.direction)));
  name_parts(data, found.element, suspect);
  suspect.set_memory(found.element.memory);
  suspect.set_intermittent(found.element.intermittent);
  suspect.set_confirmed(found.confirmed);
  suspect.set_drop_share(found.drop);
  suspect.set_slow_share(found.share);
  suspect.set_tasks(found.tasks);
  suspect.set_slow_tasks(found.slow_tasks);
  suspect.set_expected(found.expected);
  suspect.set_seen(found.seen);
  for (const std::string& text : found.ruled_out) suspect.add_ruled_out(text);
  suspect.set_sentence(found.sentence);
  for (const localise::PairFigure& figure : found.evidence) {
    api::SuspectEvidence& evidence = *suspect.add_evidence();
    evidence.set_from(node(figure.from));
    evidence.set_to(node(figure.to));
    evidence.set_rail(figure.rail);
    evidence.set_memory(figure.memory);
    evidence.set_expected(figure.expected);
    evidence.set_seen(figure.seen);
  }
  return suspect;
}

// What the run measured beyond its plan to tell about these suspects, where it did. An answer
// stands above what the plan's figures alone made likely.
Status add_retests(store::Store& store, const LeafSource& leaves, const PairFigures& figures,
                   const localise::Localisation& found,
                   const std::vector<localise::FollowUp>& wanted, api::SuspectList& list) {
  if (wanted.empty()) return {};
  const std::vector<FollowUpPoint> points = RG_TRY(read_follow_ups(store, figures, leaves));
  if (points.empty()) return {};
  const auto name = [&](std::int32_t node) {
    return figures.data.nodes[static_cast<std::size_t>(node)];
  };
  std::vector<localise::FollowUpResult> results;
  for (const localise::FollowUp& each : wanted) {
    const bool other_gpu = each.purpose == localise::Purpose::kOtherGpu;
    localise::FollowUpResult& result = results.emplace_back();
    result.asked = each;
    for (const FollowUpPoint& point : points)
      if (point.from == name(each.from) && point.to == name(each.to) && point.rail == each.rail &&
          point.memory == each.memory &&
          other_gpu == (point.purpose == localise::purpose_word(localise::Purpose::kOtherGpu)))
        result.value = point.value;
  }
  for (const localise::Retest& retest : localise::judge_follow_ups(figures.data, found, results)) {
    api::Suspect& suspect = *list.mutable_suspects(static_cast<int>(retest.suspect));
    suspect.set_retest(retest.sentence);
    suspect.set_retest_answer(std::string(localise::answer_word(retest.answer)));
    if (retest.answer == localise::Answer::kConfirmed) suspect.set_confirmed(true);
    if (retest.answer == localise::Answer::kCleared) suspect.set_confirmed(false);
  }
  return {};
}

}  // namespace

Result<api::PairMatrix> Archive::get_matrix(const api::PairsRequest& request) {
  const PairFigures figures = RG_TRY(figures_for(store_, request, leaves_));
  const localise::PairData& data = figures.data;
  const localise::Layer* chosen = nullptr;
  api::PairMatrix matrix;
  for (const localise::Layer& layer : data.layers) {
    const bool fits = (!request.has_rail() || layer.rail == request.rail()) &&
                      (request.memory().empty() || layer.memory == request.memory());
    if (fits && chosen == nullptr)
      chosen = &layer;
    else
      matrix.add_other_layers(layer_text(layer));
  }
  if (chosen == nullptr)
    return fail(Code::kInvalidArgument,
                fmt::format("run {}: no pair was measured so; there is {}", figures.run_id,
                            fmt::join(matrix.other_layers(), ", ")));
  matrix.set_schema_version(kPairsVersion);
  matrix.set_run_id(figures.run_id);
  matrix.set_kernel(figures.series.kernel);
  matrix.set_metric(figures.series.metric);
  matrix.set_meaning(figures.series.meaning);
  matrix.set_unit(figures.series.unit);
  matrix.set_message_bytes(figures.series.message_bytes);
  matrix.set_larger_is_better(figures.series.larger_is_better);
  matrix.set_rail(chosen->rail);
  matrix.set_memory(chosen->memory);
  for (std::size_t node = 0; node < data.nodes.size(); ++node) {
    matrix.add_nodes(data.nodes[node]);
    const std::int32_t leaf = data.leaf_of.empty() ? -1 : data.leaf_of[node];
    matrix.add_leaves(leaf < 0 ? "" : data.leaves[static_cast<std::size_t>(leaf)]);
  }
  for (const float value : chosen->values) matrix.add_values(value > 0 ? value : 0);
  for (const PairSeries& other : figures.others) matrix.add_other_series(series_text(other));
  matrix.set_synthetic(data.synthetic);
  return matrix;
}

Result<api::SuspectList> Archive::get_suspects(const api::PairsRequest& request) {
  const PairFigures figures = RG_TRY(figures_for(store_, request, leaves_));
  const localise::PairData& data = figures.data;
  const localise::Localisation found = RG_TRY(localise::find_suspects(data));
  api::SuspectList list;
  list.set_schema_version(kPairsVersion);
  list.set_run_id(figures.run_id);
  list.set_kernel(figures.series.kernel);
  list.set_metric(figures.series.metric);
  list.set_meaning(figures.series.meaning);
  list.set_unit(figures.series.unit);
  list.set_message_bytes(figures.series.message_bytes);
  list.set_larger_is_better(figures.series.larger_is_better);
  list.set_nodes(static_cast<std::uint32_t>(data.nodes.size()));
  list.set_leaves(static_cast<std::uint32_t>(data.leaves.size()));
  list.set_measured_pairs(found.measured_pairs);
  list.set_possible_pairs(found.possible_pairs);
  list.set_noise_share(found.noise);
  for (const std::int32_t node : found.unmeasured_nodes)
    list.add_unmeasured_nodes(data.nodes[static_cast<std::size_t>(node)]);
  list.set_synthetic(found.synthetic);
  for (const PairSeries& other : figures.others) list.add_other_series(series_text(other));
  for (const localise::Suspect& suspect : found.suspects) {
    *list.add_suspects() = to_api(data, suspect);
    list.mutable_suspects()->rbegin()->set_place(static_cast<std::uint32_t>(list.suspects_size()));
  }
  const std::vector<localise::FollowUp> wanted_tasks = localise::follow_ups(data, found);
  RG_TRY_OK(add_retests(store_, leaves_, figures, found, wanted_tasks, list));
  for (const localise::FollowUp& wanted : wanted_tasks) {
    if (!list.suspects(static_cast<int>(wanted.suspect)).retest().empty()) continue;
    api::WantedTask& task = *list.mutable_suspects(static_cast<int>(wanted.suspect))->add_wanted();
    task.set_purpose(std::string(localise::purpose_word(wanted.purpose)));
    task.set_from(data.nodes[static_cast<std::size_t>(wanted.from)]);
    task.set_to(data.nodes[static_cast<std::size_t>(wanted.to)]);
    task.set_rail(wanted.rail);
    task.set_memory(wanted.memory);
  }
  return list;
}

}  // namespace railgauge

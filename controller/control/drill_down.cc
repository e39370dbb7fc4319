#include "controller/control/drill_down.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/history/pair_figures.h"
#include "controller/localise/retest/suspects_followup.h"
#include "controller/stats/permutation.h"
#include "kernels/core/base/outcome.h"

namespace railgauge {
namespace {

bool has_failed(std::string_view outcome) {
  return outcome == kFailed || outcome == kCrashed || outcome == kTimedOut;
}

// A task that was waived, or that yielded to production work, is no evidence about its nodes.
localise::GroupHalving::Answer answer_of(std::string_view outcome) {
  using Answer = localise::GroupHalving::Answer;
  if (outcome == kPassed) return Answer::kPassed;
  return has_failed(outcome) ? Answer::kFailed : Answer::kNotMeasured;
}

std::vector<std::string> nodes_of(const plan::PlannedTask& task) {
  std::set<std::string> nodes;
  for (const plan::PlannedRank& rank : task.ranks) nodes.insert(rank.node);
  return {nodes.begin(), nodes.end()};
}

constexpr std::size_t kOneIn = 20;  // of a night's pairs are measured twice

// Draws pairs by lot, the same ones for the same run, to be measured a second time. Nothing changes
// between both figures, so their difference shows the noise.
void add_twice(const PairFigures& figures, std::vector<plan::WantedPair>& pairs) {
  const localise::PairData& data = figures.data;
  std::vector<std::pair<const localise::Layer*, std::size_t>> measured;
  for (const localise::Layer& layer : data.layers)
    for (std::size_t at = 0; at < layer.values.size(); ++at)
      if (layer.values[at] > 0) measured.emplace_back(&layer, at);
  const std::size_t room = kMaxFollowUps - std::min(pairs.size(), kMaxFollowUps);
  std::mt19937_64 lots(analysis::seed_of(figures.run_id));
  std::vector<std::pair<const localise::Layer*, std::size_t>> drawn;
  std::ranges::sample(measured, std::back_inserter(drawn),
                      static_cast<std::ptrdiff_t>(std::min(room, measured.size() / kOneIn)), lots);
  for (const auto& [layer, at] : drawn)
    pairs.push_back({.kernel = figures.series.kernel,
                     .from = data.nodes[at / data.nodes.size()],
                     .to = data.nodes[at % data.nodes.size()],
                     .rail = layer->rail,
                     .memory = layer->memory,
                     .purpose = std::string(plan::kMeasuredTwice)});
}

std::string named(const std::vector<std::string>& nodes, const localise::NodeGroup& group) {
  std::vector<std::string> names;
  for (const std::int32_t node : group) names.push_back(nodes[static_cast<std::size_t>(node)]);
  return fmt::format("{}", fmt::join(names, " "));
}

}  // namespace

Result<std::vector<plan::WantedPair>> wanted_pairs(store::Store& store, const std::string& run_id,
                                                   const LeafSource& leaves) {
  api::PairsRequest request;
  request.set_run_id(run_id);
  const Result<PairFigures> figures = read_pair_figures(store, request, leaves);
  if (!figures && figures.error().code == Code::kNotFound) return std::vector<plan::WantedPair>{};
  if (!figures) return tl::unexpected(figures.error());
  const localise::PairData& data = figures->data;
  const localise::Localisation found = RG_TRY(localise::find_suspects(data));
  const auto name = [&data](std::int32_t node) {
    return data.nodes[static_cast<std::size_t>(node)];
  };
  std::vector<plan::WantedPair> pairs;
  for (const localise::FollowUp& each : localise::follow_ups(data, found)) {
    if (pairs.size() >= kMaxFollowUps) break;
    plan::WantedPair& pair = pairs.emplace_back();
    pair = {.kernel = figures->series.kernel,
            .from = name(each.from),
            .to = name(each.to),
            .rail = each.rail,
            .memory = each.memory,
            .purpose = std::string(localise::purpose_word(each.purpose))};
    if (each.purpose == localise::Purpose::kOtherGpu)
      pair.other_gpu_of = name(found.suspects[each.suspect].element.first);
  }
  if (RG_TRY(store.run_summary(run_id)).run.trigger == "schedule") add_twice(*figures, pairs);
  return pairs;
}

std::vector<plan::PlannedTask> DrillDown::next(const plan::TaskBook& plan,
                                               const OutcomeOf& outcome_of,
                                               std::span<const plan::WantedPair> pairs,
                                               const plan::PlannedPairs& planned,
                                               const plan::NodeOf& node_of) {
  std::vector<plan::PlannedTask> tasks;
  if (!begun_) {
    begun_ = true;
    tasks = plan::follow_ups_of(plan.head(), planned, pairs, next_number_, node_of);
    next_number_ += static_cast<std::uint32_t>(tasks.size());
    find_failed_groups(plan, outcome_of);
  }
  for (FailedGroup& group : groups_) advance(plan, outcome_of, group, tasks);
  return tasks;
}

// Takes the first failed group of each stage that spans several nodes.
void DrillDown::find_failed_groups(const plan::TaskBook& plan, const OutcomeOf& outcome_of) {
  const plan::Plan& head = plan.head();
  std::set<std::uint32_t> stages;
  for (std::size_t round = 0; round < head.rounds; ++round) {
    const std::uint32_t stage = head.round_infos[round].stage;
    const plan::PlacementKind placement = head.stages[stage].placement;
    const bool is_group =
        placement == plan::PlacementKind::kGroup || placement == plan::PlacementKind::kLeaf;
    if (!is_group || stages.contains(stage)) continue;
    const std::size_t end = plan.outline().first_of(round + 1);
    for (std::size_t index = plan.outline().first_of(round); index < end; ++index) {
      if (stages.contains(stage) || !has_failed(outcome_of(index))) continue;
      std::vector<std::string> nodes = nodes_of(*plan.at(index));
      if (nodes.size() < 2) continue;
      stages.insert(stage);
      localise::NodeGroup numbers;
      for (std::size_t i = 0; i < nodes.size(); ++i)
        numbers.push_back(static_cast<std::int32_t>(i));
      groups_.push_back({.whole = index,
                         .nodes = std::move(nodes),
                         .search = localise::GroupHalving(std::move(numbers))});
    }
  }
}

void DrillDown::advance(const plan::TaskBook& plan, const OutcomeOf& outcome_of, FailedGroup& group,
                        std::vector<plan::PlannedTask>& tasks) {
  for (const auto& [index, test] : group.out)
    static_cast<void>(group.search.report(test, answer_of(outcome_of(index))));
  group.out.clear();
  for (const localise::GroupHalving::Test& test : group.search.next()) {
    std::set<std::string> nodes;
    for (const std::int32_t node : test.nodes)
      nodes.insert(group.nodes[static_cast<std::size_t>(node)]);
    group.out[plan.size() + tasks.size()] = test.id;
    tasks.push_back(plan::part_of_group(plan.head(), *plan.at(group.whole), nodes, next_number_++));
  }
  if (group.search.finished() && !group.is_noted) add_note(plan, group);
}

void DrillDown::add_note(const plan::TaskBook& plan, FailedGroup& group) {
  group.is_noted = true;
  const localise::GroupHalving::Verdict& verdict = group.search.verdict();
  std::vector<std::string> parts;
  if (!verdict.bad.empty())
    parts.push_back(fmt::format("{} failed with two known-good partners each",
                                named(group.nodes, verdict.bad)));
  for (const auto& [one, other] : verdict.boundaries)
    parts.push_back(fmt::format("{} and {} pass alone and fail together", named(group.nodes, one),
                                named(group.nodes, other)));
  if (!verdict.unresolved.empty())
    parts.push_back(fmt::format(
        "{} could not be separated from their partners{}", named(group.nodes, verdict.unresolved),
        verdict.not_measured == 0
            ? ""
            : fmt::format(", since {} of the tests did not run", verdict.not_measured)));
  if (parts.empty()) parts.emplace_back("the whole group passed when it was tried again");
  notes_.push_back(fmt::format("{} by halves, {} tests: {}", plan.at(group.whole)->kernel,
                               verdict.tests, fmt::join(parts, "; ")));
}

}  // namespace railgauge

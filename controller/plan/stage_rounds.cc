#include "controller/plan/stage_plan.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "controller/plan/rounds/partner_rounds.h"
#include "kernels/core/text/text.h"

namespace railgauge::plan {
namespace {

tl::unexpected<Error> refuse(const StagePlan& plan, const std::string& message) {
  return fail(Code::kInvalidArgument, fmt::format("plan: stage {}: {}", plan.index, message));
}

// Node names in the order of their numbers.
std::vector<std::string> names_of(const PlanContext& context) {
  std::vector<std::string> names;
  for (const PlanNode& node : context.nodes) names.push_back(node.name);
  return names;
}

// The numbers of those names that are nodes of the plan.
std::vector<std::uint32_t> numbers_of(const PlanContext& context,
                                      const std::vector<std::string>& names) {
  std::vector<std::uint32_t> numbers;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(context.nodes, name, &PlanNode::name);
    if (found != context.nodes.end())
      numbers.push_back(static_cast<std::uint32_t>(found - context.nodes.begin()));
  }
  return numbers;
}

}  // namespace

// Lays the rounds out first, then checks the number of ranks of what came out.
Result<StageRounds> StageRounds::make(const StagePlan& plan, const PlanContext& context,
                                      std::uint64_t seed, const PlanOptions& options) {
  StageRounds rounds(plan, context);
  RG_TRY_OK(rounds.lay_out(seed, options));
  RG_TRY_OK(rounds.check_ranks());
  return rounds;
}

Status StageRounds::lay_out(std::uint64_t seed, const PlanOptions& options) {
  switch (plan_.stage.placement.kind) {
    case PlacementKind::kPairs:
      return lay_out_pairs(seed, options);
    case PlacementKind::kLeaf:
      lay_out_leaves();
      break;
    case PlacementKind::kGroup:
      lay_out_group();
      break;
    case PlacementKind::kNode:
      lay_out_nodes();
      break;
    case PlacementKind::kLocal:
      lay_out_within_nodes(1);
      break;
    case PlacementKind::kLoopback:
      lay_out_within_nodes(2);
      break;
  }
  return {};
}

// One task a node at once, all its ranks on one choice; with `each` the node's endpoints one after
// the other, since they share the node's PCIe and memory, or all `together`.
void StageRounds::lay_out_within_nodes(std::uint32_t ranks) {
  for (std::uint32_t node = 0; node < plan_.choices.size(); ++node)
    for (std::uint32_t choice = 0; choice < plan_.choices[node].size(); ++choice) {
      const std::size_t round = plan_.stage.placement.together ? 0 : choice;
      if (fixed_.size() <= round) fixed_.emplace_back();
      fixed_[round].push_back({.ranks = std::vector<Seat>(ranks, Seat{node, choice})});
    }
}

// All choices of a node; without `each` there is one.
void StageRounds::add_all_seats(std::uint32_t node, std::vector<Seat>& seats) const {
  for (std::uint32_t choice = 0; choice < plan_.choices[node].size(); ++choice)
    seats.push_back({node, choice});
}

// Rails one after the other, since the endpoints of a node share its PCIe and memory.
void StageRounds::lay_out_group() {
  const auto nodes = static_cast<std::uint32_t>(plan_.choices.size());
  if (!plan_.stage.placement.is_by_rail()) {
    TaskSeats task;
    for (std::uint32_t node = 0; node < nodes; ++node) add_all_seats(node, task.ranks);
    fixed_.push_back({std::move(task)});
    return;
  }
  for (std::uint32_t rail = 0; rail < plan_.choices.front().size(); ++rail) {
    TaskSeats task;
    for (std::uint32_t node = 0; node < nodes; ++node) task.ranks.push_back({node, rail});
    fixed_.push_back({std::move(task)});
  }
}

// One task for each node, with a rank on each of its endpoints, all at once.
void StageRounds::lay_out_nodes() {
  fixed_.emplace_back();
  for (std::uint32_t node = 0; node < plan_.choices.size(); ++node)
    add_all_seats(node, fixed_.front().emplace_back().ranks);
}

// A task for each leaf, all at once, since leaves share no link. A leaf with too few ranks is noted
// and left out.
void StageRounds::lay_out_leaves() {
  const auto leaves = by_leaf(context_.own.order, context_.own.places);
  if (leaves.empty()) {
    leave_out("group: leaf wants a topology with the nodes' leaves; name one in the site profile");
    return;
  }
  fixed_.emplace_back();
  std::size_t small = 0;
  for (const auto& nodes : leaves) {
    TaskSeats task;
    for (const std::uint32_t node : nodes) add_all_seats(node, task.ranks);
    if (nodes.size() < 2 || task.ranks.size() < plan_.kernel.min_ranks())
      ++small;
    else
      fixed_.front().push_back(std::move(task));
  }
  if (small > 0)
    notes_.push_back(fmt::format("{} leaves have too few of the chosen nodes for {}", small,
                                 plan_.kernel.name()));
  if (fixed_.front().empty()) {
    fixed_.clear();
    leave_out("no leaf has two of the chosen nodes");
  }
}

// The stage has no rounds; its reason becomes a note of the plan.
void StageRounds::leave_out(std::string reason) {
  notes_.push_back("left out: " + reason);
  left_out_ = std::move(reason);
}

Status StageRounds::lay_out_pairs(std::uint64_t seed, const PlanOptions& options) {
  const Placement& placement = plan_.stage.placement;
  const std::size_t nodes = plan_.choices.size();
  if (nodes < 2) {
    leave_out(fmt::format("pairs need at least 2 nodes, {} chosen", nodes));
    return {};
  }
  ListedPairs listed;
  if (placement.pairs == PairChoice::kFile) {
    const auto text = options.pair_lists.find(placement.pairs_file);
    if (text == options.pair_lists.end())
      return refuse(plan_, fmt::format("list of pairs {}: the controller's suite folder has no "
                                       "such file",
                                       in_quotes(placement.pairs_file)));
    auto parsed = parse_pair_list(text->second, names_of(context_));
    if (!parsed) return refuse(plan_, parsed.error().message);
    listed = std::move(*parsed);
    if (listed.left_out > 0)
      notes_.push_back(
          fmt::format("{}: {} pairs are left out, since a node of theirs is not chosen",
                      placement.pairs_file, listed.left_out));
  }
  if (placement.pairs == PairChoice::kPartners) {
    if (!options.prove) {
      leave_out("pairs: partners are those of railgauge prove NODES");
      return {};
    }
    listed.rounds = partner_rounds(numbers_of(context_, options.prove->nodes),
                                   numbers_of(context_, options.prove->partners));
    if (listed.rounds.empty()) {
      leave_out("no known-good partner takes part");
      return {};
    }
  }
  const bool is_sliced = placement.slice_of > 1 && !context_.sliced.numbers.empty();
  const NodeLayout& layout = is_sliced ? context_.sliced : context_.own;
  const PairInput input{.places = layout.places,
                        .kinds = layout.kinds,
                        .order = layout.order,
                        .seed = seed,
                        .slice_index = options.slice_index,
                        .numbers = layout.numbers,
                        .listed = listed.rounds};
  auto rounds = PairRounds::make(placement, input);
  if (!rounds) return refuse(plan_, rounds.error().message);
  notes_.insert(notes_.end(), rounds->notes().begin(), rounds->notes().end());
  if (rounds->size() == 0) {
    leave_out(std::string(kNobodyOfSlice));
    return {};
  }
  pairs_ = std::move(*rounds);
  add_passes();
  if (passes_.empty()) return refuse(plan_, "rails: cross wants nodes of at least 2 rails");
  add_costs();
  return {};
}

// Groups the links of a pair that are measured at one time. Without rails, all choices of both
// nodes are ranks of one task.
void StageRounds::add_passes() {
  const Placement& placement = plan_.stage.placement;
  if (placement.rails == RailChoice::kNone) {
    passes_.push_back({Link{}});
    return;
  }
  const auto rails = static_cast<std::uint32_t>(plan_.choices.front().size());
  const std::uint32_t first = placement.rails == RailChoice::kSame ? 0 : 1;
  const std::uint32_t end = placement.rails == RailChoice::kSame ? 1 : rails;
  for (std::uint32_t offset = first; offset < end; ++offset) {
    std::vector<Link> together;
    for (std::uint32_t rail = 0; rail < rails; ++rail)
      together.push_back({.first = rail, .second = (rail + offset) % rails});
    if (placement.rails_together) {
      passes_.push_back(std::move(together));
      continue;
    }
    for (const Link& link : together) passes_.push_back({link});
  }
}

// Fixed tasks are checked one by one, pairs by their extremes.
Status StageRounds::check_ranks() const {
  const std::uint32_t least = plan_.kernel.min_ranks();
  const std::uint32_t most = plan_.kernel.max_ranks();
  const auto check = [&](std::size_t ranks) -> Status {
    if (ranks >= least && (most == 0 || ranks <= most)) return {};
    return refuse(
        plan_, fmt::format("{} takes {} to {} ranks, the placement gives {}", plan_.kernel.name(),
                           least, most == 0 ? "any number of" : fmt::to_string(most), ranks));
  };
  for (const auto& round : fixed_)
    for (const TaskSeats& task : round) RG_TRY_OK(check(task.ranks.size()));
  if (!pairs_) return {};
  if (plan_.stage.placement.rails != RailChoice::kNone) return check(2);
  // Checks the pair of nodes with the fewest choices and the one with the most: all others are
  // between.
  std::vector<std::size_t> sizes;
  for (const auto& choices : plan_.choices) sizes.push_back(choices.size());
  std::ranges::sort(sizes);
  RG_TRY_OK(check(sizes[0] + sizes[1]));
  return check(sizes[sizes.size() - 1] + sizes[sizes.size() - 2]);
}

std::size_t StageRounds::size() const {
  if (!pairs_) return fixed_.size();
  return pairs_->size() * passes_.size() * (plan_.stage.placement.both_directions ? 2 : 1);
}

// Directions next to each other, then links: so near in time, one pair is compared with itself.
StageRounds::Turn StageRounds::turn_of(std::size_t round) const {
  const std::size_t directions = plan_.stage.placement.both_directions ? 2 : 1;
  return {.pairs_round = round / directions / passes_.size(),
          .links = &passes_[round / directions % passes_.size()],
          .reversed = round % directions == 1};
}

void StageRounds::add_seats(std::uint32_t node, const std::optional<std::uint32_t>& choice,
                            std::vector<Seat>& seats) const {
  if (choice)
    seats.push_back({node, *choice});
  else
    add_all_seats(node, seats);
}

// A filtered round leaves over more than the odd node, so it has no filler.
bool StageRounds::fills_idle(std::size_t pairs_round) const {
  return plan_.stage.placement.idle_loopback && pairs_->info(pairs_round).whole;
}

// Rank 0 sends in a kernel of one direction, so a reversed round exchanges the ranks.
std::vector<TaskSeats> StageRounds::tasks(std::size_t round) const {
  if (!pairs_) return fixed_[round];
  const Turn turn = turn_of(round);
  std::vector<NodePair> pairs;
  pairs_->pairs(turn.pairs_round, pairs);
  std::vector<TaskSeats> tasks;
  tasks.reserve(pairs.size() * turn.links->size());
  for (const auto& [first, second] : pairs)
    for (const Link& link : *turn.links) {
      TaskSeats& task = tasks.emplace_back();
      task.reversed = turn.reversed;
      add_seats(turn.reversed ? second : first, turn.reversed ? link.second : link.first,
                task.ranks);
      add_seats(turn.reversed ? first : second, turn.reversed ? link.first : link.second,
                task.ranks);
    }
  if (fills_idle(turn.pairs_round)) add_idle(pairs, tasks);
  return tasks;
}

// Adds a loopback task for each node without a partner, with both ranks on its first choice.
void StageRounds::add_idle(const std::vector<NodePair>& pairs,
                           std::vector<TaskSeats>& tasks) const {
  std::vector<bool> busy(context_.nodes.size(), false);
  for (const auto& [first, second] : pairs) busy[first] = busy[second] = true;
  for (std::uint32_t node = 0; node < busy.size(); ++node)
    if (!busy[node])
      tasks.push_back({.ranks = {Seat{node, 0}, Seat{node, 0}}, .idle_filler = true});
}

// The slowest rate among the node's choices; one waived choice waives the task.
StageRounds::NodeCost StageRounds::cost_of(std::uint32_t node,
                                           const std::optional<std::uint32_t>& choice) const {
  NodeCost cost{.gpus = plan_.gpus[node]};
  const auto& choices = plan_.choices[node];
  for (std::uint32_t i = choice.value_or(0); i < (choice ? *choice + 1 : choices.size()); ++i) {
    const double rate = choices[i].rate_bits_per_second;
    cost.rate = i == choice.value_or(0) ? rate : std::min(cost.rate, rate);
    cost.waived = cost.waived || !choices[i].reason.empty();
  }
  return cost;
}

// Slot 0 is all choices of a node together, slot n + 1 its choice n.
void StageRounds::add_costs() {
  std::size_t most = 1;
  if (plan_.stage.placement.rails != RailChoice::kNone) most += plan_.choices.front().size();
  for (std::uint32_t slot = 0; slot < most; ++slot) {
    std::vector<NodeCost>& costs = costs_.emplace_back();
    for (std::uint32_t node = 0; node < context_.nodes.size(); ++node)
      costs.push_back(cost_of(node, slot == 0 ? std::nullopt : std::optional(slot - 1)));
  }
}

// Rounds are as long as their longest task; traffic adds up.
void StageRounds::add_cost(const Turn& turn, const std::vector<NodePair>& pairs, Info& info) const {
  for (const Link& link : *turn.links) {
    const std::vector<NodeCost>& firsts = costs_[link.first ? *link.first + 1 : 0];
    const std::vector<NodeCost>& seconds = costs_[link.second ? *link.second + 1 : 0];
    for (const auto& [a, b] : pairs) {
      const NodeCost& first = firsts[a];
      const NodeCost& second = seconds[b];
      if (first.waived || second.waived) continue;
      const TaskCost cost = plan_.expected(
          plan_.cost.of(std::min(first.rate, second.rate), std::max(first.gpus, second.gpus)));
      info.round.expected_seconds = std::max(info.round.expected_seconds, cost.seconds);
      info.bytes += cost.bytes;
    }
  }
}

// Pairs are counted without making their tasks: a round of 10,000 nodes has 5,000.
StageRounds::Info StageRounds::info(std::size_t round) const {
  Info info;
  if (!pairs_) {
    for (const TaskSeats& seats : fixed_[round]) {
      const PlannedTask task = make_task(plan_, context_, seats);
      info.round.expected_seconds = std::max(info.round.expected_seconds, task.expected_seconds);
      info.bytes += task.expected_bytes;
    }
    info.round.tasks = static_cast<std::uint32_t>(fixed_[round].size());
    return info;
  }
  const Turn turn = turn_of(round);
  const PairRounds::Info& of_pairs = pairs_->info(turn.pairs_round);
  std::vector<NodePair> pairs;
  pairs_->unordered_pairs(turn.pairs_round, pairs);
  info.round.reversed = turn.reversed;
  info.round.distance = of_pairs.distance;
  info.round.mixed = of_pairs.mixed;
  info.round.tasks = static_cast<std::uint32_t>(pairs.size() * turn.links->size());
  if (fills_idle(turn.pairs_round))
    info.round.tasks += static_cast<std::uint32_t>(context_.nodes.size() - 2 * pairs.size());
  add_cost(turn, pairs, info);
  return info;
}

}  // namespace railgauge::plan

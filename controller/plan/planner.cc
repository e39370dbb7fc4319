#include "controller/plan/planner.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/plan/rounds/seeded.h"
#include "controller/plan/stage_plan.h"

namespace railgauge::plan {
namespace {

// All errors of the planner are arguments that do not fit.
tl::unexpected<Error> refuse(std::string message) {
  return fail(Code::kInvalidArgument, "plan: " + std::move(message));
}

// At least one node, and no name twice.
Status check_nodes(std::span<const PlanNode> nodes) {
  if (nodes.empty()) return refuse("no nodes chosen");
  std::unordered_set<std::string_view> names;
  for (const PlanNode& node : nodes)
    if (!names.insert(node.name).second)
      return refuse(fmt::format("node {} is named twice", node.name));
  return {};
}

// Seed of the random choices of a block, so that two stages choose differently.
std::uint64_t seed_of(const Suite& suite, std::uint32_t block) {
  return Seeded(suite.seed + (std::uint64_t{block} << 32U)).next();
}

// One launch of one of a stage's rounds.
struct Launch {
  std::uint32_t stage;
  // Round of the stage, from 0.
  std::uint32_t round;
  std::uint32_t repetition;
};

// Hidden GPUs that a note names.
constexpr std::size_t kMostNamed = 4;

// Note for the stages that one `vary` made: "stage write: 2 x 3 = 6 combinations, a stage each, of
// depth and memory".
std::string note_of_axes(std::span<const Stage> stages) {
  std::map<std::string, std::set<std::string>> values;
  for (const Stage& stage : stages)
    for (const auto& [name, text] : stage.parameters) values[name].insert(text);
  std::vector<std::string> names;
  std::vector<std::size_t> counts;
  for (const auto& [name, texts] : values) {
    if (texts.size() < 2) continue;
    names.push_back(name);
    counts.push_back(texts.size());
  }
  return fmt::format("stage {}: {}{} combinations, a stage each, of {}", stages.front().name,
                     counts.size() > 1 ? fmt::format("{} = ", fmt::join(counts, " x ")) : "",
                     stages.size(), fmt::join(names, ", "));
}

// "" where every node was given all of its GPUs.
std::string note_of_hidden(std::span<const PlanNode> nodes) {
  std::vector<std::string> names;
  for (const PlanNode& node : nodes)
    for (const std::string& address : node.hidden_gpus)
      names.push_back(fmt::format("{} {}", node.name, address));
  if (names.empty()) return "";
  const std::size_t count = names.size();
  names.resize(std::min(count, kMostNamed));
  return fmt::format("left out: {} GPU{} that the agent's container was not given: {}{}", count,
                     count == 1 ? "" : "s", fmt::join(names, ", "),
                     count > kMostNamed ? ", ..." : "");
}

// "" where earlier runs show the time of every stage.
std::string note_of_times(std::span<const PlannedStage> stages) {
  std::vector<std::string> names;
  for (const PlannedStage& stage : stages)
    if (!stage.learned && stage.tasks > 0) names.push_back(stage.name);
  if (names.empty()) return "";
  const std::size_t count = names.size();
  names.resize(std::min(count, kMostNamed));
  return fmt::format("time: no earlier run of {}{}: the longest that {} may take counts",
                     fmt::join(names, ", "), count > kMostNamed ? ", ..." : "",
                     count == 1 ? "it" : "they");
}

}  // namespace

// State of an outline. The stages refer to `context`, so the object never moves.
struct PlanOutline::Inside {
  Plan head{};
  PlanContext context{};
  std::vector<std::unique_ptr<StagePlan>> stages{};
  // By stage.
  std::vector<StageRounds> rounds{};
  // By round of the plan.
  std::vector<Launch> launches{};
  // By round: the number of tasks before it.
  std::vector<std::uint64_t> first_task{};
  std::uint64_t tasks = 0;
  // Launches of the stages that are laid out so far.
  std::uint64_t counted = 0;

  // Prepares a stage and lays out its rounds; its head row has no counts yet.
  Status add_stage(const Suite& suite, std::uint32_t index, std::span<const KernelInfo> kernels,
                   const Site& site, const PlanOptions& options) {
    const Stage& stage = suite.stages[index];
    stages.push_back(std::make_unique<StagePlan>(RG_TRY(prepare_stage(
        stage, index, context, kernels, site, options.times ? *options.times : LearnedTimes()))));
    rounds.push_back(
        RG_TRY(StageRounds::make(*stages.back(), context, seed_of(suite, stage.block), options)));
    head.stages.push_back({.name = stage.name,
                           .kernel = stage.kernel,
                           .metrics = {stages.back()->kernel.metrics().begin(),
                                       stages.back()->kernel.metrics().end()},
                           .placement = stage.placement.kind,
                           .limits = stage.limits,
                           .time_budget_seconds = stage.time_budget_seconds.value_or(0),
                           .on_failure = stage.on_failure,
                           .repetitions = stage.repetitions,
                           .time_key = stages.back()->time_key,
                           .learned = stages.back()->learned.has_value()});
    head.policy.on_failure.push_back(stage.on_failure);
    head.policy.stage_budget_seconds.push_back(stage.time_budget_seconds.value_or(0));
    for (const std::string& note : rounds.back().notes())
      head.notes.push_back(fmt::format("stage {}: {}", stage.name, note));
    return {};
  }

  // Counts the launches of a stage before any is made.
  Status count_launches(const Suite& suite, std::uint32_t index) {
    const Stage& stage = suite.stages[index];
    const std::uint64_t more = std::uint64_t{rounds[index].size()} * stage.repetitions;
    if (more > kMaxPlannedRounds - counted)
      return refuse(fmt::format(
          "suite {}: stage {} has {} rounds x {} repetitions, after {} rounds of the {} stages "
          "before it; a plan has at most {}: fewer stages or repetitions, slices (slice: 1/N), a "
          "quick scan (pairs: quick), or fewer nodes",
          suite.name, stage.name, rounds[index].size(), stage.repetitions, counted, index,
          kMaxPlannedRounds));
    counted += more;
    return {};
  }

  // Appends one round to the plan and adds it to the totals.
  void add_launch(const Launch& launch, const std::vector<StageRounds::Info>& infos) {
    const StageRounds::Info& info = infos[launch.round];
    PlannedRound round = info.round;
    round.stage = launch.stage;
    round.repetition = launch.repetition;
    first_task.push_back(tasks);
    tasks += round.tasks;
    head.expected_seconds += round.expected_seconds;
    head.expected_bytes += info.bytes;
    PlannedStage& stage = head.stages[launch.stage];
    ++stage.rounds;
    stage.tasks += round.tasks;
    head.round_infos.push_back(round);
    launches.push_back(launch);
    ++head.rounds;
  }

  // The stages that one `vary` made, or one stage. With repetitions all launches of the block are
  // in random order, so that neither time of day nor what ran before goes with a setting.
  void add_block(const Suite& suite, std::uint32_t begin, std::uint32_t end) {
    std::vector<Launch> order;
    std::vector<std::vector<StageRounds::Info>> infos;
    for (std::uint32_t stage = begin; stage < end; ++stage) {
      std::vector<StageRounds::Info>& of_stage = infos.emplace_back();
      for (std::size_t round = 0; round < rounds[stage].size(); ++round)
        of_stage.push_back(rounds[stage].info(round));
      for (std::uint32_t repetition = 1; repetition <= suite.stages[stage].repetitions;
           ++repetition)
        for (std::uint32_t round = 0; round < of_stage.size(); ++round)
          order.push_back({.stage = stage, .round = round, .repetition = repetition});
    }
    if (suite.stages[begin].repetitions > 1)
      Seeded(seed_of(suite, suite.stages[begin].block)).shuffle(order);
    for (const Launch& launch : order) add_launch(launch, infos[launch.stage - begin]);
  }

  // Stages in the order of the suite; stages of one block are mixed with each other.
  static Result<std::unique_ptr<Inside>> make(const Suite& suite, std::span<const PlanNode> nodes,
                                              std::span<const KernelInfo> kernels, const Site& site,
                                              const PlanOptions& options) {
    RG_TRY_OK(check_nodes(nodes));
    auto inside = std::make_unique<Inside>();
    inside->context = context_of(nodes, options);
    Plan& head = inside->head;
    head.suite = suite.name;
    head.topology_source = options.topology.source;
    head.preflight = suite.preflight;
    head.policy = suite.rounds;
    head.policy.on_failure.clear();
    head.policy.stage_budget_seconds.clear();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      head.nodes.push_back(nodes[i].name);
      if (!inside->context.leaf_names[i].empty())
        head.leaves[nodes[i].name] = inside->context.leaf_names[i];
    }
    if (const std::string note = note_of_hidden(nodes); !note.empty()) head.notes.push_back(note);
    const auto stages = static_cast<std::uint32_t>(suite.stages.size());
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      RG_TRY_OK(inside->add_stage(suite, stage, kernels, site, options));
      RG_TRY_OK(inside->count_launches(suite, stage));
    }
    for (std::uint32_t begin = 0, end = 0; begin < stages; begin = end) {
      end = begin + 1;
      // Block 0 means none: the suite was not read from a file.
      while (end < stages && suite.stages[begin].block != 0 &&
             suite.stages[end].block == suite.stages[begin].block)
        ++end;
      if (end - begin > 1)
        head.notes.push_back(
            note_of_axes({suite.stages.begin() + begin, suite.stages.begin() + end}));
      inside->add_block(suite, begin, end);
    }
    if (const std::string note = note_of_times(head.stages); options.times && !note.empty())
      head.notes.push_back(note);
    if (inside->tasks == 0) {
      const bool nobody = std::ranges::find(inside->rounds, kNobodyOfSlice,
                                            &StageRounds::left_out) != inside->rounds.end();
      for (std::uint32_t stage = 0; stage < stages; ++stage)
        if (const std::string& why = inside->rounds[stage].left_out(); !why.empty())
          return fail(nobody ? Code::kOutOfRange : Code::kInvalidArgument,
                      fmt::format("plan: stage {}: {}", stage, why));
    }
    return inside;
  }
};

// The tasks that remain of an outline.
struct PlanOutline::Rest {
  Plan head{};
  // By round: its number in the outline.
  std::vector<std::uint32_t> round_of{};
  // By round, and behind the last one: the number of tasks before it.
  std::vector<std::uint64_t> first_task{};
  // By index in the outline.
  std::vector<bool> finished{};
};

Result<PlanOutline> PlanOutline::make(const Suite& suite, std::span<const PlanNode> nodes,
                                      std::span<const KernelInfo> kernels, const Site& site,
                                      const PlanOptions& options) {
  return PlanOutline(RG_TRY(Inside::make(suite, nodes, kernels, site, options)));
}

PlanOutline::PlanOutline(std::shared_ptr<const Inside> inside) : inside_(std::move(inside)) {}

const Plan& PlanOutline::head() const { return rest_ ? rest_->head : inside_->head; }
std::uint64_t PlanOutline::tasks() const {
  return rest_ ? rest_->first_task.back() : inside_->tasks;
}
std::uint64_t PlanOutline::first_of(std::size_t round) const {
  const std::vector<std::uint64_t>& first = rest_ ? rest_->first_task : inside_->first_task;
  return round < first.size() ? first[round] : tasks();
}

std::size_t PlanOutline::round_of(std::uint64_t index) const {
  RG_CHECK(index < tasks());
  const std::vector<std::uint64_t>& first = rest_ ? rest_->first_task : inside_->first_task;
  // Rounds without tasks have the same first task as the next round.
  return static_cast<std::size_t>(std::ranges::upper_bound(first, index) - first.begin()) - 1;
}

// Ids count tasks of the whole run, so they do not depend on which rounds are asked for.
std::vector<PlannedTask> PlanOutline::tasks_of(std::size_t round) const {
  const std::size_t whole = rest_ ? rest_->round_of.at(round) : round;
  const Launch& launch = inside_->launches.at(whole);
  const PlannedRound& info = inside_->head.round_infos[whole];
  std::vector<PlannedTask> tasks;
  std::uint64_t index = inside_->first_task[whole];
  for (const TaskSeats& seats : inside_->rounds[launch.stage].tasks(launch.round)) {
    const std::uint64_t number = ++index;
    if (rest_ && rest_->finished[number - 1]) continue;
    PlannedTask& task =
        tasks.emplace_back(make_task(*inside_->stages[launch.stage], inside_->context, seats));
    task.id = fmt::format("t{:04}", number);
    task.round = static_cast<std::uint32_t>(round);
    task.repetition = launch.repetition;
    task.mixed_round = info.mixed;
  }
  return tasks;
}

// Recounts stages, rounds and expectations from the remaining tasks; empty rounds disappear.
PlanOutline PlanOutline::without(std::vector<bool> finished) const {
  RG_CHECK(!rest_ && finished.size() == inside_->tasks);
  auto rest = std::make_shared<Rest>();
  rest->finished = std::move(finished);
  Plan& head = rest->head = inside_->head;
  for (PlannedStage& stage : head.stages) stage.rounds = 0, stage.tasks = 0;
  head.round_infos.clear();
  head.expected_seconds = head.expected_bytes = 0;
  rest->first_task.push_back(0);
  for (std::uint32_t round = 0; round < inside_->head.rounds; ++round) {
    PlannedRound info = inside_->head.round_infos[round];
    info.tasks = 0;
    info.expected_seconds = 0;
    const std::vector<PlannedTask> tasks = tasks_of(round);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (rest->finished[inside_->first_task[round] + i]) continue;
      ++info.tasks;
      info.expected_seconds = std::max(info.expected_seconds, tasks[i].expected_seconds);
      head.expected_bytes += tasks[i].expected_bytes;
    }
    if (info.tasks == 0) continue;
    head.expected_seconds += info.expected_seconds;
    ++head.stages[info.stage].rounds;
    head.stages[info.stage].tasks += info.tasks;
    head.round_infos.push_back(info);
    rest->round_of.push_back(round);
    rest->first_task.push_back(rest->first_task.back() + info.tasks);
  }
  head.rounds = static_cast<std::uint32_t>(head.round_infos.size());
  PlanOutline outline(inside_);
  outline.rest_ = std::move(rest);
  return outline;
}

std::optional<std::uint64_t> index_of_id(std::string_view id) {
  std::uint64_t number = 0;
  if (!id.starts_with('t')) return std::nullopt;
  const char* const end = id.data() + id.size();
  const auto [until, problem] = std::from_chars(id.data() + 1, end, number);
  if (problem != std::errc() || until != end || number == 0) return std::nullopt;
  return number - 1;
}

Result<Plan> make_plan(const PlanOutline& outline) {
  if (outline.tasks() > kMostListedTasks)
    return refuse(fmt::format("{} tasks in {} rounds; a list has at most {}", outline.tasks(),
                              outline.head().rounds, kMostListedTasks));
  Plan plan = outline.head();
  plan.tasks.reserve(outline.tasks());
  for (std::size_t round = 0; round < plan.rounds; ++round)
    std::ranges::move(outline.tasks_of(round), std::back_inserter(plan.tasks));
  return plan;
}

Result<Plan> make_plan(const Suite& suite, std::span<const PlanNode> nodes,
                       std::span<const KernelInfo> kernels, const Site& site,
                       const PlanOptions& options) {
  return make_plan(RG_TRY(PlanOutline::make(suite, nodes, kernels, site, options)));
}

// The GPU follows the port where a placement chooses both.
std::string text_of(const PlannedRank& rank) {
  return rank.gpu.empty() ? rank.endpoint : fmt::format("{}+{}", rank.endpoint, rank.gpu);
}

}  // namespace railgauge::plan

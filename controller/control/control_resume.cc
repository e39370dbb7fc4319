// What is to be run: a suite over nodes, or what an earlier run of one left.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/control/control.h"
#include "controller/control/run_tasks.h"
#include "kernels/core/base/outcome.h"

namespace railgauge {
namespace {

constexpr std::size_t kMostRests = 64;      // of rests
constexpr std::uint32_t kNewestRuns = 100;  // all that are not ended are among them

bool is_finished(const store::TaskRow& task) {
  if (task.state != "ended") return false;
  if (task.outcome == kCrashed) return task.reason != store::kControllerRestarted;
  return task.outcome == kPassed || task.outcome == kFailed || task.outcome == kTimedOut;
}

// Nodes that cannot be used now, with the reason: what they have now is not known.
using Unusable = std::map<std::string, std::string>;

std::string end_text(const std::string& node, const std::string& endpoint,
                     const Unusable& unusable) {
  return unusable.contains(node) ? node : fmt::format("{}/{}", node, endpoint);
}

std::string text_of(const plan::PlannedTask& task, const Unusable& unusable) {
  std::vector<std::string> ends;
  for (const plan::PlannedRank& rank : task.ranks)
    ends.push_back(end_text(rank.node, plan::text_of(rank), unusable));
  return fmt::format("{} {}", task.kernel, fmt::join(ends, " "));
}

std::string text_of(const store::TaskRow& task, const Unusable& unusable) {
  std::vector<std::string> ends;
  for (const store::RankRow& rank : task.ranks)
    ends.push_back(end_text(rank.node, rank.endpoint, unusable));
  return fmt::format("{} {}", task.kernel, fmt::join(ends, " "));
}

bool has_unusable(const plan::PlannedTask& task, const Unusable& unusable) {
  return std::ranges::any_of(
      task.ranks, [&](const plan::PlannedRank& rank) { return unusable.contains(rank.node); });
}

// A run, then what it is the rest of, up to the one that was planned as a whole.
using Chain = std::vector<store::RunDetailRow>;

Result<Chain> chain_of(store::Store& store, const std::string& run_id) {
  Chain chain;
  for (std::string id = run_id; !id.empty();) {
    if (chain.size() >= kMostRests)
      return fail(
          Code::kFailedPrecondition,
          fmt::format("run {}: it is the {}th rest of a run; start a new one", run_id, kMostRests));
    Result<store::RunDetailRow> row = store.run_detail(id);
    if (!row && row.error().code != Code::kNotFound) return tl::unexpected(row.error());
    if (!row && chain.empty()) return fail(Code::kInvalidArgument, row.error().message);
    if (!row)
      return fail(Code::kFailedPrecondition,
                  fmt::format("run {}: it is the rest of run {}, which is stored no more; start a "
                              "new run",
                              run_id, id));
    id = row->summary.run.parent_run_id;
    chain.push_back(std::move(*row));
  }
  return chain;
}

// A schedule goes on by itself with what a restart broke off, and two rests would measure the same.
Status no_rest_under_way(store::Store& store, const std::string& run_id) {
  for (const store::RunSummaryRow& row : RG_TRY(store.list_runs(kNewestRuns)))
    if (row.run.state != "ended" && row.run.parent_run_id == run_id)
      return fail(
          Code::kFailedPrecondition,
          fmt::format("run {}: run {} measures its rest now; wait for it", run_id, row.run.run_id));
  return {};
}

// The ids of what needs no second run. kFailedPrecondition: the plan is not what it was, so the ids
// would mean other measurements. kUnavailable: all that is left wants nodes that are away.
Result<std::set<std::string>> finished_tasks(const std::string& run_id, const plan::Plan& plan,
                                             const Chain& chain, const Unusable& unusable) {
  std::set<std::string> measured;
  for (const store::RunDetailRow& row : chain)
    for (const store::TaskDetailRow& task : row.tasks)
      if (is_finished(task.task)) measured.insert(task.task.task_id);
  std::map<std::string, const store::TaskRow*> stored;
  for (const store::TaskDetailRow& task : chain.back().tasks)
    stored[task.task.task_id] = &task.task;
  std::set<std::string> finished;
  std::size_t away = 0;
  for (const plan::PlannedTask& task : plan.tasks) {
    const auto was = stored.find(task.id);
    const std::string now = text_of(task, unusable);
    if (was == stored.end() || text_of(*was->second, unusable) != now ||
        was->second->parameters != task.parameters)
      return fail(
          Code::kFailedPrecondition,
          fmt::format("run {}: its plan cannot be made again: task {} would now be {}, and was {}; "
                      "nodes, kernels or the site profile have changed; start a new run",
                      run_id, task.id, now,
                      was == stored.end()                      ? "not there"
                      : text_of(*was->second, unusable) == now ? "of other parameters"
                                                               : text_of(*was->second, unusable)));
    // What the planner waives would only be waived again; that a node is away is told.
    const bool is_away = has_unusable(task, unusable);
    if (measured.contains(task.id) || (!task.waived_reason.empty() && !is_away))
      finished.insert(task.id);
    else if (is_away)
      ++away;
  }
  if (finished.size() + away < plan.tasks.size()) return finished;
  if (away > 0)
    return fail(Code::kUnavailable,
                fmt::format("run {}: each of the {} tasks that are left of it wants a node that "
                            "cannot be used now: {}",
                            run_id, away, unusable.begin()->second));
  return fail(Code::kInvalidArgument,
              fmt::format("run {}: nothing is left of it: all of its {} tasks were measured",
                          run_id, plan.tasks.size()));
}

}  // namespace

Result<Control::ToRun> Control::to_run(const api::RunRequest& request, std::uint64_t night) {
  if (!request.resume_run_id().empty()) return rest_of(request);
  Prepared prepared = RG_TRY(prepare_admitted(request, {.night = night}));
  plan::Plan plan = RG_TRY(plan::make_plan(prepared.outline));
  return ToRun{std::move(prepared), std::move(plan)};
}

// From the suite as it was then, on the same nodes and of the same slice: plans are made of nothing
// else, so that seeds, rounds and ids come out as they were. A node that cannot be used now keeps
// its place, and its tasks are waived with the reason.
Result<Control::ToRun> Control::rest_of(const api::RunRequest& request) {
  const std::string& id = request.resume_run_id();
  if (!request.suite().name().empty() || !request.suite().text().empty() ||
      !request.node_set().empty())
    return fail(Code::kInvalidArgument,
                fmt::format("run {}: suite and nodes of the rest are the run's; give none", id));
  if (loop_.call([&] { return director_.summary(id).has_value(); }))
    return fail(Code::kFailedPrecondition,
                fmt::format("run {}: it is still under way; wait for it, or cancel it first", id));
  RG_TRY_OK(no_rest_under_way(store_, id));
  const Chain chain = RG_TRY(chain_of(store_, id));
  const store::RunRow& run = chain.back().summary.run;  // the one that was planned as a whole
  api::RunRequest again = request;
  again.mutable_suite()->set_text(run.suite_text);
  again.mutable_suite()->set_file_name(fmt::format("run {}", id));
  again.set_node_set(fmt::format("{}", fmt::join(run.nodes, ",")));
  again.set_skip_absent(false);
  Prepared prepared =
      RG_TRY(prepare_admitted(again, {.night = day_of(run.created_at), .is_rest = true}));
  plan::Plan plan = RG_TRY(plan::make_plan(prepared.outline));
  const std::set<std::string> finished =
      RG_TRY(finished_tasks(id, plan, chain, prepared.made_for.unusable));
  return ToRun{std::move(prepared), plan::without_finished(std::move(plan), finished), id};
}

}  // namespace railgauge

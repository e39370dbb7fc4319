#include "controller/control/resumed_run.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/base/outcome.h"

namespace railgauge {
namespace {

constexpr std::size_t kMaxChain = 64;  // resumed runs of one run
// All runs that have not ended are among the newest.
constexpr std::uint32_t kNewestRuns = 100;

// A task that crashed because the controller restarted was not measured.
bool is_finished(const store::TaskRow& task) {
  if (task.state != store::TaskState::kEnded) return false;
  if (task.outcome == kCrashed) return task.reason != store::kControllerRestarted;
  return task.outcome == kPassed || task.outcome == kFailed || task.outcome == kTimedOut;
}

// A rank's node and endpoint. The endpoints of an unusable node are not known, so only its name
// counts.
std::string end_text(const std::string& node, const std::string& endpoint,
                     const UnusableNodes& unusable) {
  return unusable.contains(node) ? node : fmt::format("{}/{}", node, endpoint);
}

std::string endpoint_of(const plan::PlannedRank& rank) { return plan::text_of(rank); }
std::string endpoint_of(const store::RankRow& rank) { return rank.endpoint; }

// A planned or stored task as text for comparison: kernel and ends. Equal texts mean the same
// measurement.
template <class Task>
std::string text_of(const Task& task, const UnusableNodes& unusable) {
  std::vector<std::string> ends;
  for (const auto& rank : task.ranks)
    ends.push_back(end_text(rank.node, endpoint_of(rank), unusable));
  return fmt::format("{} {}", task.kernel, fmt::join(ends, " "));
}

bool has_unusable(const plan::PlannedTask& task, const UnusableNodes& unusable) {
  return std::ranges::any_of(
      task.ranks, [&](const plan::PlannedRank& rank) { return unusable.contains(rank.node); });
}

}  // namespace

Result<RunChain> read_run_chain(store::Store& store, const std::string& run_id) {
  RunChain chain;
  for (std::string id = run_id; !id.empty();) {
    if (chain.size() >= kMaxChain)
      return fail(Code::kFailedPrecondition,
                  fmt::format("run {}: it is the {}th run that resumes one run; start a new one",
                              run_id, kMaxChain));
    Result<store::RunDetailRow> row = store.run_detail(id);
    if (!row && row.error().code != Code::kNotFound) return tl::unexpected(row.error());
    if (!row && chain.empty()) return fail(Code::kInvalidArgument, row.error().message);
    if (!row)
      return fail(Code::kFailedPrecondition,
                  fmt::format("run {}: it resumes run {}, which was deleted; start a "
                              "new run",
                              run_id, id));
    id = row->summary.run.parent_run_id;
    chain.push_back(std::move(*row));
  }
  return chain;
}

Status check_not_resumed(store::Store& store, const std::string& run_id) {
  for (const store::RunSummaryRow& row : RG_TRY(store.list_runs(kNewestRuns)))
    if (row.run.state != store::RunState::kEnded && row.run.parent_run_id == run_id)
      return fail(
          Code::kFailedPrecondition,
          fmt::format("run {}: run {} resumes it now; wait for it", run_id, row.run.run_id));
  return {};
}

// A task is finished if any run of the chain measured it.
Result<std::set<std::string>> finished_tasks(const std::string& run_id, const plan::Plan& plan,
                                             const RunChain& chain, const UnusableNodes& unusable) {
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
        was->second->parameters != task.parameters.all())
      return fail(
          Code::kFailedPrecondition,
          fmt::format("run {}: its plan cannot be made again: task {} would now be {}, and was {}; "
                      "nodes, kernels or the site profile have changed; start a new run",
                      run_id, task.id, now,
                      was == stored.end()                      ? "not there"
                      : text_of(*was->second, unusable) == now ? "of other parameters"
                                                               : text_of(*was->second, unusable)));
    // A task that the planner waives would be waived again. A task of an absent node is reported.
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

}  // namespace railgauge

#include "controller/control/resumed_run.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/plan/task_book.h"
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
    Result<store::RunSummaryRow> row = store.run_summary(id);
    if (!row && row.error().code != Code::kNotFound) return tl::unexpected(row.error());
    if (!row && chain.empty()) return fail(Code::kInvalidArgument, row.error().message);
    if (!row)
      return fail(Code::kFailedPrecondition,
                  fmt::format("run {}: it resumes run {}, which was deleted; start a "
                              "new run",
                              run_id, id));
    id = row->run.parent_run_id;
    row->run.suite_text = RG_TRY(store.read(store::read_suite_text, row->run.run_id));
    chain.push_back(std::move(row->run));
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

namespace {

// Compares the stored tasks of one run with the planned ones, and marks those that are finished.
// Stored tasks come in the order of the plan, so that each round is made once.
class StoredTasks {
 public:
  StoredTasks(const std::string& run_id, const plan::PlanOutline& outline,
              const UnusableNodes& unusable)
      : run_id_(run_id), book_(outline), unusable_(unusable), finished_(outline.tasks()) {}

  // Reads the tasks of a run of the chain, and returns the number of planned ones.
  Result<std::uint64_t> read(store::Store& store, const std::string& id) {
    std::uint64_t planned = 0;
    for (std::int64_t from = 0;;) {
      const store::TaskHeadsRow page = RG_TRY(store.task_heads(id, from));
      for (const store::TaskRow& row : page.tasks) {
        const auto index = plan::index_of_id(row.task_id);
        if (!index) continue;  // it was added
        RG_TRY_OK(check(*index, row));
        ++planned;
        if (is_finished(row)) finished_[*index] = true;
      }
      if (page.next == 0) return planned;
      from = page.next;
    }
  }
  std::vector<bool>& finished() { return finished_; }
  const plan::TaskBook& book() { return book_; }

 private:
  // A task of an id that the plan has not, or of other ends or parameters.
  Status check(std::uint64_t index, const store::TaskRow& row) {
    const std::string was = text_of(row, unusable_);
    if (index >= book_.planned()) return differs(row.task_id, "not there", was);
    const plan::TaskHandle task = book_.at(index);
    const std::string now = text_of(*task, unusable_);
    if (was != now) return differs(row.task_id, now, was);
    if (row.parameters != task->parameters.all())
      return differs(row.task_id, now, "of other parameters");
    return {};
  }
  [[nodiscard]] Status differs(const std::string& task_id, const std::string& now,
                               const std::string& was) const {
    return fail(
        Code::kFailedPrecondition,
        fmt::format("run {}: its plan cannot be made again: task {} would now be {}, and was {}; "
                    "nodes, kernels or the site profile have changed; start a new run",
                    run_id_, task_id, now, was));
  }

  const std::string& run_id_;
  const plan::TaskBook book_;
  const UnusableNodes& unusable_;
  std::vector<bool> finished_;
};

}  // namespace

// A task is finished if any run of the chain measured it. Tasks whose rounds did not begin have no
// rows: of them the number is compared.
Result<std::vector<bool>> finished_tasks(store::Store& store, const std::string& run_id,
                                         const plan::PlanOutline& outline, const RunChain& chain,
                                         const UnusableNodes& unusable) {
  StoredTasks stored(run_id, outline, unusable);
  for (const store::RunRow& run : chain) {
    std::uint64_t planned = RG_TRY(stored.read(store, run.run_id));
    if (&run != &chain.back()) continue;
    for (const store::TaskRestRow& rest : RG_TRY(store.task_rest(run.run_id)))
      planned += rest.tasks;
    if (planned != outline.tasks())
      return fail(
          Code::kFailedPrecondition,
          fmt::format("run {}: its plan cannot be made again: it would now be {} tasks, and was "
                      "{}; nodes, kernels or the site profile have changed; start a new run",
                      run_id, outline.tasks(), planned));
  }
  std::vector<bool>& finished = stored.finished();
  std::uint64_t away = 0;
  std::uint64_t left = 0;
  for (std::size_t round = 0, index = 0; round < outline.head().rounds; ++round)
    for (const plan::PlannedTask& task : *stored.book().round(round)) {
      // A task that the planner waives would be waived again. A task of an absent node is reported.
      const bool is_away = has_unusable(task, unusable);
      if (!finished[index] && !task.waived_reason.empty() && !is_away) finished[index] = true;
      if (!finished[index]) ++(is_away ? away : left);
      ++index;
    }
  if (left > 0) return std::move(finished);
  if (away > 0)
    return fail(Code::kUnavailable,
                fmt::format("run {}: each of the {} tasks that are left of it wants a node that "
                            "cannot be used now: {}",
                            run_id, away, unusable.begin()->second));
  return fail(Code::kInvalidArgument,
              fmt::format("run {}: nothing is left of it: all of its {} tasks were measured",
                          run_id, outline.tasks()));
}

}  // namespace railgauge

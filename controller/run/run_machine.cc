#include "controller/run/run_machine.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/base/outcome.h"
#include "kernels/core/base/result.h"
#include "kernels/core/text/fold.h"

namespace railgauge::run {

RunMachine::RunMachine(std::vector<RunTaskSpec> tasks, RoundPolicy policy,
                       const LeafUplinks& uplinks)
    : policy_(std::move(policy)), engine_(tasks, policy_, uplinks), partners_(tasks) {
  tasks_.reserve(tasks.size());
  for (RunTaskSpec& spec : tasks)
    tasks_.push_back(
        {.stage = spec.stage, .waived = spec.waived, .reason = std::move(spec.reason)});
}

void RunMachine::start(double now, RunActions& out) {
  RG_CHECK(state_ == RunState::kPlanned);
  state_ = RunState::kRunning;
  for (std::size_t i = 0; i < tasks_.size(); ++i)
    if (tasks_[i].waived) skip(i, kWaived, tasks_[i].reason, out);
  engine_.start(now);
  advance(now, out);
}

void RunMachine::end_task(Task& task, std::string outcome, std::string reason) {
  ++outcomes_[outcome];
  ++ended_;
  task.outcome = std::move(outcome);
  task.reason = std::move(reason);
}

void RunMachine::skip(std::size_t index, std::string_view outcome, std::string reason,
                      RunActions& out) {
  engine_.drop(index);
  out.emplace_back(SkipTask{index, std::string(outcome), reason});
  end_task(tasks_[index], std::string(outcome), std::move(reason));
}

// Retries a task within its attempts.
bool RunMachine::task_ended(std::size_t index, TaskEnd end, double now, RunActions& out) {
  RG_CHECK(index < tasks_.size() && engine_.is_under_way(index));
  Task& task = tasks_[index];
  if (end.interrupted) --task.starts;
  const bool again = (end.interrupted || (end.may_retry && task.starts < policy_.max_attempts)) &&
                     state_ == RunState::kRunning && !is_stopped(task);
  engine_.ended(index, again, now);
  if (!again) end_measured(index, std::move(end), out);
  advance(now, out);
  return again;
}

// Counts the final end of a task that was started. A cancelled task that crashed is unverified: its
// runner may still be there. One that the stopped run does not start again is the run's own cancel.
void RunMachine::end_measured(std::size_t index, TaskEnd end, RunActions& out) {
  Task& task = tasks_[index];
  const bool unverified = end.unverified || (task.told_cancel && end.outcome == kCrashed);
  if (unverified && unverified_.empty())
    unverified_ = end.reason.empty() ? end.outcome : end.reason;
  const bool failed = end.outcome == kFailed || end.outcome == kCrashed || end.outcome == kTimedOut;
  ++measured_;
  failures_ += failed ? 1 : 0;
  own_cancelled_ += end.interrupted && is_stopped(task) ? 1 : 0;
  if (end.outcome == kPassed) partners_.passed(index);
  if (failed) partners_.failed(index);
  end_task(task, std::move(end.outcome), std::move(end.reason));
  if (failed && state_ == RunState::kRunning) stop_after(task, out);
}

// The reason to stop by the suite's budget of failures; "" while the budget lasts.
std::string RunMachine::over_budget() const {
  const StopBudget& budget = policy_.stop;
  if (budget.failures > 0 && failures_ > budget.failures)
    return fmt::format("{} tasks failed, {} are the most that the suite allows", failures_,
                       budget.failures);
  if (measured_ >= budget.share_after && failures_ > budget.failed_share * measured_)
    return fmt::format("{} of {} tasks failed, {:g} % are the most that the suite allows",
                       failures_, measured_, budget.failed_share * 100);
  return "";
}

void RunMachine::stop_after(const Task& failed, RunActions& out) {
  if (std::string reason = over_budget(); !reason.empty())
    return stop("stopped: " + reason, nullptr, out);
  if (failed.stage >= policy_.on_failure.size()) return;
  const OnFailure policy = policy_.on_failure[failed.stage];
  if (policy == OnFailure::kContinue) return;
  const std::string reason =
      fmt::format("stopped after a task of stage {} was {}", failed.stage + 1, failed.outcome);
  stop(reason, policy == OnFailure::kStopStage ? &failed.stage : nullptr, out);
}

// Ends the tasks of one stage, or of all, that have not begun.
void RunMachine::stop(std::string reason, const std::uint32_t* stage, RunActions& out) {
  partners_.close(stage == nullptr ? std::nullopt : std::optional(*stage));
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (!engine_.is_waiting(i) || (stage != nullptr && tasks_[i].stage != *stage)) continue;
    skip(i, kCancelledOutcome, "not started: " + reason, out);
    ++own_cancelled_;
  }
  if (stage != nullptr) return void(stopped_stages_.insert(*stage));
  stopped_ = true;
  stop_reason_ = std::move(reason);
}

void RunMachine::poll(double now, RunActions& out) {
  EngineActions begun;
  engine_.poll(now, begun);
  for (EngineAction& action : begun) {
    if (const auto* start = std::get_if<StartTask>(&action)) ++tasks_[start->index].starts;
    if (const auto* skipped = std::get_if<SkipTask>(&action))
      end_task(tasks_[skipped->index], skipped->outcome, skipped->reason);
    std::visit([&out](auto& one) { out.emplace_back(std::move(one)); }, action);
  }
}

// Adds tasks with other partners once all rounds are over, when the good places are known. True if
// it added any.
bool RunMachine::add_elsewhere(RunActions& out) {
  if (!engine_.in_leftovers()) return false;
  const std::vector<Elsewhere> wanted = partners_.next();
  for (const Elsewhere& one : wanted) {
    const std::size_t index =
        engine_.add(one.failed, partners_.endpoints_of(one), partners_.leaves_of(one));
    RG_CHECK(index == tasks_.size());
    partners_.add(one);
    tasks_.push_back({.stage = tasks_[one.failed].stage});
    out.emplace_back(AddTask{index, one});
  }
  return !wanted.empty();
}

void RunMachine::advance(double now, RunActions& out) {
  if (state_ == RunState::kRunning) {
    do poll(now, out);
    while (add_elsewhere(out));
  }
  finish_when_done(out);
}

void RunMachine::cancel(std::string reason, RunActions& out) {
  if (state_ == RunState::kEnded || state_ == RunState::kCancelling) return;
  state_ = RunState::kCancelling;
  cancel_reason_ = std::move(reason);
  engine_.withdraw_claim();
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (engine_.is_waiting(i)) skip(i, kCancelledOutcome, cancel_reason_, out);
    if (!engine_.is_under_way(i)) continue;
    tasks_[i].told_cancel = true;
    out.emplace_back(CancelTaskAction{i, cancel_reason_});
  }
  finish_when_done(out);
}

void RunMachine::set_busy(std::string who, double now, RunActions& out) {
  engine_.set_busy(std::move(who));
  if (state_ == RunState::kRunning) advance(now, out);
}

void RunMachine::lend(const std::vector<std::string>& nodes, const std::string& who, double now,
                      RunActions& out) {
  engine_.lend(nodes, who, now);
  for (const std::size_t index : engine_.under_way_on(nodes))
    out.emplace_back(
        InterruptTask{index, fmt::format("interrupted: its nodes are lent to {}", who)});
  if (state_ == RunState::kRunning) advance(now, out);
}

void RunMachine::take_back(const std::vector<std::string>& nodes, double now, RunActions& out) {
  engine_.take_back(nodes, now);
  if (state_ == RunState::kRunning) advance(now, out);
}

void RunMachine::tick(double now, RunActions& out) {
  if (state_ == RunState::kRunning) advance(now, out);
}

// The worst outcome by exit code. Tasks that the run itself did not start do not make it cancelled.
std::string RunMachine::worst_outcome() const {
  std::vector<int> codes;
  codes.reserve(outcomes_.size());
  for (const auto& [outcome, count] : outcomes_)
    if (outcome != kCancelledOutcome || count > own_cancelled_)
      codes.push_back(exit_code_of(outcome));
  switch (combine_exit_codes(codes)) {
    case kExitInterrupted:
      return std::string(kCancelledOutcome);
    case kExitFailed:
      return std::string(kFailed);
    case kExitWaived:
      return std::string(kWaived);
    case kExitPassed:
      return std::string(kPassed);
    default:
      return std::string(outcomes_.contains(std::string(kTimedOut)) &&
                                 !outcomes_.contains(std::string(kCrashed))
                             ? kTimedOut
                             : kCrashed);
  }
}

// The first kMaxReasons kinds of reasons of the tasks with that outcome, with their counts.
std::string RunMachine::reason_for(std::string_view outcome) const {
  if (tasks_.empty()) return "the plan holds no task, so nothing was measured";
  if (outcome == kCancelledOutcome && !cancel_reason_.empty()) return cancel_reason_;
  std::vector<std::pair<std::string, std::uint32_t>> reasons;
  std::map<std::string_view, std::size_t> index;  // thousands of tasks may have one each
  for (const Task& task : tasks_) {
    if (task.outcome != outcome || task.reason.empty()) continue;
    const auto [place, fresh] = index.try_emplace(task.reason, reasons.size());
    if (fresh)
      reasons.emplace_back(task.reason, 1);
    else
      ++reasons[place->second].second;
  }
  std::vector<std::string> texts;
  for (const auto& [reason, tasks] : reasons) texts.push_back(reason);
  const std::vector<TextGroup> groups = group_texts(texts);
  std::string text;
  for (std::size_t i = 0; i < std::min(groups.size(), kMaxReasons); ++i) {
    text += (i == 0 ? "" : "; ") + groups[i].text;
    std::uint32_t tasks = 0;
    for (const std::size_t member : groups[i].members) tasks += reasons[member].second;
    if (tasks > 1) text += fmt::format(" ({} tasks)", tasks);
  }
  if (groups.size() > kMaxReasons)
    text += fmt::format("; and {} other reasons", groups.size() - kMaxReasons);
  return text;
}

// True while the run must not end, because follow-ups are asked for.
bool RunMachine::wants_follow_ups(RunActions& out) {
  const bool may = policy_.drill_down && state_ == RunState::kRunning && !stopped_ &&
                   !tasks_.empty() && follow_ups_ != FollowUps::kOver;
  if (!may) return false;
  if (follow_ups_ == FollowUps::kAsked) return true;
  if (waves_ >= kMostWaves) return false;
  ++waves_;
  follow_ups_ = FollowUps::kAsked;
  out.emplace_back(WantFollowUps{});
  return true;
}

bool RunMachine::add_follow_ups(const std::vector<RunTaskSpec>& tasks, double now,
                                RunActions& out) {
  if (follow_ups_ != FollowUps::kAsked || state_ != RunState::kRunning) return false;
  follow_ups_ = tasks.empty() ? FollowUps::kOver : FollowUps::kUnderWay;
  for (const RunTaskSpec& spec : tasks) {
    const std::size_t index = engine_.add(spec);
    RG_CHECK(index == tasks_.size());
    partners_.add_other();
    tasks_.push_back({.stage = spec.stage});
  }
  advance(now, out);
  return true;
}

void RunMachine::finish_when_done(RunActions& out) {
  if (state_ == RunState::kEnded || ended_ < tasks_.size()) return;
  if (wants_follow_ups(out)) return;
  // A cancelled run whose runners may still be there is reported as crashed: whoever cancels wants
  // to know that nothing runs any more.
  const bool unverified = state_ == RunState::kCancelling && !unverified_.empty();
  std::string outcome = unverified ? std::string(kCrashed) : worst_outcome();
  std::string reason = outcome == kPassed ? "" : reason_for(outcome);
  if (unverified && reason.empty()) reason = unverified_;  // of a task that timed out
  if (!stop_reason_.empty())
    reason = reason.empty() ? stop_reason_ : fmt::format("{}; {}", stop_reason_, reason);
  state_ = RunState::kEnded;
  out.emplace_back(RunFinished{std::move(outcome), std::move(reason)});
}

}  // namespace railgauge::run

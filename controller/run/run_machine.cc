#include "controller/run/run_machine.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/base/outcome.h"
#include "kernels/core/base/result.h"
#include "kernels/core/text/fold.h"

namespace railgauge::run {

RunMachine::RunMachine(std::shared_ptr<const TaskSource> source, RoundPolicy policy,
                       const LeafUplinks& uplinks)
    : total_(source->tasks()),
      policy_(std::move(policy)),
      engine_(source, policy_, uplinks),
      partners_(source->tasks()) {}

void RunMachine::start(double now, RunActions& out) {
  RG_CHECK(state_ == RunState::kPlanned);
  state_ = RunState::kRunning;
  engine_.start(now);
  advance(now, out);
}

void RunMachine::end_tasks(std::size_t tasks, const std::string& outcome,
                           const std::string& reason) {
  outcomes_[outcome] += static_cast<std::uint32_t>(tasks);
  ended_ += static_cast<std::uint32_t>(tasks);
  if (reason.empty()) return;
  Reasons& reasons = reasons_[outcome];
  if (const auto known = reasons.places.find(reason); known != reasons.places.end()) {
    reasons.tasks[known->second] += tasks;
  } else if (reasons.texts.size() < kMostKeptReasons) {
    reasons.places.emplace(reason, reasons.texts.size());
    reasons.texts.push_back(reason);
    reasons.tasks.push_back(tasks);
  } else {
    reasons.others += tasks;
  }
}

void RunMachine::end_task(std::size_t index, const std::string& outcome,
                          const std::string& reason) {
  end_tasks(1, outcome, reason);
  auto word = std::ranges::find(words_, outcome);
  if (word == words_.end()) word = words_.insert(word, outcome);
  RG_CHECK(words_.size() < UINT8_MAX);
  if (index >= word_of_.size()) word_of_.resize(index + 1);
  word_of_[index] = static_cast<std::uint8_t>(word - words_.begin());
  tasks_.erase(index);
}

// Passes the engine's actions on, and enters their tasks and ends.
void RunMachine::take(EngineActions& actions, RunActions& out) {
  for (EngineAction& action : actions) {
    if (const auto* opened = std::get_if<OpenRound>(&action))
      for (const auto& [index, spec] : *opened->tasks) partners_.enter(index, spec);
    if (const auto* start = std::get_if<StartTask>(&action)) {
      Task& task = tasks_[start->index];
      task.stage = engine_.stage_of(start->index);
      ++task.starts;
    }
    if (const auto* skipped = std::get_if<SkipTask>(&action))
      end_task(skipped->index, skipped->outcome, skipped->reason);
    if (const auto* skipped = std::get_if<SkipRounds>(&action))
      end_tasks(skipped->tasks, skipped->outcome, skipped->reason);
    std::visit([&out](auto& one) { out.emplace_back(std::move(one)); }, action);
  }
}

// Ends the tasks that have not begun, and returns their number.
std::size_t RunMachine::drop_waiting(std::optional<std::uint32_t> stage, const std::string& reason,
                                     RunActions& out) {
  const std::uint32_t before = ended_;
  EngineActions dropped;
  engine_.drop_waiting(stage, kCancelledOutcome, reason, dropped);
  take(dropped, out);
  return ended_ - before;
}

// Retries a task within its attempts.
bool RunMachine::task_ended(std::size_t index, const TaskEnd& end, double now, RunActions& out) {
  RG_CHECK(engine_.is_under_way(index));
  Task& task = tasks_.at(index);
  if (end.interrupted) --task.starts;
  const bool again = (end.interrupted || (end.may_retry && task.starts < policy_.max_attempts)) &&
                     state_ == RunState::kRunning && !is_stopped(task.stage);
  engine_.ended(index, again, now);
  if (!again) end_measured(index, end, out);
  advance(now, out);
  return again;
}

// Counts the final end of a task that was started. A cancelled task that crashed is unverified: its
// runner may still be there. One that the stopped run does not start again is the run's own cancel.
void RunMachine::end_measured(std::size_t index, const TaskEnd& end, RunActions& out) {
  const Task task = tasks_.at(index);
  const bool unverified = end.unverified || (task.told_cancel && end.outcome == kCrashed);
  if (unverified && unverified_.empty())
    unverified_ = end.reason.empty() ? end.outcome : end.reason;
  const bool failed = end.outcome == kFailed || end.outcome == kCrashed || end.outcome == kTimedOut;
  ++measured_;
  failures_ += failed ? 1 : 0;
  own_cancelled_ += end.interrupted && is_stopped(task.stage) ? 1 : 0;
  if (end.outcome == kPassed) partners_.passed(index);
  if (failed) partners_.failed(index);
  end_task(index, end.outcome, end.reason);
  if (failed && state_ == RunState::kRunning) stop_after(task.stage, end.outcome, out);
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

void RunMachine::stop_after(std::uint32_t stage, const std::string& outcome, RunActions& out) {
  if (std::string reason = over_budget(); !reason.empty())
    return stop("stopped: " + reason, std::nullopt, out);
  if (stage >= policy_.on_failure.size()) return;
  const OnFailure policy = policy_.on_failure[stage];
  if (policy == OnFailure::kContinue) return;
  stop(fmt::format("stopped after a task of stage {} was {}", stage + 1, outcome),
       policy == OnFailure::kStopStage ? std::optional(stage) : std::nullopt, out);
}

// Ends the tasks of one stage, or of all, that have not begun.
void RunMachine::stop(std::string reason, std::optional<std::uint32_t> stage, RunActions& out) {
  partners_.close(stage);
  own_cancelled_ += drop_waiting(stage, "not started: " + reason, out);
  if (stage) return void(stopped_stages_.insert(*stage));
  stopped_ = true;
  stop_reason_ = std::move(reason);
}

void RunMachine::poll(double now, RunActions& out) {
  EngineActions begun;
  engine_.poll(now, begun);
  take(begun, out);
}

// Adds tasks with other partners once all rounds are over, when the good places are known. True if
// it added any.
bool RunMachine::add_elsewhere(RunActions& out) {
  if (!engine_.in_leftovers()) return false;
  const std::vector<Elsewhere> wanted = partners_.next();
  for (const Elsewhere& one : wanted) {
    const std::size_t index =
        engine_.add(one.failed, partners_.endpoints_of(one), partners_.leaves_of(one));
    RG_CHECK(index == total_);
    partners_.add(one);
    ++total_;
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
  drop_waiting(std::nullopt, cancel_reason_, out);
  for (const std::size_t index : engine_.under_way()) {
    tasks_.at(index).told_cancel = true;
    out.emplace_back(CancelTaskAction{index, cancel_reason_});
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
std::string RunMachine::reason_for(const std::string& outcome) const {
  if (total_ == 0) return "the plan holds no task, so nothing was measured";
  if (outcome == kCancelledOutcome && !cancel_reason_.empty()) return cancel_reason_;
  const auto found = reasons_.find(outcome);
  if (found == reasons_.end()) return "";
  const Reasons& reasons = found->second;
  const std::vector<TextGroup> groups = group_texts(reasons.texts);
  std::string text;
  for (std::size_t i = 0; i < std::min(groups.size(), kMaxReasons); ++i) {
    text += (i == 0 ? "" : "; ") + groups[i].text;
    std::size_t tasks = 0;
    for (const std::size_t member : groups[i].members) tasks += reasons.tasks[member];
    if (tasks > 1) text += fmt::format(" ({} tasks)", tasks);
  }
  if (groups.size() > kMaxReasons)
    text += fmt::format("; and {} other reasons", groups.size() - kMaxReasons);
  if (reasons.others > 0) text += fmt::format("; and {} tasks of more reasons", reasons.others);
  return text;
}

// True while the run must not end, because follow-ups are asked for.
bool RunMachine::wants_follow_ups(RunActions& out) {
  const bool may = policy_.drill_down && state_ == RunState::kRunning && !stopped_ && total_ > 0 &&
                   follow_ups_ != FollowUps::kOver;
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
    RG_CHECK(index == total_);
    partners_.add_other();
    ++total_;
  }
  advance(now, out);
  return true;
}

void RunMachine::finish_when_done(RunActions& out) {
  if (state_ == RunState::kEnded || ended_ < total_) return;
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

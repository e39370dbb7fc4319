#include "controller/run/run_machine.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/outcome.h"
#include "kernels/core/result.h"

namespace railgauge::run {

std::string_view name_of(RunState state) {
  switch (state) {
    case RunState::kPlanned:
      return "planned";
    case RunState::kRunning:
      return "running";
    case RunState::kCancelling:
      return "cancelling";
    case RunState::kEnded:
      return "ended";
  }
  return "ended";
}

RunMachine::RunMachine(std::vector<RunTaskSpec> tasks) {
  tasks_.reserve(tasks.size());
  for (RunTaskSpec& spec : tasks) {
    rounds_.push_back(spec.round);
    tasks_.push_back({.spec = std::move(spec)});
  }
  std::ranges::sort(rounds_);
  rounds_.erase(std::unique(rounds_.begin(), rounds_.end()), rounds_.end());
}

void RunMachine::start(RunActions& out) {
  RG_CHECK(state_ == RunState::kPlanned);
  state_ = RunState::kRunning;
  for (std::size_t i = 0; i < tasks_.size(); ++i)
    if (tasks_[i].spec.waived) skip(i, kWaived, tasks_[i].spec.reason, out);
  advance(out);
}

void RunMachine::end_task(Task& task, std::string outcome, std::string reason) {
  task.state = Task::State::kEnded;
  ++outcomes_[outcome];
  ++ended_;
  task.outcome = std::move(outcome);
  task.reason = std::move(reason);
}

void RunMachine::skip(std::size_t index, std::string_view outcome, std::string reason,
                      RunActions& out) {
  out.emplace_back(SkipTask{index, std::string(outcome), reason});
  end_task(tasks_[index], std::string(outcome), std::move(reason));
}

void RunMachine::task_ended(std::size_t index, std::string outcome, std::string reason,
                            RunActions& out) {
  RG_CHECK(index < tasks_.size() && tasks_[index].state == Task::State::kStarted);
  --started_;
  unverified_ = unverified_ || (tasks_[index].told_cancel && outcome == kCrashed);
  end_task(tasks_[index], std::move(outcome), std::move(reason));
  advance(out);
}

void RunMachine::advance(RunActions& out) {
  if (state_ == RunState::kEnded || started_ > 0) return;
  while (state_ == RunState::kRunning && started_ == 0 && next_round_ < rounds_.size()) {
    const std::uint32_t round = rounds_[next_round_++];
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (tasks_[i].spec.round != round || tasks_[i].state != Task::State::kWaiting) continue;
      tasks_[i].state = Task::State::kStarted;
      ++started_;
      out.emplace_back(StartTask{i});
    }
  }
  if (started_ == 0) finish(out);
}

void RunMachine::cancel(std::string reason, RunActions& out) {
  if (state_ == RunState::kEnded || state_ == RunState::kCancelling) return;
  state_ = RunState::kCancelling;
  cancel_reason_ = std::move(reason);
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (tasks_[i].state == Task::State::kWaiting) skip(i, kCancelledOutcome, cancel_reason_, out);
    if (tasks_[i].state != Task::State::kStarted) continue;
    tasks_[i].told_cancel = true;
    out.emplace_back(CancelTaskAction{i, cancel_reason_});
  }
  advance(out);
}

std::string RunMachine::worst_outcome() const {
  std::vector<int> codes;
  codes.reserve(outcomes_.size());
  for (const auto& [outcome, count] : outcomes_) codes.push_back(exit_code_of(outcome));
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

std::string RunMachine::reason_for(std::string_view outcome) const {
  if (tasks_.empty()) return "the plan holds no task, so nothing was measured";
  if (outcome == kCancelledOutcome && !cancel_reason_.empty()) return cancel_reason_;
  std::vector<std::pair<std::string, std::uint32_t>> reasons;
  for (const Task& task : tasks_) {
    if (task.outcome != outcome || task.reason.empty()) continue;
    const auto found =
        std::ranges::find(reasons, task.reason, &std::pair<std::string, std::uint32_t>::first);
    if (found != reasons.end())
      ++found->second;
    else
      reasons.emplace_back(task.reason, 1);
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(reasons.size(), kMaxReasons); ++i) {
    text += (i == 0 ? "" : "; ") + reasons[i].first;
    if (reasons[i].second > 1) text += fmt::format(" ({} tasks)", reasons[i].second);
  }
  if (reasons.size() > kMaxReasons)
    text += fmt::format("; and {} other reasons", reasons.size() - kMaxReasons);
  return text;
}

void RunMachine::finish(RunActions& out) {
  // A cancelled run whose runners could not be shown to be gone is not "cancelled" but crashed.
  std::string outcome = unverified_ ? std::string(kCrashed) : worst_outcome();
  std::string reason = outcome == kPassed ? "" : reason_for(outcome);
  state_ = RunState::kEnded;
  out.emplace_back(RunFinished{std::move(outcome), std::move(reason)});
}

}  // namespace railgauge::run

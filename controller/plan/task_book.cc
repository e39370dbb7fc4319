#include "controller/plan/task_book.h"

#include <algorithm>

namespace railgauge::plan {

RoundTasks TaskBook::round(std::size_t round) const {
  const auto found = std::ranges::find(kept_, round, &std::pair<std::size_t, RoundTasks>::first);
  if (found != kept_.end()) {
    std::rotate(found, found + 1, kept_.end());
    return kept_.back().second;
  }
  kept_.emplace_back(round,
                     std::make_shared<const std::vector<PlannedTask>>(outline_.tasks_of(round)));
  if (kept_.size() > kKeptRounds) kept_.pop_front();
  return kept_.back().second;
}

// The handle of a planned task keeps its whole round.
TaskHandle TaskBook::at(std::size_t index) const {
  if (index >= planned()) return added_.at(index - planned());
  const std::size_t number = outline_.round_of(index);
  const RoundTasks tasks = round(number);
  return {tasks, &tasks->at(index - outline_.first_of(number))};
}

std::size_t TaskBook::add(PlannedTask task) {
  added_.push_back(std::make_shared<const PlannedTask>(std::move(task)));
  return size() - 1;
}

}  // namespace railgauge::plan

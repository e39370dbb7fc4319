// The tasks of a run under way by their index: the planned ones are made when their round is asked
// for, the added ones are kept.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "controller/plan/planner.h"

namespace railgauge::plan {

// Tasks of one round; immutable, so that threads may share them.
using RoundTasks = std::shared_ptr<const std::vector<PlannedTask>>;
using TaskHandle = std::shared_ptr<const PlannedTask>;

// Keeps the rounds that were asked for last: a run under way works on one round, and on a few tasks
// that earlier rounds left over. Not thread safe; what it returns is.
class TaskBook {
 public:
  // Rounds that are kept beside those that others hold.
  static constexpr std::size_t kKeptRounds = 4;

  explicit TaskBook(PlanOutline outline) : outline_(std::move(outline)) {}

  // Returns the plan without its tasks.
  [[nodiscard]] const Plan& head() const { return outline_.head(); }
  [[nodiscard]] const PlanOutline& outline() const { return outline_; }
  // Returns the number of planned tasks; the indices of added ones begin there.
  [[nodiscard]] std::size_t planned() const { return outline_.tasks(); }
  [[nodiscard]] std::size_t size() const { return planned() + added_.size(); }
  // Returns the tasks of a round, from index outline().first_of(round) on.
  [[nodiscard]] RoundTasks round(std::size_t round) const;
  // Returns the task with that index, below size().
  [[nodiscard]] TaskHandle at(std::size_t index) const;
  // Adds a task and returns its index.
  std::size_t add(PlannedTask task);

 private:
  PlanOutline outline_;
  std::vector<TaskHandle> added_;
  // Those asked for last come last.
  mutable std::deque<std::pair<std::size_t, RoundTasks>> kept_;
};

}  // namespace railgauge::plan

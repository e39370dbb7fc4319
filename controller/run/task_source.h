// Where a run's tasks come from: round by round, so that only the tasks of the open round, and
// those that earlier rounds left over, are in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "controller/run/run_task.h"

namespace railgauge::run {

// A planned task with its index in the run.
struct IndexedTask {
  std::size_t index = 0;
  RunTaskSpec spec{};
};

// The facts of a round that need no tasks.
struct RoundHead {
  std::uint32_t stage = 0;  // of all its tasks
  std::uint32_t tasks = 0;
};

// The planned tasks of one run. Rounds count from 0. Equal calls give equal answers.
class TaskSource {
 public:
  virtual ~TaskSource() = default;
  [[nodiscard]] virtual std::uint32_t rounds() const = 0;
  // Returns the number of tasks in all rounds; their indices are below it.
  [[nodiscard]] virtual std::size_t tasks() const = 0;
  [[nodiscard]] virtual RoundHead head(std::uint32_t round) const = 0;
  // Makes the tasks of a round, by index.
  [[nodiscard]] virtual std::vector<IndexedTask> tasks_of(std::uint32_t round) const = 0;
  // Makes one task.
  [[nodiscard]] virtual RunTaskSpec task(std::size_t index) const = 0;
};

// Tasks that are given as a list. A task's index is its place in the list; rounds are numbered
// anew, without gaps. Immutable.
class ListedTasks final : public TaskSource {
 public:
  explicit ListedTasks(std::vector<RunTaskSpec> tasks);

  [[nodiscard]] std::uint32_t rounds() const override {
    return static_cast<std::uint32_t>(rounds_.size());
  }
  [[nodiscard]] std::size_t tasks() const override { return tasks_.size(); }
  [[nodiscard]] RoundHead head(std::uint32_t round) const override;
  [[nodiscard]] std::vector<IndexedTask> tasks_of(std::uint32_t round) const override;
  [[nodiscard]] RunTaskSpec task(std::size_t index) const override { return tasks_.at(index); }

 private:
  std::vector<RunTaskSpec> tasks_;
  std::vector<std::vector<std::size_t>> rounds_;
};

}  // namespace railgauge::run

#include "controller/run/task_source.h"

#include <map>
#include <utility>

namespace railgauge::run {

ListedTasks::ListedTasks(std::vector<RunTaskSpec> tasks) : tasks_(std::move(tasks)) {
  std::map<std::uint32_t, std::vector<std::size_t>> rounds;
  for (std::size_t i = 0; i < tasks_.size(); ++i) rounds[tasks_[i].round].push_back(i);
  for (auto& [number, members] : rounds) rounds_.push_back(std::move(members));
}

RoundHead ListedTasks::head(std::uint32_t round) const {
  const std::vector<std::size_t>& members = rounds_.at(round);
  return {.stage = tasks_[members.front()].stage,
          .tasks = static_cast<std::uint32_t>(members.size())};
}

std::vector<IndexedTask> ListedTasks::tasks_of(std::uint32_t round) const {
  std::vector<IndexedTask> tasks;
  for (const std::size_t index : rounds_.at(round)) tasks.push_back({index, tasks_[index]});
  return tasks;
}

}  // namespace railgauge::run

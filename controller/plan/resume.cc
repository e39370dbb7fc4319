// Going on with a run that was stopped. planner.h declares it.
#include <algorithm>
#include <utility>

#include "controller/plan/planner.h"

namespace railgauge::plan {

Plan without_finished(Plan plan, const std::set<std::string>& finished) {
  std::erase_if(plan.tasks, [&](const PlannedTask& task) { return finished.contains(task.id); });
  for (PlannedStage& stage : plan.stages) stage.rounds = 0, stage.tasks = 0;
  std::vector<PlannedRound> infos;
  plan.expected_seconds = 0;
  plan.expected_bytes = 0;
  std::size_t at = 0;
  for (std::uint32_t round = 0; round < plan.rounds; ++round) {
    PlannedRound info = plan.round_infos.at(round);
    info.tasks = 0;
    info.expected_seconds = 0;
    for (; at < plan.tasks.size() && plan.tasks[at].round == round; ++at) {
      PlannedTask& task = plan.tasks[at];
      task.round = static_cast<std::uint32_t>(infos.size());
      ++info.tasks;
      info.expected_seconds = std::max(info.expected_seconds, task.expected_seconds);
      plan.expected_bytes += task.expected_bytes;
    }
    if (info.tasks == 0) continue;
    plan.expected_seconds += info.expected_seconds;
    ++plan.stages[info.stage].rounds;
    plan.stages[info.stage].tasks += info.tasks;
    infos.push_back(info);
  }
  plan.rounds = static_cast<std::uint32_t>(infos.size());
  plan.round_infos = std::move(infos);
  return plan;
}

}  // namespace railgauge::plan

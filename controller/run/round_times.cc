#include "controller/run/round_times.h"

#include <algorithm>
#include <iterator>

namespace railgauge::run {

void RoundTimes::add(std::size_t first, std::span<const TimedTask> tasks) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const TimedTask& task = tasks[i];
    if (i + 1 == tasks.size() || tasks[i + 1].round != task.round) {
      ranges_[first + i] = {first + begin, task.round};
      begin = i + 1;
    }
    if (!(task.longest_seconds > 0)) continue;
    Round& round = rounds_[task.round];
    round.stage = task.stage;
    ++round.tasks;
    round.longest_seconds = std::max(round.longest_seconds, task.longest_seconds);
  }
}

RoundTimes::Rounds::iterator RoundTimes::find(std::size_t index) {
  const auto range = ranges_.lower_bound(index);
  if (range == ranges_.end() || index < range->second.first) return rounds_.end();
  return rounds_.find(range->second.round);
}

void RoundTimes::begun(std::size_t index, double now) {
  const auto round = find(index);
  if (round != rounds_.end() && round->second.began_at < 0) round->second.began_at = now;
}

void RoundTimes::ended(std::size_t index, bool passed, double now) {
  const auto found = find(index);
  if (found == rounds_.end() || !passed) return;
  // A task that the round no longer waited for ends beside later rounds.
  const auto next = std::next(found);
  if (next != rounds_.end() && next->second.began_at >= 0) return;
  ++found->second.passed;
  found->second.ended_at = now;
}

std::vector<StageSeconds> RoundTimes::stages() const {
  std::map<std::uint32_t, StageSeconds> stages;
  for (auto at = rounds_.begin(); at != rounds_.end(); ++at) {
    const Round& round = at->second;
    if (round.began_at < 0 || round.passed < kLeastPassed * round.tasks) continue;
    const auto next = std::next(at);
    double seconds = round.ended_at - round.began_at;
    if (next != rounds_.end() && next->second.began_at >= 0)
      seconds += std::clamp(next->second.began_at - round.ended_at, 0.0, most_gap_);
    StageSeconds& stage = stages[round.stage];
    stage.stage = round.stage;
    ++stage.rounds;
    stage.longest_seconds += round.longest_seconds;
    stage.seconds += seconds;
  }
  std::vector<StageSeconds> out;
  for (const auto& [ignored, stage] : stages) out.push_back(stage);
  return out;
}

}  // namespace railgauge::run

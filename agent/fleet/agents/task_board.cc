#include "agent/fleet/agents/task_board.h"

#include <fmt/format.h>

#include "agent/fleet/model/keyed_random.h"

namespace railgauge::fleet {

void TaskBoard::prepare(const api::PrepareTask& prepare, const Endpoint& endpoint) {
  Entry& entry = entries_[key_of(prepare.task())];
  entry.size = prepare.size();
  entry.ranks[prepare.task().rank()] = endpoint;
  // The parameters of rank 0 are those of the task; the others differ in their
  // own choices alone.
  if (prepare.task().rank() != 0 && !entry.task.kernel.empty()) return;
  entry.task.kernel = prepare.kernel();
  entry.task.parameters = {prepare.parameters().begin(), prepare.parameters().end()};
  entry.task.raw_samples = prepare.raw_samples();
}

void TaskBoard::set_calendar(Nanoseconds jumped_to_ns) {
  calendar_ns_ = jumped_to_ns;
  runs_.clear();
}

// Runs get their times one after the other, in the order of their first task. The tasks of a run
// are spread over its time by their names.
Nanoseconds TaskBoard::time_of(const api::TaskRef& task, Nanoseconds time_ns) {
  constexpr Nanoseconds kRunNs = 600'000'000'000;
  if (!calendar_ns_) return time_ns;
  const auto run =
      runs_.try_emplace(task.run_id(), static_cast<std::int64_t>(runs_.size())).first->second;
  const double share = DrawKey(fabric_->scenario().seed)
                           .with("time")
                           .with(task.task_id())
                           .with(std::uint64_t{task.attempt()})
                           .uniform();
  return *calendar_ns_ + run * kRunNs +
         static_cast<Nanoseconds>(share * static_cast<double>(kRunNs));
}

std::shared_ptr<const BoardTask> TaskBoard::run(const api::TaskRef& task, Nanoseconds time_ns) {
  const auto found = entries_.find(key_of(task));
  RG_CHECK(found != entries_.end());
  Entry& entry = found->second;
  if (entry.done) return entry.done;
  auto done = std::make_shared<BoardTask>();
  done->task = entry.task;
  done->task.time_ns = time_of(task, time_ns);
  for (const auto& [rank, endpoint] : entry.ranks) done->task.ranks.push_back(endpoint);
  if (entry.ranks.size() == entry.size) {
    done->result = fabric_->run(done->task);
  } else {
    done->task.ranks.resize(entry.size);
    done->result.outcome = "waived";
    done->result.reason =
        fmt::format("{} of {} ranks are on modelled nodes; a task needs all of them there",
                    entry.ranks.size(), entry.size);
  }
  entry.done = std::move(done);
  return entry.done;
}

void TaskBoard::end(const api::TaskRef& task) {
  const auto found = entries_.find(key_of(task));
  if (found != entries_.end() && ++found->second.ended >= found->second.ranks.size())
    entries_.erase(found);
}

}  // namespace railgauge::fleet

// The tasks that modelled agents of one process prepared: each agent knows its own rank, and a
// figure needs all of them. A task is run once, at the first rank's start. Not thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "agent/fleet/model/modelled_fabric.h"
#include "controller/api/agent.pb.h"

namespace railgauge::fleet {

// A task with its result.
struct BoardTask {
  ModelledTask task{};
  ModelledResult result{};
};

class TaskBoard {
 public:
  explicit TaskBoard(const ModelledFabric& fabric) : fabric_(&fabric) {}
  [[nodiscard]] const ModelledFabric& fabric() const { return *fabric_; }

  // Notes the rank of `prepare` on a node.
  void prepare(const api::PrepareTask& prepare, const Endpoint& endpoint);
  // Runs the task at `time_ns`, or returns what an earlier call of another rank made. A task of
  // which a rank is on no modelled node is waived. CHECKs that the task was prepared.
  std::shared_ptr<const BoardTask> run(const api::TaskRef& task, Nanoseconds time_ns);
  // Under a simulated clock figures are those of times that follow from the clock's last jump, run
  // by run and task by task, and not from the moments at which messages come: so the same seed
  // gives the same figures.
  void set_calendar(Nanoseconds jumped_to_ns);
  // Forgets a rank; the task is forgotten with the last one.
  void end(const api::TaskRef& task);
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  using Key = std::tuple<std::string, std::string, std::uint32_t>;
  struct Entry {
    ModelledTask task{};
    std::map<std::uint32_t, Endpoint> ranks{};
    std::uint32_t size = 0;
    std::uint32_t ended = 0;
    std::shared_ptr<const BoardTask> done{};
  };
  static Key key_of(const api::TaskRef& task) {
    return {task.run_id(), task.task_id(), task.attempt()};
  }

  Nanoseconds time_of(const api::TaskRef& task, Nanoseconds time_ns);

  const ModelledFabric* fabric_;
  std::optional<Nanoseconds> calendar_ns_;
  std::map<std::string, std::int64_t> runs_;  // since calendar_ns_, by id: their numbers from 0
  std::map<Key, Entry> entries_;
};

}  // namespace railgauge::fleet

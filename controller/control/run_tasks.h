// Converts a plan and the state of the fleet into the input of the round engine, and the engine's
// state into the progress that people see.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "controller/api/control.pb.h"
#include "controller/fleet/fleet.h"
#include "controller/plan/planner.h"
#include "controller/plan/task_book.h"
#include "controller/run/round_times.h"
#include "controller/run/run_forecast.h"
#include "controller/run/run_machine.h"
#include "controller/run/run_queue.h"
#include "controller/run/task_source.h"
#include "controller/run/uplink_ledger.h"
#include "controller/store/store.h"

namespace railgauge::run {

// One entry for each task, in their order. The load of a task, in bits per second, is the sum of
// its ports' rates, halved for a pair; a port of unknown rate counts as zero. Ranks without a NIC
// port (NCCL, MPI) over several nodes count all active ports of their nodes, once a node.
std::vector<RunTaskSpec> run_tasks_of(std::span<const plan::PlannedTask> tasks,
                                      const std::map<std::string, fleet::NodeState>& nodes);

// The tasks of a plan as the round engine asks for them. Not thread safe.
class PlannedTasks final : public TaskSource {
 public:
  // Returns the present nodes of the fleet.
  using Nodes = std::function<const std::map<std::string, fleet::NodeState>&()>;

  // The book outlives it.
  PlannedTasks(const plan::TaskBook& book, Nodes nodes) : book_(book), nodes_(std::move(nodes)) {}

  [[nodiscard]] std::uint32_t rounds() const override { return book_.head().rounds; }
  [[nodiscard]] std::size_t tasks() const override { return book_.planned(); }
  [[nodiscard]] RoundHead head(std::uint32_t round) const override;
  [[nodiscard]] std::vector<IndexedTask> tasks_of(std::uint32_t round) const override;
  [[nodiscard]] RunTaskSpec task(std::size_t index) const override;

 private:
  const plan::TaskBook& book_;
  const Nodes nodes_;
};

// The rate of each leaf's links to other switches. A link counts as fast as the fastest port of the
// leaf's nodes. A leaf whose links the topology does not list is absent.
LeafUplinks uplinks_of(const plan::Topology& topology,
                       const std::map<std::string, fleet::NodeState>& nodes);
// The rounds of the plan for the forecast.
std::vector<ForecastTask> forecast_rounds(const plan::Plan& plan);
// The tasks of a round for the times of rounds.
std::vector<TimedTask> timed_tasks(std::span<const plan::PlannedTask> tasks);
// The tasks of the plan's stages as they are stored before any round begins.
std::vector<store::TaskRestRow> task_rest_of(const plan::Plan& plan);
// The times of the plan's stages as they are stored.
std::vector<store::StageTimeRow> stage_times(const plan::Plan& plan,
                                             std::span<const StageSeconds> stages);
// The reason of a run that resumes run `run_id`.
std::string resumed_text(const std::string& run_id);
// The causes of a run's wait as people see them: "run 20261127-010000-a1b2c3 on node[003-004]".
// Several are separated by "; ".
std::string text_of(std::span<const RunWait> waits);
// Likewise for uplinks that other runs load: leaves by run.
std::string text_of(const std::map<std::string, std::set<std::string>>& uplink_waits);
// Writes rounds, failures, leftovers and seconds left into `progress`.
void show_progress(const RunMachine& machine, const RunForecast& forecast,
                   api::RunProgress& progress);

}  // namespace railgauge::run

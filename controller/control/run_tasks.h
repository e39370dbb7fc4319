// From a plan and what the fleet knows to what the round engine wants, and back to what people see.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "controller/api/control.pb.h"
#include "controller/fleet/fleet.h"
#include "controller/plan/planner.h"
#include "controller/run/run_forecast.h"
#include "controller/run/run_machine.h"

namespace railgauge::run {

// In the plan's order. A task's load is what its ports can send together, halved for a pair; ports
// of unknown rate load nothing. Ranks without a NIC port (NCCL, MPI) over several nodes load all
// that their nodes' active ports can send, once a node.
std::vector<RunTaskSpec> run_tasks_of(const plan::Plan& plan,
                                      const std::map<std::string, fleet::NodeState>& nodes);
// A leaf's links to other switches, each taken to be as fast as the fastest port of its nodes.
// Leaves of which the topology tells no links are not in it.
LeafUplinks uplinks_of(const plan::Topology& topology,
                       const std::map<std::string, fleet::NodeState>& nodes);
std::vector<ForecastTask> forecast_tasks(const plan::Plan& plan);
// Why a run exists that measures what another left.
std::string rest_text(const std::string& run_id);
void show_progress(const RunMachine& machine, const RunForecast& forecast,
                   api::RunProgress& progress);

}  // namespace railgauge::run

// A task of the modelled fabric, prepared: its places, flows and parameters, and what the scenario
// does to it. Pure; thread safe.
#pragma once

#include <string>
#include <vector>

#include "agent/fleet/model/crossing.h"
#include "agent/fleet/model/modelled_fabric.h"

namespace railgauge::fleet {

// Values of the parameters that change a modelled figure.
struct TaskOptions {
  bool gpu_memory = false;
  // Both directions at once.
  bool both = false;
  bool under_load = false;
  std::uint32_t root = 0;
  // 0: a kernel without sizes.
  std::vector<std::uint64_t> sizes{};
  double iterations = 0;
  double min_samples = 0;
  double time_cap_ns = 2e9;
  // Time for which a rate is measured; 0: the time cap.
  double measure_ns = 0;
};

struct PreparedTask {
  const KernelShape* shape = nullptr;
  TaskOptions options{};
  std::vector<Place> places{};
  std::vector<Flow> flows{};
  // Its two flows are opposite ways.
  bool there_and_back = false;
  // The name of the series, without the size.
  DrawKey series{0};
};

// kWaived where the model has no such kernel, or a node no such endpoint.
Result<PreparedTask> prepare(const Scenario& scenario, const ModelledTask& task);

// The sum of all harm to one task.
struct TaskHarm {
  // Share of the bandwidth that is left.
  double left = 1;
  double adds_ns = 0;
  double loss = 0;
  double stall_ns = 0;
  double stall_every_ns = 0;
  // Why the task fails; "": it does not.
  std::string down{};
  // A fault that loses packets acts on the task's flows.
  bool is_lossy = false;
};
TaskHarm harm_to(const Scenario& scenario, const ModelledTask& task, const PreparedTask& prepared);

// The function that the task needs and some rank lacks; nullptr for none.
const LostFunction* lost_function(const Scenario& scenario, const ModelledTask& task,
                                  const PreparedTask& prepared);

}  // namespace railgauge::fleet

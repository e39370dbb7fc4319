// The modelled fabric: what a task of a kernel on some endpoints would report at a time of a
// scenario. Every random number is drawn by its name (seed, series, time), so that the same seed
// gives the same answers bit for bit, whatever the order of the questions. Pure: time is an
// argument. Thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/fleet/model/crossing.h"
#include "agent/fleet/model/keyed_random.h"
#include "agent/fleet/scenario/kernel_shapes.h"
#include "agent/fleet/scenario/scenario.h"
#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"
#include "kernels/core/counters.h"

namespace railgauge::fleet {

// The endpoint of one rank, as the controller names it. -1: the kernel's own choice.
struct Endpoint {
  std::uint32_t node = 0;
  std::int32_t nic = -1;
  std::int32_t gpu = -1;
};

// A task, started on all ranks.
struct ModelledTask {
  std::string kernel{};
  // Given ones; those that the model knows nothing of change nothing.
  std::map<std::string, std::string> parameters{};
  // In rank order.
  std::vector<Endpoint> ranks{};
  Nanoseconds time_ns = 0;
  bool raw_samples = false;
};

// The task's report. Rank 0 reports the points.
struct ModelledResult {
  // An outcome of Final, with its reason.
  std::string outcome = "passed";
  std::string reason{};
  // Synthetic, each of them.
  std::vector<Point> points{};
  // For Started, beside those of the placement.
  std::map<std::string, std::string> facts{};
  // Growth of the ports' trouble counters during the task, by rank.
  std::vector<Counters> counters{};
  double measure_ns = 0;
};

class ModelledFabric {
 public:
  explicit ModelledFabric(Scenario scenario) : scenario_(std::move(scenario)) {}
  [[nodiscard]] const Scenario& scenario() const { return scenario_; }

  // A kernel that the model has no shape of, and an endpoint that a node lacks, are `waived`. A
  // rank on a node that is not in the scenario is a programmer's error.
  [[nodiscard]] ModelledResult run(const ModelledTask& task) const;

 private:
  Scenario scenario_;
};

// The endpoint "mlx5_3:1", "mlx5_3:1+gpu2" or "gpu2" of a node, or "" for none.
// kInvalidArgument: another text.
Result<Endpoint> parse_endpoint(std::uint32_t node, std::string_view text);
// Names of devices, as the inventory has them: "mlx5_3", "gpu2".
std::string nic_name(std::uint32_t nic);
std::string gpu_name(std::uint32_t gpu);

}  // namespace railgauge::fleet

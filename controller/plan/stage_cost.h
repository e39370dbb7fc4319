// What tasks of a stage cost in time and traffic; the rule stands at expected_cost() in planner.h.
// Pure.
#pragma once

#include <cstddef>

#include "controller/plan/planner.h"
#include "kernels/core/params.h"

namespace railgauge::plan {

// The parameter of that name and type; nullptr when the kernel has none.
const ParameterInfo* find_parameter(const KernelInfo& kernel, std::string_view name,
                                    std::string_view type);
bool measures_bandwidth(const KernelInfo& kernel);

// Read off a stage's parameters once, asked for each of its tasks.
class StageCost {
 public:
  StageCost(const KernelInfo& kernel, const Params& params);
  [[nodiscard]] TaskCost of(double rate_bits_per_second, std::size_t node_gpus) const;

 private:
  double seconds_per_point_ = 0;  // all sizes, one pair of GPUs where there are several
  double bytes_per_point_ = 0;
  bool by_rate_ = false;        // bytes by the port's rate and the time
  bool by_node_gpus_ = false;   // every ordered pair of the node's GPUs is a point
  std::size_t named_gpus_ = 1;  // where the stage names them
};

}  // namespace railgauge::plan

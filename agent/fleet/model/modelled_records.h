// The records of a modelled task, as a runner would write them. Pure; thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/fleet/model/modelled_fabric.h"
#include "kernels/core/base/record.pb.h"

namespace railgauge::fleet {

// The part of the records that the agent of one rank knows.
struct RankForm {
  // Run, task, attempt and rank; the sequence counts from 0.
  RecordKey key{};
  // The node's clock at the task's start.
  double unix_time_seconds = 0;
  std::uint32_t revision = 1;
  // "DEV:PORT", as the task names it.
  std::string endpoint{};
};

// Returns the records of one rank in order: Started, rank 0's points, a note where port counters
// grew, Final. A task that is waived has Final alone.
std::vector<Record> records_of(const ModelledTask& task, const ModelledResult& result,
                               const RankForm& form);

}  // namespace railgauge::fleet

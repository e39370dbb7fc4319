// Selects each rank's payloads of a complete rendezvous step. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge {

// Most payloads in a brief answer beside rank 0's: the loudest, and among equally loud ones the
// lowest ranks.
inline constexpr std::size_t kMostHeardAloud = 8;

// Both answers to one step; each rank receives the kind that it asked for.
struct StepAnswers {
  // Every rank's payload.
  GroupStep full;
  // For ranks that asked for a brief answer.
  GroupStep brief;
};

// Builds the answers to step `step`. `said` has every rank's message for the step, in rank order.
StepAnswers answers_of(std::uint32_t step, std::vector<GroupStep> said);

// Returns an answer's payloads for a group of `size` ranks, in rank order; "" for ranks without
// one. kInternal when the answer is for another step or names a rank beyond `size`.
Result<std::vector<std::string>> payloads_of(GroupStep answer, std::uint32_t step,
                                             std::uint32_t size);

}  // namespace railgauge

// The recipients of each payload of a complete rendezvous step. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge {

// Payloads in a brief answer beside rank 0's: the loudest ones; among equally loud ones the first
// by rank.
inline constexpr std::size_t kMostHeardAloud = 8;

// Both answers to one step; each rank gets the kind that it asked for.
struct StepAnswers {
  // Everybody's payload.
  GroupStep full;
  // For ranks that asked for a brief answer.
  GroupStep brief;
};

// The answers to step number `step`. `said` is what the ranks sent for it, in rank order.
StepAnswers answers_of(std::uint32_t step, std::vector<GroupStep> said);

// The payloads of an answer for a group of `size` ranks, in rank order, empty where it has none.
// kInternal when it answers another step or names a rank beyond `size`.
Result<std::vector<std::string>> payloads_of(GroupStep answer, std::uint32_t step,
                                             std::uint32_t size);

}  // namespace railgauge

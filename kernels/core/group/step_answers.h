// Who hears what of a complete rendezvous step. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge {

// A brief answer has rank 0's payload and so many of those that were said aloud: the loudest, of
// equally loud ones the first by rank.
inline constexpr std::size_t kMostHeardAloud = 8;

struct StepAnswers {
  GroupStep full;   // everybody's payload
  GroupStep brief;  // for ranks that asked so
};

// `said` is what the ranks sent for one step, in rank order.
StepAnswers answers_of(std::uint32_t step, std::vector<GroupStep> said);

// An answer's payloads for a group of `size` ranks, in rank order, empty where it has none.
// kInternal when it is none to `step`.
Result<std::vector<std::string>> payloads_of(GroupStep answer, std::uint32_t step,
                                             std::uint32_t size);

}  // namespace railgauge

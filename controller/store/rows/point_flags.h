// Bits that the store keeps of a point.
#pragma once

#include <cstdint>

namespace railgauge::store {

// Stored in point.flags.
inline constexpr std::int64_t kFlagConverged = 1;
inline constexpr std::int64_t kFlagSynthetic = 2;
inline constexpr std::int64_t kFlagVerified = 4;
inline constexpr std::int64_t kFlagThrottled = 8;
inline constexpr std::int64_t kFlagArrival = 16;  // its time is that of arrival
inline constexpr std::int64_t kFlagBrief = 32;    // a rate of less than kLeastJudgedNs

// A rate that was measured for less time is stored and shown, and not judged: a short look may miss
// each pause of a stream. Kernels measure a size for 2 s (their least_time); batches end a little
// earlier or later.
inline constexpr double kLeastJudgedNs = 1.9e9;

}  // namespace railgauge::store

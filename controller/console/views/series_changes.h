// The changes of one series for the console. Pure.
#pragma once

#include "controller/api/archive.pb.h"
#include "controller/api/console.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::console {

// Points that the detector looks at: its cost grows with their square.
inline constexpr int kMostSearched = 2'000;

// Finds the changes of the headlines of `history`. kInvalidArgument: more than kMostSearched
// points, or a delta outside of [0, 1).
Result<api::SeriesChanges> changes_of(const api::History& history,
                                      const api::SeriesChangesRequest& request);

}  // namespace railgauge::console

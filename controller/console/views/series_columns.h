// The points of one series as columns, for a chart of many points. Pure.
#pragma once

#include <cstdint>

#include "controller/api/archive.pb.h"
#include "controller/api/console.pb.h"

namespace railgauge::console {

// The most points of one answer: some 3 MB of text.
inline constexpr std::uint32_t kMostColumnPoints = 100'000;

// Figures are floats: a chart has fewer places than they.
api::SeriesColumns columns_of(api::History history);

}  // namespace railgauge::console

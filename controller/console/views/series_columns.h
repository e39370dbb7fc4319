// The points of one series as columns, for a chart of many points. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "controller/api/archive.pb.h"
#include "controller/api/console.pb.h"

namespace railgauge::console {

// The most points of one answer: some 3 MB of text.
inline constexpr std::uint32_t kMostColumnPoints = 100'000;

// Figures are floats: a chart has fewer places than they.
api::SeriesColumns columns_of(api::History history);

// When the last point was measured, milliseconds since 1970, and its run.
std::pair<double, std::string> end_of(const api::SeriesColumns& columns);

}  // namespace railgauge::console

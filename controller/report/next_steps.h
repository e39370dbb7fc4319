// The steps that a report advises. Pure.
#pragma once

#include <cstddef>
#include <span>

#include "controller/api/judge.pb.h"
#include "controller/api/site.pb.h"

namespace railgauge::report {

// Most steps about what is broken or waits. They come first; the steps that findings advise follow.
inline constexpr std::size_t kMostUrgentSteps = 18;

// Adds the steps to `report`, the most urgent first: an event of each kind of finding, lost nodes,
// suspects, upgrades, failed runs, missed schedules and what fails of the installation, then
// further events, each kind of thing in few lines that count the rest. The last are what the
// findings themselves advise.
void add_next(std::span<const api::Finding> findings, api::SiteReport& report);

}  // namespace railgauge::report

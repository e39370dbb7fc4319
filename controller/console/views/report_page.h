// The site's report as the console shows it. Pure.
#pragma once

#include "controller/api/console.pb.h"
#include "controller/api/site.pb.h"

namespace railgauge::console {

// Entries of a section; the rest is counted.
inline constexpr std::size_t kEntriesOfReport = 40;

// The report in sections, and as Markdown to paste elsewhere.
api::ReportPage page_of_report(const api::SiteReport& report);

}  // namespace railgauge::console

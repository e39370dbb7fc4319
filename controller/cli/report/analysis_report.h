// The report of `analyze`: the detector applied to series from files. No controller is asked.
#pragma once

#include <optional>
#include <string>

#include "controller/cli/input/series_file.h"
#include "controller/cli/render/report.pb.h"
#include "controller/stats/metric_traits.h"

namespace railgauge::cli {

// The detector's result for one file. With a direction each change says whether it is worse. Pure.
AnalysedSeries analyse_series(const std::string& name, const SeriesFile& file,
                              std::optional<analysis::Better> better);

// The same for people.
std::string analysis_text(const AnalysedSeries& series, bool colour);

}  // namespace railgauge::cli

// What `analyze` says: the detector on series from outside. No controller is asked.
#pragma once

#include <optional>
#include <string>

#include "controller/cli/input/series_file.h"
#include "controller/cli/render/report.pb.h"
#include "controller/stats/metric_traits.h"

namespace railgauge::cli {

// What the detector says about one file. With a direction each change says whether it is worse.
AnalysedSeries analyse_series(const std::string& name, const SeriesFile& file,
                              std::optional<analysis::Better> better);

// The same for people.
std::string analysis_text(const AnalysedSeries& series, bool colour);

}  // namespace railgauge::cli

#include "controller/upgrades/series_measure.h"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace railgauge {

// Parameters that select another path through the hardware are part of the name; the others
// separate series only.
std::string metric_text(const store::SeriesRow& series, const std::string& statistic) {
  std::string text = fmt::format("{} {}", series.kernel, series.metric);
  if (!statistic.empty()) text += " " + statistic;
  if (series.message_bytes > 0) text += fmt::format(" {:.0f} B", series.message_bytes);
  for (const char* name : {"memory", "target_memory", "op", "algo", "proto", "gpu"})
    if (const auto found = series.parameters.find(name); found != series.parameters.end())
      text += fmt::format(" {} {}", name, found->second);
  return text;
}

// The size is cleared, because the knee is of all sizes.
std::string knee_text(store::SeriesRow series) {
  series.message_bytes = 0;
  return metric_text(series, "") + " knee of the size curve";
}

// The revision, the endpoints and all parameters but the sizes separate curves.
std::string curve_text(const store::SeriesRow& series) {
  std::string parameters;
  for (const auto& [name, value] : series.parameters)
    if (name != "sizes") parameters += fmt::format(" {}={}", name, value);
  return fmt::format("{} rev {} {}{}", knee_text(series), series.revision,
                     fmt::join(series.endpoints, " "), parameters);
}

analysis::MetricTraits traits_of(const store::SeriesRow& series) {
  return analysis::traits_of(series.unit, series.larger_is_better, "");
}

// The ratio is taken as a logarithm, so that a loss and its recovery are symmetric.
double worse_by(const store::SeriesRow& series, double before, double after) {
  if (!(before > 0) || !(after > 0)) return 0;
  const analysis::Better better = traits_of(series).better;
  return analysis::worse_fraction(better, analysis::oriented(better, std::log(after / before)));
}

std::string node_of(const std::string& endpoint) { return endpoint.substr(0, endpoint.find('/')); }

std::set<std::string> nodes_of(const store::SeriesRow& series) {
  std::set<std::string> nodes;
  for (const std::string& endpoint : series.endpoints) nodes.insert(node_of(endpoint));
  return nodes;
}

}  // namespace railgauge

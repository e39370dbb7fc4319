#include "controller/findings/run/run_moved.h"

#include <algorithm>
#include <cmath>

namespace railgauge {
namespace {

constexpr std::size_t kLeastReturned = 5;  // runs that tell a level
constexpr std::size_t kMostReturned = 20;  // the newest of them

}  // namespace

analysis::MetricTraits traits_of(const store::SeriesRow& series) {
  return analysis::traits_of(series.unit, series.larger_is_better, "median");
}

double upper_median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::set<std::string> nodes_of(const store::SeriesRow& series) {
  std::set<std::string> nodes;
  for (const std::string& text : series.endpoints) nodes.insert(text.substr(0, text.find('/')));
  return nodes;
}

double worse_by(const store::SeriesRow& series, double before, double after) {
  if (!(before > 0) || !(after > 0)) return 0;
  const auto better = traits_of(series).better;
  return analysis::worse_fraction(better, analysis::oriented(better, std::log(after / before)));
}

std::optional<Returned> returned_to(const SeriesRuns& one) {
  const std::vector<bool>& present = one.present_stack;
  if (present.size() != one.values.size()) return std::nullopt;
  std::size_t at = present.size();
  while (at > 0 && present[at - 1]) --at;
  Returned out{.since = at};
  while (at > 0 && !present[at - 1]) --at;
  std::vector<double> then;
  for (; at > 0 && present[at - 1] && then.size() < kMostReturned; --at)
    then.push_back(one.values[at - 1]);
  if (then.size() < kLeastReturned) return std::nullopt;
  out.level = upper_median(std::move(then));
  return out;
}

}  // namespace railgauge

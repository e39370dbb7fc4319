// A series as both judges, of nightly runs and of upgrades, name it, compare its levels and find
// its nodes. Pure; thread safe.
#pragma once

#include <set>
#include <string>

#include "controller/stats/metric_traits.h"
#include "controller/store/rows/rows.h"

namespace railgauge {

// The measurement of a series without its place: "verbs.write_lat latency_ns 8 B". `statistic`
// follows the metric; "" for none.
std::string metric_text(const store::SeriesRow& series, const std::string& statistic);

// "verbs.write_bw bandwidth knee of the size curve", from any series of the curve.
std::string knee_text(store::SeriesRow series);

// The identity of a series without its message size: the points of one curve share it.
std::string curve_text(const store::SeriesRow& series);

// The unit, direction and practical bound of the series' headline.
analysis::MetricTraits traits_of(const store::SeriesRow& series);

// By how much `after` is worse than `before`, a fraction of `before`; 0 where one of them is no
// level, negative for an improvement.
double worse_by(const store::SeriesRow& series, double before, double after);

// The node of "n1/mlx5_0:1": "n1".
std::string node_of(const std::string& endpoint);

// The nodes of the series' endpoints.
std::set<std::string> nodes_of(const store::SeriesRow& series);

}  // namespace railgauge

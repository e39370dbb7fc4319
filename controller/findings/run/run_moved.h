// A series that moved, and what finding such series by several tests needs. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/findings/run/run_changes.h"
#include "controller/stats/metric_traits.h"

namespace railgauge {

struct Moved {
  const SeriesRuns* runs = nullptr;
  std::string kind{};
  double before = 0;
  double after = 0;
  double worse = 0;
  double p = 1;
  std::string detail{};
};

inline constexpr double kOwnProof = 1e-4;  // of classes that have a test of their own

analysis::MetricTraits traits_of(const store::SeriesRow& series);

// The upper one of two; 0 for none.
double upper_median(std::vector<double> values);

// The nodes of the series' endpoints.
std::set<std::string> nodes_of(const store::SeriesRow& series);

// The level of a series from an earlier time when its nodes had the stack that they have again.
struct Returned {
  std::size_t since = 0;  // the first run with it again
  double level = 0;
};
// Absent where the stack never was another, is new, or had too few runs then.
std::optional<Returned> returned_to(const SeriesRuns& one);

// Adds series that became slow compared with their peers. Of a node that fell behind, all of its
// series are added. `members` are peers of each other; `moved` has the ids of series that are
// reported already.
void add_peers(const std::vector<const SeriesRuns*>& members, const std::set<std::int64_t>& moved,
               std::vector<Moved>& out);

}  // namespace railgauge

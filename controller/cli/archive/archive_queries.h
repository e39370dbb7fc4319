// Questions to an archive as SQL with values. Pure; thread safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/mirror/pq/connection.h"

namespace railgauge::cli {

// A statement and its values.
struct ArchiveQuery {
  std::string sql{};
  pq::Values values{};
};

// Filters of points and series; "" and absent match any. Times are unix seconds.
struct ArchiveFilter {
  std::string site{};
  std::string run_id{};  // "": of each site the newest run that ended
  std::string kernel{};
  std::string metric{};
  std::vector<std::string> nodes{};  // by their present names
  std::optional<double> message_bytes{};
  std::optional<double> rail{};
  std::optional<double> series{};
  std::optional<double> since{};
  std::optional<double> until{};
  std::string state{};  // of findings; "": those that are not closed
  bool all_attempts = false;
  std::uint32_t limit = 1'000;
};

// Each returns at most limit + 1 rows: one more shows that there are more.
ArchiveQuery results_query(const ArchiveFilter& filter);
ArchiveQuery series_query(const ArchiveFilter& filter);
// The points of one series, oldest first.
ArchiveQuery history_query(const ArchiveFilter& filter);
ArchiveQuery findings_query(const ArchiveFilter& filter);
ArchiveQuery runs_query(const ArchiveFilter& filter);
// The sites that have the series.
ArchiveQuery sites_of_series(const ArchiveFilter& filter);
// Matrices that the filter selects, the best first: bandwidth before latency, then most endpoints,
// then the largest size.
ArchiveQuery matrices_query(const ArchiveFilter& filter);
// A person's SELECT, which may not have more than one statement.
ArchiveQuery person_query(std::string sql, std::uint32_t limit);

}  // namespace railgauge::cli

// Reading. Each function runs in one read transaction of the connection, which sees one snapshot.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "controller/store/rows.h"
#include "controller/store/sqlite.h"
#include "kernels/core/record.pb.h"
#include "kernels/core/result.h"

namespace railgauge::store {

// A point's key as people and records name it.
struct PointKey {
  std::string_view run_id;
  std::string_view task_id;
  std::uint32_t attempt = 0;
  std::uint32_t rank = 0;
  std::uint32_t sequence = 0;
};

Result<std::vector<RunSummaryRow>> read_runs(Connection& connection, std::uint32_t limit);
Result<RunSummaryRow> read_run(Connection& connection, std::string_view run_id);
Result<RunDetailRow> read_run_detail(Connection& connection, std::string_view run_id);
Result<std::vector<ResultRow>> read_results(Connection& connection, const ResultsFilter& filter);
Result<Histogram> read_histogram(Connection& connection, const PointKey& key);
Result<std::vector<double>> read_samples(Connection& connection, const PointKey& key);
Result<std::vector<NodeRow>> read_nodes(Connection& connection);
Result<std::vector<EventRow>> read_events(Connection& connection, std::uint32_t limit);

}  // namespace railgauge::store

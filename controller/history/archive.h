// Reads stored results for clients: each function answers one rpc of archive.proto. Plain values in
// and out, no gRPC. Called on worker threads.
#pragma once

#include <functional>
#include <utility>

#include "controller/api/archive.pb.h"
#include "controller/fleet/leaf_map.h"
#include "controller/store/store.h"

namespace railgauge {

// Whether the caller is gone; empty: never. Asked now and then by what takes long.
using Cancelled = std::function<bool()>;

// The position of an export.
struct ExportCursor {
  store::ResultsFilter filter{};
  std::int64_t through = 0;  // the last key that belongs to it
  // Where a filter leaves few: these one after the other, each by its index.
  std::optional<std::vector<std::int64_t>> series{};
  std::size_t at = 0;      // of them
  std::int64_t first = 0;  // the key behind which each begins
};

class Archive {
 public:
  // A page of an export looks at points of so many ranks at most: with a filter that matches few it
  // would else read for as long as the table is large.
  static constexpr std::int64_t kExportRanks = 20'000;
  // An export of so many series at most reads those alone, not along the table.
  static constexpr std::size_t kFewSeries = 20'000;

  // `retention`: what a pruning without figures of its own takes. `leaves`: for matrices and
  // suspects.
  explicit Archive(store::Store& store, store::Retention retention = {},
                   std::int64_t export_ranks = kExportRanks, LeafSource leaves = {})
      : store_(store),
        retention_(retention),
        export_ranks_(export_ranks),
        leaves_(std::move(leaves)) {}

  Result<api::ResultList> find_points(const api::PointsRequest& request);
  // Fixes which run and points it has: what arrives or ends meanwhile does not mix in.
  Result<ExportCursor> begin_export(const api::PointsRequest& request);
  // The next points, by series and key where few series are chosen, else by key; an empty list is
  // the end.
  Result<api::ResultList> next_points(ExportCursor& cursor, const Cancelled& cancelled = {});
  Result<api::SeriesList> list_series(const api::PointsRequest& request);
  Result<api::History> get_history(const api::HistoryRequest& request);
  Result<api::Comparison> compare_runs(const api::CompareRequest& request);
  Result<api::SqlTable> run_sql(const api::SqlRequest& request, const Cancelled& cancelled = {});
  Result<api::TaskPage> get_tasks(const api::TasksRequest& request);
  Result<api::BundlePart> get_bundle_part(const api::BundleRequest& request);
  Result<api::Space> get_space(const api::SpaceRequest& request);
  Result<api::DatabaseCheck> check_database(const api::CheckRequest& request);
  Result<api::BackUpReport> back_up(const api::BackUpRequest& request);
  Result<api::PruneReport> prune(const api::PruneRequest& request);
  Result<api::PairMatrix> get_matrix(const api::PairsRequest& request);
  Result<api::SuspectList> get_suspects(const api::PairsRequest& request);

 private:
  Status add_leaves(api::SqlTable& table);
  Result<store::ResultsFilter> filter_of(const api::PointsRequest& request);
  Status read_range(ExportCursor& cursor, std::int64_t window, api::ResultList& list);

  store::Store& store_;
  const store::Retention retention_;
  const std::int64_t export_ranks_;
  const LeafSource leaves_;
};

}  // namespace railgauge

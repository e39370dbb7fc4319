// What people's tools may ask of what is stored: each function answers one rpc of archive.proto.
// Plain values in and out, no gRPC. Called on worker threads.
#pragma once

#include "controller/api/archive.pb.h"
#include "controller/store/store.h"

namespace railgauge {

class Archive {
 public:
  explicit Archive(store::Store& store) : store_(store) {}

  Result<api::ResultList> find_points(const api::PointsRequest& request);
  // The points behind `after`, which becomes the last one's key; an empty list is the end.
  Result<api::ResultList> next_points(const api::PointsRequest& request, std::int64_t& after);
  Result<api::SeriesList> list_series(const api::PointsRequest& request);
  Result<api::History> get_history(const api::HistoryRequest& request);
  Result<api::Comparison> compare_runs(const api::CompareRequest& request);
  Result<api::SqlTable> run_sql(const api::SqlRequest& request);
  Result<api::Space> get_space(const api::SpaceRequest& request);
  Result<api::DatabaseCheck> check_database(const api::CheckRequest& request);
  Result<api::BackUpReport> back_up(const api::BackUpRequest& request);
  Result<api::PruneReport> prune(const api::PruneRequest& request);

 private:
  Result<store::ResultsFilter> filter_of(const api::PointsRequest& request);

  store::Store& store_;
};

}  // namespace railgauge

// An archive service with fixed answers, for tests.
#pragma once

#include <functional>
#include <mutex>

#include "controller/api/archive.grpc.pb.h"

namespace railgauge::cli {

class FakeArchive final : public railgauge::api::Archive::Service {
 public:
  FakeArchive();  // filled with sample answers

  railgauge::api::ResultList results;
  railgauge::api::SeriesList series;
  railgauge::api::History history;
  railgauge::api::Comparison comparison;
  railgauge::api::SqlTable table;
  railgauge::api::Space space;
  railgauge::api::DatabaseCheck check;
  railgauge::api::PairMatrix matrix;
  railgauge::api::SuspectList suspects;
  railgauge::api::RunDetail detail;      // a page of one task each
  std::function<void()> on_bundle_part;  // may be empty

  [[nodiscard]] railgauge::api::PointsRequest last_points() const;

  using Context = grpc::ServerContext;
  grpc::Status FindPoints(Context* context, const railgauge::api::PointsRequest* request,
                          railgauge::api::ResultList* answer) override;
  grpc::Status ExportPoints(Context* context, const railgauge::api::PointsRequest* request,
                            grpc::ServerWriter<railgauge::api::ResultList>* writer) override;
  grpc::Status ListSeries(Context* context, const railgauge::api::PointsRequest* request,
                          railgauge::api::SeriesList* answer) override;
  grpc::Status GetHistory(Context* context, const railgauge::api::HistoryRequest* request,
                          railgauge::api::History* answer) override;
  grpc::Status CompareRuns(Context* context, const railgauge::api::CompareRequest* request,
                           railgauge::api::Comparison* answer) override;
  grpc::Status RunSql(Context* context, const railgauge::api::SqlRequest* request,
                      railgauge::api::SqlTable* answer) override;
  grpc::Status GetTasks(Context* context, const railgauge::api::TasksRequest* request,
                        railgauge::api::TaskPage* answer) override;
  grpc::Status GetBundlePart(Context* context, const railgauge::api::BundleRequest* request,
                             railgauge::api::BundlePart* answer) override;
  grpc::Status GetSpace(Context* context, const railgauge::api::SpaceRequest* request,
                        railgauge::api::Space* answer) override;
  grpc::Status CheckDatabase(Context* context, const railgauge::api::CheckRequest* request,
                             railgauge::api::DatabaseCheck* answer) override;
  grpc::Status BackUp(Context* context, const railgauge::api::BackUpRequest* request,
                      railgauge::api::BackUpReport* answer) override;
  grpc::Status Prune(Context* context, const railgauge::api::PruneRequest* request,
                     railgauge::api::PruneReport* answer) override;
  grpc::Status GetMatrix(Context* context, const railgauge::api::PairsRequest* request,
                         railgauge::api::PairMatrix* answer) override;
  grpc::Status GetSuspects(Context* context, const railgauge::api::PairsRequest* request,
                           railgauge::api::SuspectList* answer) override;

 private:
  mutable std::mutex mutex_;
  railgauge::api::PointsRequest last_points_;
};

}  // namespace railgauge::cli

// The Archive service on the wire: who may call what, and worker threads, since every call reads
// the disk. What the answers are stands in archive.h.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <grpcpp/grpcpp.h>

#include "controller/api/archive.grpc.pb.h"
#include "controller/fleet/auth.h"
#include "controller/fleet/worker_pool.h"
#include "controller/history/archive.h"

namespace railgauge {

class ArchiveService final : public api::Archive::CallbackService {
 public:
  // Everything outlives it; the pools are to be destroyed after the server's last call ended.
  // `upkeep` does what may take minutes (backup, check, pruning), one after the other.
  // `sql` does what people wrote themselves and what thinks for seconds, so that a slow one keeps
  // nobody else waiting.
  ArchiveService(Archive& archive, const auth::PeerBook& peers, fleet::WorkerPool& queries,
                 fleet::WorkerPool& sql, fleet::WorkerPool& upkeep)
      : archive_(archive), peers_(peers), queries_(queries), sql_(sql), upkeep_(upkeep) {}

  using Unary = grpc::ServerUnaryReactor;
  using Context = grpc::CallbackServerContext;
  Unary* FindPoints(Context* context, const api::PointsRequest* request,
                    api::ResultList* response) override;
  grpc::ServerWriteReactor<api::ResultList>* ExportPoints(
      Context* context, const api::PointsRequest* request) override;
  Unary* ListSeries(Context* context, const api::PointsRequest* request,
                    api::SeriesList* response) override;
  Unary* GetHistory(Context* context, const api::HistoryRequest* request,
                    api::History* response) override;
  Unary* CompareRuns(Context* context, const api::CompareRequest* request,
                     api::Comparison* response) override;
  Unary* RunSql(Context* context, const api::SqlRequest* request, api::SqlTable* response) override;
  Unary* GetTasks(Context* context, const api::TasksRequest* request,
                  api::TaskPage* response) override;
  Unary* GetBundlePart(Context* context, const api::BundleRequest* request,
                       api::BundlePart* response) override;
  Unary* GetSpace(Context* context, const api::SpaceRequest* request,
                  api::Space* response) override;
  Unary* CheckDatabase(Context* context, const api::CheckRequest* request,
                       api::DatabaseCheck* response) override;
  Unary* BackUp(Context* context, const api::BackUpRequest* request,
                api::BackUpReport* response) override;
  Unary* Prune(Context* context, const api::PruneRequest* request,
               api::PruneReport* response) override;
  Unary* GetMatrix(Context* context, const api::PairsRequest* request,
                   api::PairMatrix* response) override;
  Unary* GetSuspects(Context* context, const api::PairsRequest* request,
                     api::SuspectList* response) override;

 private:
  enum class Access { kRead, kWrite };
  grpc::Status check(Context* context, Access access) const;
  // Checks the caller, then answers on a thread of that pool.
  template <class Request, class Response>
  Unary* answer(Context* context, Access access, fleet::WorkerPool& pool, const Request* request,
                Response* response, Result<Response> (Archive::*ask)(const Request&));
  template <class Response>
  Unary* answer_on(Context* context, Access access, fleet::WorkerPool& pool, Response* response,
                   std::function<Result<Response>()> ask);

  Archive& archive_;
  const auth::PeerBook& peers_;
  fleet::WorkerPool& queries_;
  fleet::WorkerPool& sql_;
  fleet::WorkerPool& upkeep_;
};

}  // namespace railgauge

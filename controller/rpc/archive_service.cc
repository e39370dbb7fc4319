#include <atomic>
#include <optional>
#include <utility>

#include "controller/api/archive.grpc.pb.h"
#include "controller/rpc/services.h"
#include "controller/rpc/unary.h"

namespace railgauge {
namespace {

using rpc::Access;
using rpc::Context;
using rpc::Unary;

// Sends page after page. Each page is read when the caller took the one before, so memory stays
// that of one page, and no snapshot is held in between.
class ExportStream final : public grpc::ServerWriteReactor<api::ResultList> {
 public:
  ExportStream(Archive& archive, fleet::WorkerPool& pool, api::PointsRequest request)
      : archive_(archive), pool_(pool), request_(std::move(request)) {}

  void next() {
    if (!pool_.submit([this] { write_page(); })) Finish(rpc::busy());
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish({grpc::StatusCode::UNAVAILABLE, "the caller is gone"});
    next();
  }
  void OnCancel() override { cancelled_ = true; }
  void OnDone() override { delete this; }

 private:
  void write_page() {
    if (!cursor_) {
      Result<ExportCursor> begun = archive_.begin_export(request_);
      if (!begun) return Finish(rpc::to_grpc(begun.error()));
      cursor_ = std::move(*begun);
    }
    Result<api::ResultList> page =
        archive_.next_points(*cursor_, [this] { return cancelled_.load(); });
    if (!page) return Finish(rpc::to_grpc(page.error()));
    if (page->points().empty() || sent_ == limit()) return Finish(grpc::Status::OK);
    while (static_cast<std::uint32_t>(page->points_size()) > limit() - sent_)
      page->mutable_points()->RemoveLast();
    sent_ += static_cast<std::uint32_t>(page->points_size());
    page_ = std::move(*page);
    StartWrite(&page_);
  }
  [[nodiscard]] std::uint32_t limit() const {
    return request_.limit() == 0 ? UINT32_MAX : request_.limit();
  }

  Archive& archive_;
  fleet::WorkerPool& pool_;
  const api::PointsRequest request_;
  api::ResultList page_;
  std::optional<ExportCursor> cursor_;
  std::uint32_t sent_ = 0;
  std::atomic<bool> cancelled_ = false;
};

// A stream that ends at once with an error.
class Refused final : public grpc::ServerWriteReactor<api::ResultList> {
 public:
  explicit Refused(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

class ArchiveService final : public api::Archive::CallbackService {
 public:
  ArchiveService(Archive& archive, const auth::PeerBook& peers, const ArchivePools& pools)
      : archive_(archive),
        peers_(peers),
        queries_(pools.queries),
        sql_(pools.sql),
        upkeep_(pools.upkeep) {}

  Unary* FindPoints(Context* context, const api::PointsRequest* request,
                    api::ResultList* response) override {
    return answer(context, Access::kRead, queries_, request, response, &Archive::find_points);
  }
  Unary* ListSeries(Context* context, const api::PointsRequest* request,
                    api::SeriesList* response) override {
    return answer(context, Access::kRead, queries_, request, response, &Archive::list_series);
  }
  Unary* GetHistory(Context* context, const api::HistoryRequest* request,
                    api::History* response) override {
    return answer(context, Access::kRead, queries_, request, response, &Archive::get_history);
  }
  Unary* CompareRuns(Context* context, const api::CompareRequest* request,
                     api::Comparison* response) override {
    return answer(context, Access::kRead, queries_, request, response, &Archive::compare_runs);
  }
  Unary* GetTasks(Context* context, const api::TasksRequest* request,
                  api::TaskPage* response) override {
    return answer(context, Access::kRead, queries_, request, response, &Archive::get_tasks);
  }
  Unary* GetBundlePart(Context* context, const api::BundleRequest* request,
                       api::BundlePart* response) override {
    return answer(context, Access::kRead, queries_, request, response, &Archive::get_bundle_part);
  }
  Unary* GetSpace(Context* context, const api::SpaceRequest* request,
                  api::Space* response) override {
    return answer(context, Access::kRead, upkeep_, request, response, &Archive::get_space);
  }
  Unary* CheckDatabase(Context* context, const api::CheckRequest* request,
                       api::DatabaseCheck* response) override {
    return answer(context, Access::kRead, upkeep_, request, response, &Archive::check_database);
  }
  Unary* BackUp(Context* context, const api::BackUpRequest* request,
                api::BackUpReport* response) override {
    return answer(context, Access::kWrite, upkeep_, request, response, &Archive::back_up);
  }
  Unary* Prune(Context* context, const api::PruneRequest* request,
               api::PruneReport* response) override {
    return answer(context, Access::kWrite, upkeep_, request, response, &Archive::prune);
  }
  Unary* GetMatrix(Context* context, const api::PairsRequest* request,
                   api::PairMatrix* response) override {
    return answer(context, Access::kRead, queries_, request, response, &Archive::get_matrix);
  }
  Unary* GetSuspects(Context* context, const api::PairsRequest* request,
                     api::SuspectList* response) override {
    return answer(context, Access::kRead, sql_, request, response, &Archive::get_suspects);
  }
  Unary* RunSql(Context* context, const api::SqlRequest* request,
                api::SqlTable* response) override {
    return answer_present(context, Access::kRead, sql_, response, [=, this] {
      return archive_.run_sql(*request, [context] { return context->IsCancelled(); });
    });
  }
  grpc::ServerWriteReactor<api::ResultList>* ExportPoints(
      Context* context, const api::PointsRequest* request) override {
    const grpc::Status status = rpc::check_caller(peers_.peer_of(*context), Access::kRead);
    if (!status.ok()) return new Refused(status);
    auto* stream = new ExportStream(archive_, queries_, *request);
    stream->next();
    return stream;
  }

 private:
  template <class Request, class Response>
  Unary* answer(Context* context, Access access, fleet::WorkerPool& pool, const Request* request,
                Response* response, Result<Response> (Archive::*ask)(const Request&)) {
    return answer_present(context, access, pool, response,
                          [=, this] { return (archive_.*ask)(*request); });
  }
  // Each call here may read the disk for long, so a caller that left before its turn costs no read.
  template <class Response, class Work>
  Unary* answer_present(Context* context, Access access, fleet::WorkerPool& pool,
                        Response* response, Work work) {
    return rpc::unary(context, peers_, access, pool, response,
                      [=](const auth::Peer&) -> Result<Response> {
                        if (context->IsCancelled()) return fail(Code::kCancelled, "");
                        return work();
                      });
  }

  Archive& archive_;
  const auth::PeerBook& peers_;
  fleet::WorkerPool& queries_;
  fleet::WorkerPool& sql_;
  fleet::WorkerPool& upkeep_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_archive_service(Archive& archive, const auth::PeerBook& peers,
                                                    const ArchivePools& pools) {
  return std::make_unique<ArchiveService>(archive, peers, pools);
}

}  // namespace railgauge

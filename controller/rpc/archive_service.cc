#include "controller/rpc/archive_service.h"

#include <atomic>

#include <spdlog/spdlog.h>

namespace railgauge {
namespace {

const grpc::Status kBusy(grpc::StatusCode::RESOURCE_EXHAUSTED, "the controller is busy; try again");

grpc::Status to_grpc(const Error& error) {
  return {static_cast<grpc::StatusCode>(error.code), error.message};
}

// Page after page, each read when the caller took the one before: memory stays that of a page, and
// no snapshot is held in between.
class ExportStream final : public grpc::ServerWriteReactor<api::ResultList> {
 public:
  ExportStream(Archive& archive, fleet::WorkerPool& pool, api::PointsRequest request)
      : archive_(archive), pool_(pool), request_(std::move(request)) {}

  void next() {
    if (!pool_.submit([this] { write_page(); })) Finish(kBusy);
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
      if (!begun) return Finish(to_grpc(begun.error()));
      cursor_ = std::move(*begun);
    }
    Result<api::ResultList> page =
        archive_.next_points(*cursor_, [this] { return cancelled_.load(); });
    if (!page) return Finish(to_grpc(page.error()));
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

class Refused final : public grpc::ServerWriteReactor<api::ResultList> {
 public:
  explicit Refused(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace

grpc::Status ArchiveService::check(Context* context, Access access) const {
  const Status allowed = auth::may_control(peers_.peer_of(*context), access == Access::kRead);
  if (allowed) return grpc::Status::OK;
  spdlog::warn("call refused: {}", allowed.error().message);
  return to_grpc(allowed.error());
}

template <class Request, class Response>
ArchiveService::Unary* ArchiveService::answer(Context* context, Access access,
                                              fleet::WorkerPool& pool, const Request* request,
                                              Response* response,
                                              Result<Response> (Archive::*ask)(const Request&)) {
  return answer_on<Response>(context, access, pool, response,
                             [=, this] { return (archive_.*ask)(*request); });
}

// A call whose caller is gone by the time of its turn is not answered any more.
template <class Response>
ArchiveService::Unary* ArchiveService::answer_on(Context* context, Access access,
                                                 fleet::WorkerPool& pool, Response* response,
                                                 std::function<Result<Response>()> ask) {
  Unary* reactor = context->DefaultReactor();
  if (const grpc::Status status = check(context, access); !status.ok()) {
    reactor->Finish(status);
    return reactor;
  }
  const bool taken = pool.submit([=, asked = std::move(ask)] {
    if (context->IsCancelled()) return reactor->Finish(grpc::Status::CANCELLED);
    Result<Response> answer = asked();
    if (!answer) return reactor->Finish(to_grpc(answer.error()));
    *response = std::move(*answer);
    reactor->Finish(grpc::Status::OK);
  });
  if (!taken) reactor->Finish(kBusy);
  return reactor;
}

grpc::ServerWriteReactor<api::ResultList>* ArchiveService::ExportPoints(
    Context* context, const api::PointsRequest* request) {
  if (const grpc::Status status = check(context, Access::kRead); !status.ok())
    return new Refused(status);
  auto* stream = new ExportStream(archive_, queries_, *request);
  stream->next();
  return stream;
}

ArchiveService::Unary* ArchiveService::FindPoints(Context* context,
                                                  const api::PointsRequest* request,
                                                  api::ResultList* response) {
  return answer(context, Access::kRead, queries_, request, response, &Archive::find_points);
}

ArchiveService::Unary* ArchiveService::ListSeries(Context* context,
                                                  const api::PointsRequest* request,
                                                  api::SeriesList* response) {
  return answer(context, Access::kRead, queries_, request, response, &Archive::list_series);
}

ArchiveService::Unary* ArchiveService::GetHistory(Context* context,
                                                  const api::HistoryRequest* request,
                                                  api::History* response) {
  return answer(context, Access::kRead, queries_, request, response, &Archive::get_history);
}

ArchiveService::Unary* ArchiveService::CompareRuns(Context* context,
                                                   const api::CompareRequest* request,
                                                   api::Comparison* response) {
  return answer(context, Access::kRead, queries_, request, response, &Archive::compare_runs);
}

ArchiveService::Unary* ArchiveService::RunSql(Context* context, const api::SqlRequest* request,
                                              api::SqlTable* response) {
  return answer_on<api::SqlTable>(context, Access::kRead, sql_, response, [=, this] {
    return archive_.run_sql(*request, [context] { return context->IsCancelled(); });
  });
}

ArchiveService::Unary* ArchiveService::GetTasks(Context* context, const api::TasksRequest* request,
                                                api::TaskPage* response) {
  return answer(context, Access::kRead, queries_, request, response, &Archive::get_tasks);
}

ArchiveService::Unary* ArchiveService::GetBundlePart(Context* context,
                                                     const api::BundleRequest* request,
                                                     api::BundlePart* response) {
  return answer(context, Access::kRead, queries_, request, response, &Archive::get_bundle_part);
}

ArchiveService::Unary* ArchiveService::GetSpace(Context* context, const api::SpaceRequest* request,
                                                api::Space* response) {
  return answer(context, Access::kRead, upkeep_, request, response, &Archive::get_space);
}

ArchiveService::Unary* ArchiveService::CheckDatabase(Context* context,
                                                     const api::CheckRequest* request,
                                                     api::DatabaseCheck* response) {
  return answer(context, Access::kRead, upkeep_, request, response, &Archive::check_database);
}

ArchiveService::Unary* ArchiveService::BackUp(Context* context, const api::BackUpRequest* request,
                                              api::BackUpReport* response) {
  return answer(context, Access::kWrite, upkeep_, request, response, &Archive::back_up);
}

ArchiveService::Unary* ArchiveService::Prune(Context* context, const api::PruneRequest* request,
                                             api::PruneReport* response) {
  return answer(context, Access::kWrite, upkeep_, request, response, &Archive::prune);
}

ArchiveService::Unary* ArchiveService::GetMatrix(Context* context, const api::PairsRequest* request,
                                                 api::PairMatrix* response) {
  return answer(context, Access::kRead, queries_, request, response, &Archive::get_matrix);
}

ArchiveService::Unary* ArchiveService::GetSuspects(Context* context,
                                                   const api::PairsRequest* request,
                                                   api::SuspectList* response) {
  return answer(context, Access::kRead, sql_, request, response, &Archive::get_suspects);
}

}  // namespace railgauge

#include <atomic>
#include <optional>
#include <utility>

#include "controller/api/archive.grpc.pb.h"
#include "controller/rpc/services.h"
#include "controller/rpc/unary.h"

namespace railgauge {
namespace {

// Sends page after page. Each page is read when the caller took the one before, so memory stays
// that of one page, and no snapshot is held in between.
class ExportStream final : public grpc::ServerWriteReactor<api::ResultList> {
 public:
  ExportStream(Archive& archive, fleet::WorkerPool& pool, std::shared_ptr<rpc::Call> call,
               api::PointsRequest request)
      : archive_(archive), pool_(pool), call_(std::move(call)), request_(std::move(request)) {}

  void next() {
    if (pool_.submit([this] { write_page(); }, call_->owner())) return;
    call_->refuse(rpc::busy());
    Finish(rpc::to_grpc(rpc::busy()));
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return finish({grpc::StatusCode::UNAVAILABLE, "the caller is gone"});
    next();
  }
  void OnCancel() override { cancelled_ = true; }
  void OnDone() override { delete this; }

 private:
  void write_page() {
    if (!cursor_) {
      Result<ExportCursor> begun =
          rpc::or_no_memory<ExportCursor>([this] { return archive_.begin_export(request_); });
      if (!begun) return finish(rpc::to_grpc(begun.error()));
      cursor_ = std::move(*begun);
    }
    Result<api::ResultList> page = rpc::or_no_memory<api::ResultList>(
        [this] { return archive_.next_points(*cursor_, [this] { return cancelled_.load(); }); });
    if (!page) return finish(rpc::to_grpc(page.error()));
    if (page->points().empty() || sent_ == limit()) return finish(grpc::Status::OK);
    while (static_cast<std::uint32_t>(page->points_size()) > limit() - sent_)
      page->mutable_points()->RemoveLast();
    sent_ += static_cast<std::uint32_t>(page->points_size());
    page_ = std::move(*page);
    StartWrite(&page_);
  }
  void finish(const grpc::Status& status) {
    call_->end({});
    Finish(status);
  }
  [[nodiscard]] std::uint32_t limit() const {
    return request_.limit() == 0 ? UINT32_MAX : request_.limit();
  }

  Archive& archive_;
  fleet::WorkerPool& pool_;
  const std::shared_ptr<rpc::Call> call_;
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
  ArchiveService(Archive& archive, rpc::Gate& gate, const ArchivePools& pools)
      : archive_(archive),
        gate_(gate),
        queries_(pools.queries),
        sql_(pools.sql),
        whole_(pools.whole),
        upkeep_(pools.upkeep) {}

  RAILGAUGE_UNARY(FindPoints, queries_, api::PointsRequest, api::ResultList,
                  ask(context, &Archive::find_points, *request))
  RAILGAUGE_UNARY(ListSeries, queries_, api::PointsRequest, api::SeriesList,
                  ask(context, &Archive::list_series, *request))
  RAILGAUGE_UNARY(GetHistory, queries_, api::HistoryRequest, api::History,
                  ask(context, &Archive::get_history, *request))
  RAILGAUGE_UNARY(CompareRuns, queries_, api::CompareRequest, api::Comparison,
                  ask(context, &Archive::compare_runs, *request))
  RAILGAUGE_UNARY(GetTasks, queries_, api::TasksRequest, api::TaskPage,
                  ask(context, &Archive::get_tasks, *request))
  RAILGAUGE_UNARY(GetBundlePart, queries_, api::BundleRequest, api::BundlePart,
                  ask(context, &Archive::get_bundle_part, *request))
  RAILGAUGE_UNARY(GetSpace, whole_, api::SpaceRequest, api::Space,
                  archive_.get_space(*request, [context] { return context->IsCancelled(); }))
  RAILGAUGE_UNARY(CheckDatabase, whole_, api::CheckRequest, api::DatabaseCheck,
                  archive_.check_database(*request, [context] { return context->IsCancelled(); }))
  RAILGAUGE_UNARY(BackUp, upkeep_, api::BackUpRequest, api::BackUpReport,
                  ask(context, &Archive::back_up, *request))
  RAILGAUGE_UNARY(Prune, upkeep_, api::PruneRequest, api::PruneReport,
                  ask(context, &Archive::prune, *request))
  RAILGAUGE_UNARY(ListEvents, queries_, api::EventsRequest, api::EventList,
                  ask(context, &Archive::list_events, *request))
  RAILGAUGE_UNARY(GetTaskGroups, queries_, api::TaskGroupsRequest, api::TaskGroups,
                  ask(context, &Archive::get_task_groups, *request))
  RAILGAUGE_UNARY(ListAudit, queries_, api::AuditRequest, api::AuditList, list_audit(*request))
  RAILGAUGE_UNARY(GetMatrix, queries_, api::PairsRequest, api::PairMatrix,
                  ask(context, &Archive::get_matrix, *request))
  RAILGAUGE_UNARY(GetMatrixOverview, queries_, api::PairsRequest, api::MatrixOverview,
                  ask(context, &Archive::get_matrix_overview, *request))
  RAILGAUGE_UNARY(GetMatrixBlock, queries_, api::MatrixBlockRequest, api::MatrixBlock,
                  ask(context, &Archive::get_matrix_block, *request))
  RAILGAUGE_UNARY(GetSuspects, sql_, api::PairsRequest, api::SuspectList,
                  ask(context, &Archive::get_suspects, *request))
  RAILGAUGE_UNARY(RunSql, sql_, api::SqlRequest, api::SqlTable,
                  archive_.run_sql(*request, [context] { return context->IsCancelled(); }))

  grpc::ServerWriteReactor<api::ResultList>* ExportPoints(
      rpc::Context* context, const api::PointsRequest* request) override {
    auto call = gate_.admit(*context, rpc::right_of(kService, "ExportPoints"), request);
    if (!call) return new Refused(rpc::to_grpc(call.error()));
    fleet::WorkerPool& threads = (*call)->threads(queries_);
    auto* stream = new ExportStream(archive_, threads, std::move(*call), *request);
    stream->next();
    return stream;
  }

 private:
  static constexpr std::string_view kService = rpc::kArchive;

  // Rows of calls that ended just now are on their way into the database.
  Result<api::AuditList> list_audit(const api::AuditRequest& request) {
    constexpr double kSettleSeconds = 1;
    gate_.log().settle(kSettleSeconds);
    return archive_.list_audit(request);
  }
  // Each call may read the disk for long, so a caller that left before its turn costs no read.
  template <class Request, class Response>
  Result<Response> ask(const rpc::Context* context,
                       Result<Response> (Archive::*method)(const Request&),
                       const Request& request) {
    if (context->IsCancelled()) return fail(Code::kCancelled, "");
    return (archive_.*method)(request);
  }

  Archive& archive_;
  rpc::Gate& gate_;
  fleet::WorkerPool& queries_;
  fleet::WorkerPool& sql_;
  fleet::WorkerPool& whole_;
  fleet::WorkerPool& upkeep_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_archive_service(Archive& archive, rpc::Gate& gate,
                                                    const ArchivePools& pools) {
  return std::make_unique<ArchiveService>(archive, gate, pools);
}

}  // namespace railgauge

#include "controller/console/reader.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "controller/api/console.pb.h"
#include "controller/api/on_behalf.h"
#include "controller/console/query.h"
#include "controller/console/service_stubs.h"
#include "controller/console/views/node_place.h"
#include "controller/console/views/series_changes.h"
#include "controller/console/views/series_columns.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/text/json.h"

namespace railgauge::console {
namespace {

using google::protobuf::Message;

constexpr int kMostNodePoints = 10'000;  // the services' bound

template <class Type>
const Message& instance() {
  return Type::default_instance();
}

// The route of a call whose messages are printed as they are.
template <class Request, class Answer>
constexpr Route call_of(std::string_view path, std::string_view summary,
                        Status (*read)(Reader&, const Asking&, const Message&, Message&),
                        bool is_as_visitor = false) {
  return {path, summary, instance<Request>, instance<Answer>, read, is_as_visitor};
}

Status read_frame(Reader& reader, const Asking&, const Message& request, Message& answer) {
  static_cast<api::MatrixFrame&>(answer) =
      RG_TRY(reader.grid(static_cast<const api::MatrixRequest&>(request)))->frame();
  return {};
}

Status read_tile(Reader& reader, const Asking& asking, const Message& request, Message& answer) {
  const auto& wanted = static_cast<const api::MatrixTileRequest&>(request);
  const std::shared_ptr<const PairGrid> grid = RG_TRY(reader.grid(wanted.matrix()));
  const auto wanted_block = RG_TRY(grid->block_for(wanted));
  if (!wanted_block) {
    static_cast<api::MatrixTile&>(answer) = RG_TRY(grid->tile(wanted));
    return {};
  }
  api::MatrixBlock block;
  RG_TRY_OK(reader.block(*wanted_block, asking.is_gone, block));
  static_cast<api::MatrixTile&>(answer) = RG_TRY(grid->fine_tile(wanted, block));
  return {};
}

// The node of "node/DEV:PORT".
std::string_view node_of(std::string_view endpoint) {
  return endpoint.substr(0, endpoint.find('/'));
}

// The services find points by one node; those of a large run have megabytes that no page needs.
Status read_pair_points(Reader& reader, const Asking&, const Message& request, Message& answer) {
  const auto& wanted = static_cast<const api::PairPointsRequest&>(request);
  if (wanted.run_id().empty() || wanted.from().empty() || wanted.to().empty())
    return fail(Code::kInvalidArgument, "run_id, from and to: all three are needed");
  api::PointsRequest of_node;
  of_node.set_run_id(wanted.run_id());
  of_node.set_kernel(wanted.kernel());
  of_node.set_metric(wanted.metric());
  if (wanted.has_message_bytes()) of_node.set_message_bytes(wanted.message_bytes());
  if (wanted.has_rail()) of_node.set_rail(wanted.rail());
  of_node.set_node_set(wanted.from());
  of_node.set_limit(kMostNodePoints);
  api::ResultList list;
  RG_TRY_OK(reader.call([&](const Stubs& stubs, grpc::ClientContext& context) {
    return stubs.archive->FindPoints(&context, of_node, &list);
  }));
  auto& found = static_cast<api::ResultList&>(answer);
  found.set_schema_version(list.schema_version());
  const bool is_one_node = wanted.from() == wanted.to();
  for (api::ResultPoint& point : *list.mutable_points()) {
    const auto is_of = [&point](const std::string& node) {
      return std::ranges::find(point.endpoints(), node, node_of) != point.endpoints().end();
    };
    if (is_of(wanted.from()) && (is_one_node || is_of(wanted.to())))
      *found.add_points() = std::move(point);
  }
  if (found.points_size() > 0 || list.points_size() < kMostNodePoints) return {};
  return fail(Code::kNotFound, fmt::format("{} to {}: not among the newest {} points of that node",
                                           wanted.from(), wanted.to(), kMostNodePoints));
}

Status read_changes(Reader& reader, const Asking&, const Message& request, Message& answer) {
  const auto& wanted = static_cast<const api::SeriesChangesRequest&>(request);
  api::HistoryRequest history_request;
  history_request.set_series_id(wanted.series_id());
  history_request.set_limit(wanted.limit());
  if (wanted.has_since_unix_seconds())
    history_request.set_since_unix_seconds(wanted.since_unix_seconds());
  api::History history;
  RG_TRY_OK(reader.call([&](const Stubs& stubs, grpc::ClientContext& context) {
    return stubs.archive->GetHistory(&context, history_request, &history);
  }));
  static_cast<api::SeriesChanges&>(answer) = RG_TRY(changes_of(history, wanted));
  return {};
}

Status read_columns(Reader& reader, const Asking&, const Message& request, Message& answer) {
  const auto& wanted = static_cast<const api::SeriesColumnsRequest&>(request);
  if (wanted.points() > kMostColumnPoints)
    return fail(Code::kInvalidArgument, fmt::format("points {}: a series has {} at most here",
                                                    wanted.points(), kMostColumnPoints));
  answer.CopyFrom(*RG_TRY(reader.columns(wanted)));
  return {};
}

Status read_suspects(Reader& reader, const Asking&, const Message& request, Message& answer) {
  answer.CopyFrom(*RG_TRY(reader.suspects(static_cast<const api::PairsRequest&>(request))));
  return {};
}

// A person is shown how large the run would be; the list of its tasks may be long.
Status read_plan(Reader& reader, const Asking&, const Message& request, Message& answer) {
  auto& plan = static_cast<api::RunPlan&>(answer);
  RG_TRY_OK(reader.call([&](const Stubs& stubs, grpc::ClientContext& context) {
    return stubs.control->PlanRun(&context, static_cast<const api::RunRequest&>(request), &plan);
  }));
  plan.clear_tasks();
  plan.clear_planned_rounds();
  return {};
}

Status read_report_page(Reader& reader, const Asking&, const Message& request, Message& answer) {
  static_cast<api::ReportPage&>(answer) =
      RG_TRY(read_report(reader, static_cast<const api::ReportRequest&>(request)));
  return {};
}

// It names people, so that the services decide who may read it.
Status read_audit(Reader& reader, const Asking& asking, const Message& request, Message& answer) {
  return reader.call([&](const Stubs& stubs, grpc::ClientContext& context) {
    context.AddMetadata(api::kOnBehalfOf, asking.caller);
    return stubs.archive->ListAudit(&context, static_cast<const api::AuditRequest&>(request),
                                    static_cast<api::AuditList*>(&answer));
  });
}

// Whether the overview of a large matrix may answer: it has one order and one expectation.
bool may_be_wide(const api::MatrixRequest& request) {
  return (request.order().empty() || request.order() == "fabric") && request.against().empty() &&
         request.node_set().empty() && request.runs() == 0 && request.hop().empty();
}

}  // namespace

namespace {

double seconds_now() { return monotonic_now_ns() / 1e9; }

std::size_t bytes_of(const Message& answer) { return answer.ByteSizeLong(); }

constexpr CacheBounds kBoundsOfAnswers{.count = Reader::kMostAnswers,
                                       .weight = Reader::kMostAnswerBytes,
                                       .turn_seconds = Reader::kGridTurnSeconds};

}  // namespace

Reader::Reader(Connect connect, std::function<std::uint64_t()> writes)
    : connect_(std::move(connect)),
      // The blocks of a large matrix are read anew, by the places that its overview has.
      grids_(
          {.count = kMostGrids, .weight = kMostPairs, .turn_seconds = kGridTurnSeconds}, writes,
          seconds_now, [](const PairGrid& grid) { return grid.cells(); },
          [](const PairGrid& grid) { return grid.has_blocks() ? kOverviewSeconds : kGridSeconds; }),
      suspects_(kBoundsOfAnswers, writes, seconds_now, bytes_of,
                [](const Message&) { return kSuspectSeconds; }),
      columns_(kBoundsOfAnswers, writes, seconds_now, bytes_of,
               [](const Message&) { return 0.0; }) {}

Status Reader::call(const Send& send, double seconds) {
  grpc::ClientContext context;
  const double end_ns = monotonic_now_ns() + seconds * 1e9;
  {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::duration<double>(std::min(kTurnSeconds, seconds)),
                           [this] { return calls_.size() < kMostCalls || is_stopping_; }))
      return fail(Code::kResourceExhausted,
                  fmt::format("the console has {} calls under way; try again", kMostCalls));
    if (is_stopping_) return fail(Code::kUnavailable, "the controller is stopping");
    calls_.insert(&context);
  }
  const double left = std::clamp((end_ns - monotonic_now_ns()) / 1e9, 0.0, kCallSeconds);
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::milliseconds(static_cast<int>(left * 1e3)));
  const grpc::Status status = send(Stubs(connect_()), context);
  {
    const std::lock_guard lock(mutex_);
    calls_.erase(&context);
  }
  changed_.notify_all();  // those who wait for a place, and for a block
  if (status.ok()) return {};
  return fail(static_cast<Code>(status.error_code()), status.error_message());
}

void Reader::stop() {
  const std::lock_guard lock(mutex_);
  is_stopping_ = true;
  for (grpc::ClientContext* context : calls_) context->TryCancel();
  changed_.notify_all();
}

Status Reader::block(const api::MatrixBlockRequest& request, const IsGone& is_gone,
                     api::MatrixBlock& answer) {
  constexpr std::chrono::milliseconds kLook(50);
  const double end_ns = monotonic_now_ns() + kBlockTurnSeconds * 1e9;
  {
    std::unique_lock lock(mutex_);
    const auto has_turn = [this] { return blocks_ < kMostBlocks || is_stopping_; };
    if (!has_turn() && block_waits_ >= kMostBlockWaits)
      return fail(Code::kResourceExhausted, "other tiles are being read; try again");
    ++block_waits_;
    const Status turn = [&]() -> Status {
      while (!changed_.wait_for(lock, kLook, has_turn)) {
        if (is_gone && is_gone()) return fail(Code::kCancelled, "nobody waits for this tile");
        if (monotonic_now_ns() > end_ns)
          return fail(Code::kResourceExhausted, "other tiles are being read; try again");
      }
      return {};
    }();
    --block_waits_;
    RG_TRY_OK(turn);
    ++blocks_;
  }
  const Status status = is_gone && is_gone()
                            ? fail(Code::kCancelled, "nobody waits for this tile")
                            : call([&](const Stubs& stubs, grpc::ClientContext& context) {
                                return stubs.archive->GetMatrixBlock(&context, request, &answer);
                              });
  {
    const std::lock_guard lock(mutex_);
    --blocks_;
  }
  changed_.notify_all();
  return status;
}

// The labels of all nodes, by pages. A page may be two seconds old, and a node that was renamed has
// the labels of its present name alone.
Result<NodePlaces> Reader::read_places() {
  constexpr std::uint32_t kPage = 1'000;
  NodePlaces places;
  api::NodeHeadsRequest request;
  request.set_limit(kPage);
  while (true) {
    api::NodeHeads heads;
    RG_TRY_OK(call([&](const Stubs& stubs, grpc::ClientContext& context) {
      return stubs.control->ListNodeHeads(&context, request, &heads);
    }));
    for (const api::NodeHead& node : heads.nodes()) {
      const auto label = [&node](const char* key) {
        const auto found = node.labels().find(key);
        return found == node.labels().end() ? std::string() : found->second;
      };
      places[node.name()] = {.pod = label("pod"), .slot = label("slot")};
    }
    if (!heads.has_next_after() || heads.next_after() <= request.after()) return places;
    request.set_after(heads.next_after());
  }
}

// Reads the matrices and arranges them.
Result<std::shared_ptr<const PairGrid>> Reader::read_grid(const api::MatrixRequest& request) {
  api::PairsRequest pairs;
  pairs.set_run_id(request.run_id());
  pairs.set_kernel(request.kernel());
  pairs.set_metric(request.metric());
  if (request.has_message_bytes()) pairs.set_message_bytes(request.message_bytes());
  if (request.has_rail()) pairs.set_rail(request.rail());
  pairs.set_memory(request.memory());
  pairs.set_node_set(request.node_set());
  pairs.set_runs(request.runs());
  const double end_ns = monotonic_now_ns() + kGridReadSeconds * 1e9;
  const auto read = [&](api::PairMatrix& matrix) {
    return call(
        [&](const Stubs& stubs, grpc::ClientContext& context) {
          return stubs.archive->GetMatrix(&context, pairs, &matrix);
        },
        (end_ns - monotonic_now_ns()) / 1e9);
  };
  if (may_be_wide(request)) {
    api::MatrixOverview overview;
    const Status found = call(
        [&](const Stubs& stubs, grpc::ClientContext& context) {
          return stubs.archive->GetMatrixOverview(&context, pairs, &overview);
        },
        kGridReadSeconds);
    if (found) return std::make_shared<const PairGrid>(PairGrid::of_overview(overview));
    if (found.error().code != Code::kNotFound) return tl::unexpected(found.error());
  }
  api::PairMatrix matrix;
  RG_TRY_OK(read(matrix));
  NodePlaces places;
  if (is_by_place(request.order())) places = RG_TRY(read_places());
  if (request.against().empty())
    return std::make_shared<const PairGrid>(
        RG_TRY(PairGrid::make(matrix, request.order(), nullptr, request.hop(), places)));
  // The same figures of the other run, whatever the first request left open.
  pairs.set_run_id(request.against());
  pairs.set_kernel(matrix.kernel());
  pairs.set_metric(matrix.metric());
  pairs.set_message_bytes(matrix.message_bytes());
  pairs.set_rail(matrix.rail());
  pairs.set_memory(matrix.memory());
  api::PairMatrix against;
  RG_TRY_OK(read(against));
  return std::make_shared<const PairGrid>(
      RG_TRY(PairGrid::make(matrix, request.order(), &against, request.hop(), places)));
}

Result<std::shared_ptr<const PairGrid>> Reader::grid(const api::MatrixRequest& request) {
  return grids_.get(to_json(request, JsonLayout::kCompact), [&] { return read_grid(request); });
}

Result<std::shared_ptr<const api::SuspectList>> Reader::suspects(const api::PairsRequest& request) {
  using List = api::SuspectList;
  return suspects_.get(to_json(request, JsonLayout::kCompact),
                       [&]() -> Result<std::shared_ptr<const List>> {
                         const auto list = std::make_shared<List>();
                         RG_TRY_OK(call(
                             [&](const Stubs& stubs, grpc::ClientContext& context) {
                               return stubs.archive->GetSuspects(&context, request, list.get());
                             },
                             kGridReadSeconds));
                         return list;
                       });
}

// One series at a time: a page draws six, and each holds tens of megabytes meanwhile.
Result<std::shared_ptr<const api::SeriesColumns>> Reader::columns(
    const api::SeriesColumnsRequest& request) {
  api::HistoryRequest wanted;
  wanted.set_series_id(request.series_id());
  wanted.set_limit(request.points() == 0 ? kMostColumnPoints : request.points());
  if (request.has_since_unix_seconds()) wanted.set_since_unix_seconds(request.since_unix_seconds());
  return columns_.get(
      to_json(request, JsonLayout::kCompact),
      [&]() -> Result<std::shared_ptr<const api::SeriesColumns>> {
        api::History history;
        RG_TRY_OK(call(
            [&](const Stubs& stubs, grpc::ClientContext& context) {
              return stubs.archive->GetHistory(&context, wanted, &history);
            },
            kGridReadSeconds));
        return std::make_shared<const api::SeriesColumns>(columns_of(std::move(history)));
      });
}

// The route of one call of a service.
#define CALL(path, summary, service, method, Request, Answer)                               \
  call_of<api::Request, api::Answer>(                                                       \
      "/api/v1/" path, summary,                                                             \
      [](Reader& reader, const Asking&, const Message& request, Message& answer) {          \
        return reader.call([&](const Stubs& stubs, grpc::ClientContext& context) {          \
          return stubs.service->method(&context, static_cast<const api::Request&>(request), \
                                       static_cast<api::Answer*>(&answer));                 \
        });                                                                                 \
      })

namespace {

constexpr std::array kRoutes{
    CALL("nodes", "the nodes that the controller knows", control, ListNodes, ListNodesRequest,
         NodeList),
    CALL("nodes/{node_set}", "one node; with_facts adds its facts and stack", control, ListNodes,
         ListNodesRequest, NodeList),
    CALL("node_heads", "nodes in few words, by pages, and how many there are", control,
         ListNodeHeads, NodeHeadsRequest, NodeHeads),
    CALL("suites", "the suites in the controller's folder", control, ListSuites, ListSuitesRequest,
         SuiteList),
    call_of<api::RunRequest, api::RunPlan>(
        "/api/v1/plan", "what a run would measure, without its tasks; starts nothing", read_plan),
    CALL("runs", "the newest runs", control, ListRuns, ListRunsRequest, RunList),
    CALL("runs/{run_id}", "one run with its tasks", control, GetRun, RunRef, RunDetail),
    CALL("runs/{run_id}/tasks", "tasks of a run by pages", archive, GetTasks, TasksRequest,
         TaskPage),
    CALL("runs/{run_id}/groups", "tasks of a run that ended alike", archive, GetTaskGroups,
         TaskGroupsRequest, TaskGroups),
    CALL("events", "what happened, the newest first", archive, ListEvents, EventsRequest,
         EventList),
    CALL("points", "stored points", archive, FindPoints, PointsRequest, ResultList),
    call_of<api::PairPointsRequest, api::ResultList>(
        "/api/v1/points/pair", "stored points between two nodes, either way", read_pair_points),
    CALL("series", "the series that there are", archive, ListSeries, PointsRequest, SeriesList),
    CALL("series/history", "one series over time", archive, GetHistory, HistoryRequest, History),
    call_of<api::SeriesColumnsRequest, api::SeriesColumns>(
        "/api/v1/series/columns", "one series over time, as lists for a chart of many points",
        read_columns),
    call_of<api::SeriesChangesRequest, api::SeriesChanges>(
        "/api/v1/series/changes", "changes that the detector finds in one series", read_changes),
    CALL("compare", "two runs, series by series", archive, CompareRuns, CompareRequest, Comparison),
    call_of<api::MatrixRequest, api::MatrixFrame>(
        "/api/v1/matrix", "the pair matrix of a run, without its figures", read_frame),
    call_of<api::MatrixTileRequest, api::MatrixTile>(
        "/api/v1/matrix/tile", "figures of the matrix: the worst pair of each cell", read_tile),
    call_of<api::PairsRequest, api::SuspectList>(
        "/api/v1/suspects", "slow parts of the fabric, with evidence", read_suspects),
    CALL("findings", "open findings", judge, ListFindings, ListFindingsRequest, FindingList),
    CALL("findings/{finding_id}", "one finding and its history", judge, GetFinding, FindingRef,
         Finding),
    CALL("upgrades", "upgrades and their verdicts", judge, ListUpgrades, ListUpgradesRequest,
         UpgradeList),
    CALL("upgrades/{upgrade_id}", "one upgrade: losses, causes, what it was not", judge, GetUpgrade,
         UpgradeRef, Upgrade),
    CALL("certificates/{subject}", "the certificate of an ended run or of a judged upgrade", judge,
         GetCertificate, CertificateRequest, CertificateDocument),
    CALL("baselines", "pinned and accepted levels", judge, ListBaselines, ListBaselinesRequest,
         BaselineList),
    call_of<api::ReportRequest, api::ReportPage>(
        "/api/v1/report", "the report of the last hours, of a run or of an upgrade",
        read_report_page),
    CALL("schedules", "suites that start by themselves", control, ListSchedules,
         ListSchedulesRequest, ScheduleList),
    call_of<api::AuditRequest, api::AuditList>(
        "/api/v1/audit", "the audit trail, for those who may read it at the command line",
        read_audit, true),
};
#undef CALL

}  // namespace

std::span<const Route> routes() { return kRoutes; }

const Route* find_route(std::string_view path, std::string& field, std::string& value) {
  for (const Route& route : kRoutes)
    if (fits_path(route.path, path, field, value)) return &route;
  return nullptr;
}

}  // namespace railgauge::console

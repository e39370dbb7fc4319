#include "controller/cli/testing/fake_archive.h"

#include <iterator>
#include <tuple>
#include <utility>

#include "controller/api/archive.grpc.pb.h"
#include "controller/cli/testing/samples.h"

namespace railgauge::cli {

using namespace railgauge::api;

namespace {

// The fake's answers behind the generated service.
class ArchiveService final : public FakeArchive, public api::Archive::Service {
 public:
  grpc::Service& service() override { return *this; }

  using Context = grpc::ServerContext;
  grpc::Status FindPoints(Context* context, const PointsRequest* request,
                          ResultList* answer) override;
  grpc::Status ExportPoints(Context* context, const PointsRequest* request,
                            grpc::ServerWriter<ResultList>* writer) override;
  grpc::Status ListSeries(Context* context, const PointsRequest* request,
                          SeriesList* answer) override;
  grpc::Status GetHistory(Context* context, const HistoryRequest* request,
                          History* answer) override;
  grpc::Status CompareRuns(Context* context, const CompareRequest* request,
                           Comparison* answer) override;
  grpc::Status RunSql(Context* context, const SqlRequest* request, SqlTable* answer) override;
  grpc::Status GetTasks(Context* context, const TasksRequest* request, TaskPage* answer) override;
  grpc::Status GetBundlePart(Context* context, const BundleRequest* request,
                             BundlePart* answer) override;
  grpc::Status GetSpace(Context* context, const SpaceRequest* request, Space* answer) override;
  grpc::Status CheckDatabase(Context* context, const CheckRequest* request,
                             DatabaseCheck* answer) override;
  grpc::Status BackUp(Context* context, const BackUpRequest* request,
                      BackUpReport* answer) override;
  grpc::Status ListEvents(Context* context, const EventsRequest* request,
                          EventList* answer) override;
  grpc::Status GetTaskGroups(Context* context, const TaskGroupsRequest* request,
                             TaskGroups* answer) override;
  grpc::Status ListAudit(Context* context, const AuditRequest* request, AuditList* answer) override;
  grpc::Status Prune(Context* context, const PruneRequest* request, PruneReport* answer) override;
  grpc::Status GetMatrix(Context* context, const PairsRequest* request,
                         PairMatrix* answer) override;
  grpc::Status GetSuspects(Context* context, const PairsRequest* request,
                           SuspectList* answer) override;
};

Series sample_series() {
  Series series;
  series.set_series_id(4711);
  series.set_kernel("verbs.write_lat");
  series.set_revision(3);
  series.set_metric("latency_ns");
  series.set_meaning("half_rtt");
  series.set_unit("ns");
  series.set_message_bytes(8);
  series.add_endpoints("n1/mlx5_0:1");
  series.add_endpoints("n2/mlx5_0:1");
  (*series.mutable_parameters())["depth"] = "1";
  return series;
}

HistoryPoint sample_point(const std::string& at, double median) {
  HistoryPoint point;
  point.set_measured_at(at);
  point.set_run_id(kSampleRun);
  point.set_outcome("passed");
  point.set_headline(median);
  point.set_median(median);
  point.set_median_low(median - 10);
  point.set_median_high(median + 10);
  point.set_sample_count(1000);
  point.set_converged(true);
  point.set_verified(true);
  return point;
}

Space sample_space() {
  Space space;
  space.set_schema_version(1);
  space.set_file_bytes(1e9);
  space.set_wal_bytes(16e6);
  space.set_free_bytes(5e6);
  space.set_disk_free_bytes(2e11);
  space.set_runs(200);
  space.set_points(9e6);
  space.set_nodes(64);
  space.set_bytes_per_point(110.5);
  space.set_days(199);
  const auto part = [&space](const char* name, const char* kind, double bytes, double entries) {
    SpacePart& added = *space.add_parts();
    added.set_name(name);
    added.set_kind(kind);
    added.set_table(std::string_view(kind) == "index" ? "point" : name);
    added.set_bytes(bytes);
    added.set_payload_bytes(0.9 * bytes);
    added.set_entries(entries);
  };
  part("point", "table", 6.03e8, 9e6);
  part("point_by_series", "index", 2.466e8, 9e6);
  part("run", "table", 4.096e6, 200);
  part("event", "table", 40960, 200);
  return space;
}

// Four nodes; n3 receives little, one pair is missing.
PairMatrix sample_matrix() {
  PairMatrix matrix;
  matrix.set_schema_version(1);
  matrix.set_run_id(kSampleRun);
  matrix.set_kernel("verbs.write_bw");
  matrix.set_metric("bandwidth_bytes_per_second");
  matrix.set_unit("bytes_per_second");
  matrix.set_message_bytes(65536);
  matrix.set_larger_is_better(true);
  matrix.set_memory("host");
  for (const char* node : {"n1", "n2", "n3", "n4"}) matrix.add_nodes(node);
  for (const char* leaf : {"a", "b", "a", "b"}) matrix.add_leaves(leaf);
  for (int from = 0; from < 4; ++from)
    for (int to = 0; to < 4; ++to)
      matrix.add_values(from == to || (from == 3 && to == 0) ? 0.0F
                        : to == 2                            ? 9e9F
                        : from == 0 && to == 1               ? 11.5e9F
                                                             : 12e9F);
  matrix.add_other_layers("rail 0 gpu");
  matrix.add_other_series("verbs.write_lat latency_ns 8");
  matrix.set_synthetic(true);
  return matrix;
}

// Newest first: a node with an Xid, two with a new driver, and an event of no node.
EventList sample_events() {
  EventList list;
  list.set_schema_version(1);
  const auto add = [&](double id, const char* at, const char* kind, const char* node,
                       const std::string& text) {
    Event& event = *list.add_events();
    event.set_event_id(id);
    event.set_at(at);
    event.set_kind(kind);
    if (*node != '\0') event.set_node(node);
    event.set_text(text);
  };
  add(14, "2026-11-20T14:00:00Z", "watch_xid", "n3", "critical: 0000:1b:00.0: Xid 79");
  for (const char* node : {"n2", "n1"})
    add(node[1] - '0' + 10.0, "2026-11-20T12:00:00Z", "stack_changed", node,
        std::string(node) + ": gpu_driver 575.51 -> 580.95");
  add(10, "2026-11-20T11:00:00Z", "run_left_out", "", "n4 was not attached");
  list.mutable_events(3)->set_run_id(kSampleRun);
  list.set_newest_event_id(14);
  return list;
}

TaskGroups sample_groups() {
  TaskGroups answer;
  answer.set_schema_version(1);
  *answer.mutable_run() = sample_detail().run();
  const auto add = [&](const char* outcome, const char* reason, double tasks,
                       const char* endpoints) {
    TaskGroup& group = *answer.add_groups();
    group.set_kernel("verbs.write_lat");
    group.set_state("ended");
    group.set_outcome(outcome);
    if (*reason != '\0') group.set_reason(reason);
    group.set_tasks(tasks);
    group.set_endpoints(endpoints);
    group.set_first_task_id("t0001");
  };
  add("waived", "n[1-2] rank [0-1]: no GPU", 2, "n[1-2]/rxe0:1");
  add("passed", "", 1, "");
  return answer;
}

SuspectList sample_suspects() {
  SuspectList list;
  list.set_schema_version(1);
  list.set_run_id(kSampleRun);
  list.set_kernel("verbs.write_bw");
  list.set_metric("bandwidth_bytes_per_second");
  list.set_unit("bytes_per_second");
  list.set_message_bytes(65536);
  list.set_larger_is_better(true);
  list.set_nodes(5);
  list.set_leaves(2);
  list.set_measured_pairs(11);
  list.set_possible_pairs(20);
  list.set_noise_share(0.02);
  list.add_unmeasured_nodes("n5");
  list.set_synthetic(true);
  Suspect& suspect = *list.add_suspects();
  suspect.set_place(1);
  suspect.set_name("n3 rail 0");
  suspect.set_kind("port");
  suspect.set_direction("receives");
  suspect.set_node("n3");
  suspect.set_rail(0);
  suspect.set_confirmed(true);
  suspect.set_drop_share(0.25);
  suspect.set_slow_share(1);
  suspect.set_tasks(3);
  suspect.set_slow_tasks(3);
  suspect.set_expected(12e9);
  suspect.set_seen(9e9);
  suspect.add_ruled_out("what it sends is as expected");
  suspect.set_sentence(
      "n3 rail 0 receives 25.0 % less than expected, in 3 of 3 tasks: NIC, PCIe slot, cable or "
      "switch port, receiving side (pause, PCIe credits); what it sends is as expected");
  for (const char* from : {"n1", "n2"}) {
    SuspectEvidence& evidence = *suspect.add_evidence();
    evidence.set_from(from);
    evidence.set_to("n3");
    evidence.set_memory("host");
    evidence.set_expected(12e9);
    evidence.set_seen(9e9);
  }
  WantedTask& wanted = *suspect.add_wanted();
  wanted.set_purpose("same leaf");
  wanted.set_from("n1");
  wanted.set_to("n3");
  wanted.set_memory("host");
  Suspect& single = *list.add_suspects();
  single.set_place(2);
  single.set_name("n1 to n2, rail 0");
  single.set_kind("pair");
  single.set_direction("sends");
  single.set_node("n1");
  single.set_other_node("n2");
  single.set_rail(0);
  single.set_drop_share(0.09);
  single.set_slow_share(1);
  single.set_tasks(1);
  single.set_slow_tasks(1);
  single.set_expected(12e9);
  single.set_seen(10.92e9);
  single.set_sentence(
      "n1 to n2, rail 0: pairs over it are 9.0 % slower than expected, in 1 of 1 tasks: seen once "
      "only, so nothing is called bad; measure it again");
  return list;
}

}  // namespace

std::unique_ptr<FakeArchive> FakeArchive::create() { return std::make_unique<ArchiveService>(); }

FakeArchive::FakeArchive()
    : results(sample_results()),
      space(sample_space()),
      matrix(sample_matrix()),
      suspects(sample_suspects()),
      detail(sample_detail()) {
  series.set_schema_version(1);
  *series.add_series() = sample_series();
  history.set_schema_version(1);
  *history.mutable_series() = sample_series();
  *history.add_points() = sample_point("2026-11-19T02:00:00.000Z", 2300);
  *history.add_points() = sample_point("2026-11-20T02:00:00.000Z", 2650.5);
  history.mutable_points(1)->set_epoch(2);
  HistoryDay& day = *history.add_days();
  day.set_day_at("2021-11-19T00:00:00.000Z");
  day.set_point_count(24);
  day.set_mean(2310.5);
  day.set_lowest(2280);
  day.set_highest(2400);
  comparison.set_schema_version(1);
  comparison.set_run_a("r-a");
  comparison.set_run_b("r-b");
  comparison.set_series_only_in_b(2);
  ComparedSeries& compared = *comparison.add_series();
  *compared.mutable_series() = sample_series();
  compared.set_median_a(2300);
  compared.set_median_b(2650.5);
  compared.set_b_over_a(2650.5 / 2300);
  compared.set_points_a(5);
  compared.set_points_b(5);
  table.add_columns("kernel");
  table.add_columns("median_ns");
  SqlRow& row = *table.add_rows();
  row.add_values()->set_text("verbs, \"quoted\"");
  row.add_values()->set_number(2300.5);
  table.add_rows()->add_values()->set_text("none");
  table.mutable_rows(1)->add_values();
  check.set_schema_version(1);
  check.set_sound(true);
  events = sample_events();
  groups = sample_groups();
}

EventsRequest FakeArchive::last_events() const {
  const std::scoped_lock lock(mutex_);
  return last_events_;
}

PointsRequest FakeArchive::last_points() const {
  const std::scoped_lock lock(mutex_);
  return last_points_;
}

grpc::Status ArchiveService::FindPoints(Context*, const PointsRequest* request,
                                        ResultList* answer) {
  const std::scoped_lock lock(mutex_);
  last_points_ = *request;
  *answer = results;
  return {};
}

// A message for each point.
grpc::Status ArchiveService::ExportPoints(Context*, const PointsRequest* request,
                                          grpc::ServerWriter<ResultList>* writer) {
  const std::scoped_lock lock(mutex_);
  last_points_ = *request;
  for (const ResultPoint& point : results.points()) {
    ResultList page;
    *page.add_points() = point;
    writer->Write(page);
  }
  return {};
}

grpc::Status ArchiveService::ListSeries(Context*, const PointsRequest*, SeriesList* answer) {
  *answer = series;
  return {};
}

grpc::Status ArchiveService::GetHistory(Context*, const HistoryRequest*, History* answer) {
  *answer = history;
  return {};
}

grpc::Status ArchiveService::CompareRuns(Context*, const CompareRequest*, Comparison* answer) {
  *answer = comparison;
  return {};
}

grpc::Status ArchiveService::RunSql(Context*, const SqlRequest* request, SqlTable* answer) {
  if (request->sql() == "endless")
    return {grpc::StatusCode::DEADLINE_EXCEEDED, "sql: it ran longer than 10 s"};
  *answer = table;
  return {};
}

grpc::Status ArchiveService::GetTasks(Context*, const TasksRequest* request, TaskPage* answer) {
  const auto at = static_cast<int>(request->from());
  *answer->mutable_run() = detail.run();
  *answer->add_tasks() = detail.tasks(at);
  answer->set_next(at + 1 < detail.tasks_size() ? at + 1 : 0);
  return {};
}

// Three parts: the node, a table that names it and others, and names that are only recognized.
grpc::Status ArchiveService::GetBundlePart(Context*, const BundleRequest* request,
                                           BundlePart* answer) {
  if (request->subject() == "nowhere")
    return {grpc::StatusCode::INVALID_ARGUMENT, "nowhere: no run, finding or node has this name"};
  if (on_bundle_part) on_bundle_part();
  answer->set_kind("run");
  answer->set_run_id(kSampleRun);
  constexpr const char* kNames[] = {"nodes", "events", "runs", "known_names"};
  if (request->part() >= std::size(kNames)) return {grpc::StatusCode::NOT_FOUND, "no such part"};
  answer->set_name(kNames[request->part()]);
  answer->set_about("sample");
  answer->set_last(request->part() + 1 == std::size(kNames));
  const auto add = [answer](const char* column, const char* value) {
    answer->mutable_table()->add_columns(column);
    if (answer->table().rows().empty()) answer->mutable_table()->add_rows();
    answer->mutable_table()->mutable_rows(0)->add_values()->set_text(value);
  };
  if (request->part() == 0) {
    add("name", "n1");
    add("facts", R"({"cpu":"x","leaf":"sw-13"})");
  }
  if (request->part() == 1)
    add("text",
        "n1: 192.0.2.1 has API_TOKEN=abc; N1 was OLD-NAME.example, beside elsewhere, below SW-12a "
        "and sw-13; cancelled by Grace Hopper");
  if (request->part() == 2) add("nodes", "[\"n1\",\"partner\"]");
  if (request->part() == 3) {
    add("name", "old-name");
    answer->mutable_table()->add_rows()->add_values()->set_text("elsewhere");
    answer->mutable_table()->add_columns("leaf");
    for (SqlRow& row : *answer->mutable_table()->mutable_rows()) row.add_values();
    SqlRow& leaf = *answer->mutable_table()->add_rows();
    leaf.add_values();
    leaf.add_values()->set_text("sw-12a");
    answer->mutable_table()->add_columns("person");
    for (SqlRow& row : *answer->mutable_table()->mutable_rows()) row.add_values();
    answer->mutable_table()->mutable_rows(0)->mutable_values(2)->set_text("grace hopper");
  }
  return {};
}

grpc::Status ArchiveService::GetSpace(Context*, const SpaceRequest*, Space* answer) {
  *answer = space;
  return {};
}

grpc::Status ArchiveService::CheckDatabase(Context*, const CheckRequest*, DatabaseCheck* answer) {
  *answer = check;
  return {};
}

grpc::Status ArchiveService::BackUp(Context*, const BackUpRequest* request, BackUpReport* answer) {
  answer->set_schema_version(1);
  answer->set_path(request->path());
  answer->set_bytes(1.25e9);
  return {};
}

grpc::Status ArchiveService::Prune(Context*, const PruneRequest*, PruneReport* answer) {
  answer->set_schema_version(1);
  answer->set_distributions(120);
  answer->set_freed_bytes(2.5e6);
  return {};
}

grpc::Status ArchiveService::GetMatrix(Context*, const PairsRequest* request, PairMatrix* answer) {
  ++matrices_asked;
  *answer = matrix;
  if (request->runs() == 0) return {};
  // Two nights: the figures that n1 sent are of the one before.
  for (const auto& [run, ended_at, age_days] :
       {std::tuple(kSampleRun, "2026-11-20T12:00:30Z", 0.0),
        std::tuple("20261119-120000-1", "2026-11-19T12:00:30Z", 1.0)}) {
    MatrixRun& added = *answer->add_runs();
    added.set_run_id(run);
    added.set_ended_at(ended_at);
    added.set_age_days(age_days);
  }
  for (int cell = 0; cell < answer->values_size(); ++cell)
    answer->add_run_of(cell < answer->nodes_size() ? 1 : 0);
  return {};
}

grpc::Status ArchiveService::GetSuspects(Context*, const PairsRequest*, SuspectList* answer) {
  *answer = suspects;
  return {};
}

// Later events are the answer to the first who asks for them, once.
grpc::Status ArchiveService::ListEvents(Context*, const EventsRequest* request, EventList* answer) {
  const std::scoped_lock lock(mutex_);
  last_events_ = *request;
  *answer = request->has_after_event_id() ? std::exchange(later_events, {}) : events;
  return {};
}

grpc::Status ArchiveService::GetTaskGroups(Context*, const TaskGroupsRequest*, TaskGroups* answer) {
  *answer = groups;
  return {};
}

grpc::Status ArchiveService::ListAudit(Context*, const AuditRequest* request, AuditList* answer) {
  answer->set_schema_version(1);
  const auto add = [&](const char* who, const char* role, const char* rpc, const char* outcome) {
    if (!request->who().empty() && request->who() != who) return static_cast<AuditEntry*>(nullptr);
    if (std::string(rpc).find(request->rpc()) == std::string::npos)
      return static_cast<AuditEntry*>(nullptr);
    AuditEntry* entry = answer->add_entries();
    entry->set_at("2026-11-20T12:00:00Z");
    entry->set_who(who);
    entry->set_role(role);
    entry->set_rpc(rpc);
    entry->set_outcome(outcome);
    entry->set_count(1);
    return entry;
  };
  if (AuditEntry* entry = add("bob", "viewer", "Control.StartRun", "permission_denied")) {
    entry->set_address("ipv4:192.0.2.7:50210");
    entry->set_reason("bob: the certificate gives viewer; this needs OU=operator");
    entry->set_refused(true);
    entry->set_count(994);
  }
  if (request->refused()) return {};
  if (AuditEntry* entry = add("controller", "controller", "retention", "ok"))
    entry->set_subject("audit trail: 3 rows from 2025-10-01T00:00:00Z to 2025-10-02T00:00:00Z");
  if (AuditEntry* entry = add("ann", "operator", "Control.CancelRun", "ok")) {
    entry->set_address("ipv6:[2001:db8::1]:40000");
    entry->set_subject("r-20261120-115900-1");
  }
  if (AuditEntry* entry = add("root", "any role", "Archive.BackUp", "begun")) {
    entry->set_address("unix socket");
    entry->set_subject("nightly.db");
  }
  return {};
}

}  // namespace railgauge::cli

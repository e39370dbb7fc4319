#include "controller/cli/fake_archive.h"

#include <iterator>

#include "controller/cli/samples.h"

namespace railgauge::cli {

using namespace railgauge::api;

namespace {

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
    added.set_table("point");
    added.set_bytes(bytes);
    added.set_payload_bytes(0.9 * bytes);
    added.set_entries(entries);
  };
  part("point", "table", 6.03e8, 9e6);
  part("point_by_series", "index", 2.466e8, 9e6);
  part("run", "table", 40960, 200);
  return space;
}

}  // namespace

FakeArchive::FakeArchive() : results(sample_results()), space(sample_space()) {
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
}

PointsRequest FakeArchive::last_points() const {
  const std::scoped_lock lock(mutex_);
  return last_points_;
}

grpc::Status FakeArchive::FindPoints(Context*, const PointsRequest* request, ResultList* answer) {
  const std::scoped_lock lock(mutex_);
  last_points_ = *request;
  *answer = results;
  return {};
}

// A message for each point.
grpc::Status FakeArchive::ExportPoints(Context*, const PointsRequest* request,
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

grpc::Status FakeArchive::ListSeries(Context*, const PointsRequest*, SeriesList* answer) {
  *answer = series;
  return {};
}

grpc::Status FakeArchive::GetHistory(Context*, const HistoryRequest*, History* answer) {
  *answer = history;
  return {};
}

grpc::Status FakeArchive::CompareRuns(Context*, const CompareRequest*, Comparison* answer) {
  *answer = comparison;
  return {};
}

grpc::Status FakeArchive::RunSql(Context*, const SqlRequest*, SqlTable* answer) {
  *answer = table;
  return {};
}

// Three parts: the node, a table that names it and others, and names that are only recognized.
grpc::Status FakeArchive::GetBundlePart(Context*, const BundleRequest* request,
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
  if (request->part() == 0) add("name", "n1");
  if (request->part() == 1)
    add("text", "n1: API_TOKEN=abc, at 192.0.2.1; N1 was OLD-NAME.example, beside elsewhere");
  if (request->part() == 2) add("nodes", "[\"n1\",\"partner\"]");
  if (request->part() == 3) {
    add("name", "old-name");
    answer->mutable_table()->add_rows()->add_values()->set_text("elsewhere");
  }
  return {};
}

grpc::Status FakeArchive::GetSpace(Context*, const SpaceRequest*, Space* answer) {
  *answer = space;
  return {};
}

grpc::Status FakeArchive::CheckDatabase(Context*, const CheckRequest*, DatabaseCheck* answer) {
  *answer = check;
  return {};
}

grpc::Status FakeArchive::BackUp(Context*, const BackUpRequest* request, BackUpReport* answer) {
  answer->set_schema_version(1);
  answer->set_path(request->path());
  answer->set_bytes(1.25e9);
  return {};
}

grpc::Status FakeArchive::Prune(Context*, const PruneRequest*, PruneReport* answer) {
  answer->set_schema_version(1);
  answer->set_distributions(120);
  answer->set_freed_bytes(2.5e6);
  return {};
}

}  // namespace railgauge::cli

#include "controller/store/store.h"

#include <utility>

#include <fmt/format.h>

#include "controller/store/queries/pair_matrix.h"
#include "controller/store/queries/queries.h"
#include "controller/store/queries/schedules.h"
#include "controller/store/store_impl.h"
#include "controller/store/upkeep/schema.h"
#include "kernels/core/base/failpoint.h"

namespace railgauge::store {
Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() { impl_->upkeep.stop(); }

Result<std::unique_ptr<Store>> Store::open(StoreOptions options) {
  // Before anything is migrated or ended that another controller may be at.
  File lock = RG_TRY(lock_database(options.path, "open"));
  Connection connection =
      RG_TRY(open_and_migrate(options.path, options.busy_timeout_seconds, options.max_pages));
  const OrphanTotals totals = RG_TRY(count_orphans(connection));
  return std::unique_ptr<Store>(new Store(
      std::make_unique<Impl>(std::move(options), std::move(lock), std::move(connection), totals)));
}

Status Store::append_records(std::string node_id, std::vector<Record> records, Completion done,
                             std::optional<SpoolRange> range) {
  return append(std::move(node_id), std::make_shared<const Parcel>(pack(std::move(records))),
                std::move(done), range);
}

Status Store::append(std::string node_id, std::shared_ptr<const Parcel> parcel, Completion done,
                     std::optional<SpoolRange> range) {
  WriteJob job{.done = std::move(done), .records = parcel->records.size(), .bytes = parcel->bytes};
  job.apply = [this, range, node_id, parcel = std::move(parcel)]() -> Status {
    RG_TRY_OK(impl_->deliveries.check(node_id, range));
    RG_TRY_OK(impl_->records.store(node_id, parcel->records, impl_->now()));
    if (!range) return {};
    return impl_->connection.execute("UPDATE node SET spool_through=?2 WHERE node_id=?1", node_id,
                                     range->through);
  };
  if (range)
    job.done = [this, range, node_id, told = std::move(job.done)](const Status& status) {
      impl_->deliveries.note(node_id, *range, status);
      if (told) told(status);
    };
  return impl_->writer.submit(std::move(job));
}

// Nobody sends these again, so they stay until they are stored; by the time at which they came.
Status Store::keep(std::function<Status()> apply, Completion done) {
  return impl_->writer.submit(
      {.apply = std::move(apply), .done = std::move(done), .is_kept = true});
}

Status Store::run_reader(const std::function<Status(Connection&)>& query) const {
  return impl_->readers.run(query);
}

Status Store::run_writer(std::function<Status(Connection&)> query) {
  return impl_->writer.submit_and_wait(
      [this, query = std::move(query)] { return query(impl_->connection); },
      impl_->options.wait_seconds);
}

Status Store::put_node(NodeRow node, Completion done) {
  return keep([this, now = impl_->now(),
               node = std::move(node)] { return impl_->runs.put_node(node, now); },
              std::move(done));
}

Status Store::note_seen(std::vector<std::string> node_ids) {
  return impl_->writer.submit(
      {.apply = [this, now = impl_->now(), ids = std::move(node_ids)]() -> Status {
        for (const std::string& id : ids) RG_TRY_OK(impl_->runs.note_seen(id, now));
        return {};
      }});
}

Status Store::update_run(RunUpdate update, Completion done) {
  return keep([this, update = std::move(update)] { return impl_->runs.update_run(update); },
              std::move(done));
}

Status Store::update_task(TaskUpdate update, Completion done) {
  return keep([this, update = std::move(update)] { return impl_->runs.update_task(update); },
              std::move(done));
}

Status Store::add_tasks(std::string run_id, std::vector<TaskRow> tasks, Completion done) {
  return keep([this, now = now_seconds(), run_id = std::move(run_id),
               tasks = std::move(tasks)] { return impl_->runs.add_tasks(run_id, tasks, now); },
              std::move(done));
}

Status Store::add_event(EventRow event, Completion done) {
  if (event.at <= 0) event.at = impl_->now();
  return keep([this, event = std::move(event)] { return insert_event(impl_->connection, event); },
              std::move(done));
}

Status Store::create_run(RunRow run, std::vector<TaskRow> tasks,
                         std::optional<ScheduleClaim> claim) {
  // Room for the rows of a task with some points and their distributions. Without that room the run
  // would fail half way.
  constexpr double kTaskBytes = 4096;
  const double wanted =
      impl_->options.min_free_bytes + kTaskBytes * static_cast<double>(tasks.size());
  const std::optional<double> free_bytes = free_bytes_beside(impl_->options.path);
  if (free_bytes && *free_bytes < wanted)
    return fail(Code::kResourceExhausted,
                fmt::format("store {}: new run: {:.0f} MB are free on its file system, {:.0f} are "
                            "wanted; free space, or railgauge db prune",
                            impl_->options.path, *free_bytes / 1e6, wanted / 1e6));
  return impl_->writer.submit_and_wait(
      [this, run = std::move(run), tasks = std::move(tasks), claim = std::move(claim)]() -> Status {
        const double now = impl_->now();
        if (claim) RG_TRY_OK(claim_due(impl_->connection, *claim, run.run_id, now));
        RG_TRY_OK(impl_->runs.create_run(run, tasks, now));
        const auto taken = RG_TRY(impl_->records.take_orphans(run.run_id, now));
        if (taken > 0)
          spdlog::info("run {}: {} records that had come before it are stored", run.run_id, taken);
        failpoint("store.run_created");  // not yet committed
        return {};
      },
      impl_->options.wait_seconds);
}

Status Store::put_pair_matrices(std::string run_id, std::vector<PairMatrixRow> matrices) {
  return impl_->writer.submit_and_wait(
      [this, run_id = std::move(run_id), matrices = std::move(matrices)] {
        return write_pair_matrices(impl_->connection, run_id, matrices);
      },
      impl_->options.wait_seconds);
}

Status Store::put_pair_matrix(PairMatrixRow matrix) {
  return impl_->writer.submit_and_wait(
      [this, matrix = std::move(matrix)] { return write_pair_matrix(impl_->connection, matrix); },
      impl_->options.wait_seconds);
}

Result<PairMatrixRow> Store::pair_matrix(const PairMatrixKey& key) const {
  return impl_->readers.run([&](Connection& reader) { return read_pair_matrix(reader, key); });
}

Status Store::visit_pair_matrix(const PairMatrixKey& key, const PairVisitor& visit) const {
  return impl_->readers.run(
      [&](Connection& reader) { return railgauge::store::visit_pair_matrix(reader, key, visit); });
}

Result<std::vector<PairMatrixRow>> Store::pair_matrices(std::string_view run_id) const {
  return impl_->readers.run([&](Connection& reader) { return list_pair_matrices(reader, run_id); });
}

Result<std::vector<std::string>> Store::end_interrupted_runs() {
  const auto ended = std::make_shared<std::vector<std::string>>();  // outlives a wait given up
  RG_TRY_OK(impl_->writer.submit_and_wait(
      [this, ended] { return impl_->runs.end_interrupted(impl_->now(), *ended); },
      impl_->options.wait_seconds));
  return std::move(*ended);
}

Status Store::flush() { return impl_->writer.flush(impl_->options.wait_seconds); }

void Store::stop_upkeep() { impl_->upkeep.stop(); }

Result<std::vector<RunSummaryRow>> Store::list_runs(std::uint32_t limit) const {
  return impl_->readers.run([&](Connection& reader) { return read_runs(reader, limit); });
}

Result<RunSummaryRow> Store::run_summary(std::string_view run_id) const {
  return impl_->readers.run([&](Connection& reader) { return read_run(reader, run_id); });
}

Result<RunDetailRow> Store::run_detail(std::string_view run_id) const {
  return impl_->readers.run([&](Connection& reader) { return read_run_detail(reader, run_id); });
}

Result<TaskPageRow> Store::task_page(std::string_view run_id, std::int64_t from) const {
  return impl_->readers.run([&](Connection& reader) {
    return read_task_page(reader, run_id, from, kMaxPageTasks, kMaxPageBytes);
  });
}

Result<std::optional<std::vector<std::int64_t>>> Store::few_series(const ResultsFilter& filter,
                                                                   std::size_t most) const {
  return impl_->readers.run(
      [&](Connection& reader) { return read_few_series(reader, filter, most); });
}

Result<std::vector<std::string>> Store::node_names() const {
  return impl_->readers.run([](Connection& reader) { return read_node_names(reader); });
}

Result<std::vector<ResultRow>> Store::results(const ResultsFilter& filter) const {
  return impl_->readers.run([&](Connection& reader) { return read_results(reader, filter); });
}

Result<ExportScope> Store::export_scope(const std::string& run_id) const {
  return impl_->readers.run([&](Connection& reader) { return read_export_scope(reader, run_id); });
}

Result<HistoryRow> Store::history(std::int64_t series, std::optional<double> since,
                                  std::uint32_t limit) const {
  return impl_->readers.run(
      [&](Connection& reader) { return read_history(reader, series, since, limit); });
}

Result<std::vector<SeriesRow>> Store::list_series(const ResultsFilter& filter) const {
  return impl_->readers.run([&](Connection& reader) { return read_series(reader, filter); });
}

Result<ComparisonRow> Store::compare(std::string_view run_a, std::string_view run_b) const {
  return impl_->readers.run([&](Connection& reader) { return compare_runs(reader, run_a, run_b); });
}

// On a connection of its own: what a person asks for can be slow, and readers are few.
Result<SqlTable> Store::sql(const std::string& text, std::uint32_t max_rows, double seconds,
                            const std::function<bool()>& cancelled) const {
  Connection reader =
      RG_TRY(open_for_reading(impl_->options.path, impl_->options.busy_timeout_seconds));
  const Connection::TimeLimit limit(reader, seconds, cancelled);
  Result<SqlTable> table = run_sql(reader, text, max_rows);
  if (!table && cancelled && cancelled()) return fail(Code::kCancelled, "sql: the caller is gone");
  return table;
}

Result<Histogram> Store::histogram(std::string_view run_id, std::string_view task_id,
                                   std::uint32_t attempt, std::uint32_t rank,
                                   std::uint32_t sequence) const {
  const PointKey key{run_id, task_id, attempt, rank, sequence};
  return impl_->readers.run([&](Connection& reader) { return read_histogram(reader, key); });
}

Result<std::vector<double>> Store::samples(std::string_view run_id, std::string_view task_id,
                                           std::uint32_t attempt, std::uint32_t rank,
                                           std::uint32_t sequence) const {
  const PointKey key{run_id, task_id, attempt, rank, sequence};
  return impl_->readers.run([&](Connection& reader) { return read_samples(reader, key); });
}

Result<std::vector<NodeRow>> Store::list_nodes() const {
  return impl_->readers.run([](Connection& reader) { return read_nodes(reader); });
}

Result<std::vector<EventRow>> Store::list_events(std::uint32_t limit) const {
  return impl_->readers.run([&](Connection& reader) { return read_events(reader, limit); });
}

Result<StoreStats> Store::stats() const {
  const WriterStats writer = impl_->writer.stats();
  const std::string& path = impl_->options.path;
  return StoreStats{.database_version = schema_version(),
                    .file_bytes = size_of_file(path) + size_of_file(path + "-wal"),
                    .queued_records = static_cast<double>(writer.queued_records),
                    .queued_bytes = static_cast<double>(writer.queued_bytes),
                    .committed_batches = static_cast<double>(writer.committed_batches),
                    .committed_records = static_cast<double>(writer.committed_records),
                    .last_commit_seconds = writer.last_commit_seconds,
                    .failed_batches = static_cast<double>(writer.failed_batches),
                    .kept_jobs = static_cast<double>(writer.kept_jobs),
                    .orphan_records = static_cast<double>(impl_->orphans.records()),
                    .orphans_dropped = static_cast<double>(impl_->orphans.dropped())};
}

// --- schedules ---

Status Store::add_schedule(ScheduleRow schedule) {
  return impl_->writer.submit_and_wait(
      [this, moved = std::move(schedule)] { return write_schedule(impl_->connection, moved); },
      impl_->options.wait_seconds);
}

Status Store::set_schedule_paused(std::string name, bool paused) {
  return impl_->writer.submit_and_wait(
      [this, moved = std::move(name), paused] {
        return write_schedule_paused(impl_->connection, moved, paused, impl_->now());
      },
      impl_->options.wait_seconds);
}

Status Store::remove_schedule(std::string name) {
  return impl_->writer.submit_and_wait(
      [this, moved = std::move(name)] { return store::remove_schedule(impl_->connection, moved); },
      impl_->options.wait_seconds);
}

Status Store::decide_due(std::string schedule, DueRow due) {
  return impl_->writer.submit_and_wait(
      [this, name = std::move(schedule), moved = std::move(due)] {
        return write_due(impl_->connection, name, moved, impl_->now());
      },
      impl_->options.wait_seconds);
}

Status Store::say_of_started(std::string schedule, DueRow due) {
  return impl_->writer.submit_and_wait(
      [this, name = std::move(schedule), moved = std::move(due)] {
        return write_started_due(impl_->connection, name, moved);
      },
      impl_->options.wait_seconds);
}

Result<std::vector<ScheduleRow>> Store::list_schedules() const {
  return impl_->readers.run(
      [now = impl_->now()](Connection& reader) { return read_schedules(reader, now); });
}

Result<std::vector<DueRow>> Store::list_dues(std::string_view schedule, std::uint32_t limit) const {
  return impl_->readers.run([&](Connection& reader) { return read_dues(reader, schedule, limit); });
}

Result<std::vector<BrokenOffRow>> Store::broken_off(double since) const {
  return impl_->readers.run([&](Connection& reader) { return read_broken_off(reader, since); });
}

}  // namespace railgauge::store

#include "controller/store/store.h"

#include <thread>

#include <fmt/format.h>

#include "controller/store/outbox/warm_copy.h"
#include "controller/store/queries/audit.h"
#include "controller/store/sqlite/live_backup.h"
#include "controller/store/store_impl.h"
#include "controller/store/upkeep/backup.h"
#include "controller/store/upkeep/maintenance.h"
#include "controller/store/upkeep/schema.h"
#include "kernels/core/base/failpoint.h"

namespace railgauge::store {
Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() { impl_->upkeep.stop(); }

Result<std::unique_ptr<Store>> Store::open(StoreOptions options) {
  // Before anything is migrated or ended that another controller may be at.
  File lock = RG_TRY(lock_database(options.path, "open"));
  auto reserve = std::make_unique<Reserve>(options.path, options.reserve_bytes);
  const auto open_it = [&options] {
    return open_and_migrate(options.path, options.busy_timeout_seconds, options.max_pages);
  };
  Result<Connection> opened = open_it();
  if (!opened && opened.error().code == Code::kResourceExhausted) {
    reserve->note_full();
    reserve->give_up();
    opened = open_it();
  }
  Connection connection = RG_TRY(std::move(opened));
  OrphanTotals totals = RG_TRY(count_orphans(connection));
  reserve->fill();
  auto impl = std::make_unique<Impl>(std::move(options), std::move(lock), std::move(reserve),
                                     std::move(connection), std::move(totals));
  RG_TRY_OK(impl->audit_retention.join(impl->connection));
  return std::unique_ptr<Store>(new Store(std::move(impl)));
}

Status Store::append_records(const std::string& node_id, std::vector<Record> records,
                             Completion done, std::optional<SpoolRange> range) {
  return append(node_id, std::make_shared<const Parcel>(pack(std::move(records))), std::move(done),
                range);
}

Status Store::append(const std::string& node_id, std::shared_ptr<const Parcel> parcel,
                     Completion done, std::optional<SpoolRange> range, Timing timing,
                     std::shared_ptr<NotNew> not_new) {
  RG_TRY_OK(impl_->reserve->check());
  WriteJob job{.done = std::move(done), .records = parcel->records.size(), .bytes = parcel->bytes};
  job.apply = [this, range, timing, not_new = std::move(not_new), node_id,
               parcel = std::move(parcel)]() -> Status {
    RG_TRY_OK(impl_->deliveries.check(node_id, range));
    auto left = RG_TRY(impl_->records.store(node_id, parcel->records, {impl_->now(), timing}));
    if (not_new) *not_new = std::move(left);
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
      {.apply = kept(std::move(apply)), .done = std::move(done), .is_kept = true});
}

std::function<Status()> Store::kept(std::function<Status()> apply) {
  return [this, moved = std::move(apply)]() -> Status {
    // The rest of a full disk is for pruning.
    if (impl_->reserve->is_tight()) return impl_->reserve->check();
    return moved();
  };
}

Status Store::check_writable() { return impl_->reserve->check(); }

std::string Store::trouble() const { return impl_->reserve->trouble(); }

void Store::hold(std::string why) { impl_->reserve->hold(std::move(why)); }

double Store::now() const { return impl_->now(); }

Status Store::run_reader(const std::function<Status(Connection&)>& query) const {
  return impl_->readers.run(query);
}

Status Store::run_writer(std::function<Status(Connection&)> query, bool may_change_nodes) {
  RG_TRY_OK(impl_->reserve->check());
  return impl_->writer.submit_and_wait(
      [this, query = std::move(query)] { return query(impl_->connection); },
      impl_->options.wait_seconds, Waited::kInTurn, may_change_nodes);
}

Status Store::put_node(NodeRow node, Completion done) {
  return impl_->writer.submit({.apply = kept([this, now = impl_->now(), node = std::move(node)] {
                                 return impl_->runs.put_node(node, now);
                               }),
                               .done = std::move(done),
                               .is_kept = true,
                               .may_change_nodes = true});
}

Status Store::note_seen(std::vector<SeenNode> nodes) {
  RG_TRY_OK(impl_->reserve->check());
  return impl_->writer.submit({.apply = [this, nodes = std::move(nodes)]() -> Status {
    for (const SeenNode& node : nodes) RG_TRY_OK(impl_->runs.note_seen(node.node_id, node.at));
    return {};
  }});
}

Status Store::update_run(RunUpdate update, Completion done) {
  return keep([this, update = std::move(update)] { return impl_->runs.update_run(update); },
              std::move(done));
}

Status Store::update_task(TaskUpdate update, Completion done) {
  return keep(
      [this, now = impl_->now(), update = std::move(update)]() -> Status {
        const bool is_new = RG_TRY(impl_->runs.update_task(update, now));
        if (!is_new || impl_->orphans.records() == 0) return {};
        const auto taken = RG_TRY(impl_->records.take_orphans(
            {update.run_id, update.task_id, *update.attempts}, impl_->now()));
        if (taken > 0)
          spdlog::info("run {} task {}: {} records that had come before it are stored",
                       update.run_id, update.task_id, taken);
        return {};
      },
      std::move(done));
}

Status Store::rename_node(NodeBond node, std::string name) {
  return impl_->writer.submit_and_wait(
      [this, node = std::move(node), name = std::move(name)] {
        return impl_->runs.rename_node(node, name, impl_->now());
      },
      impl_->options.wait_seconds);
}

Status Store::begin_round(std::string run_id, std::uint32_t stage, TaskRows tasks,
                          Completion done) {
  return keep(
      [this, run_id = std::move(run_id), stage, tasks = std::move(tasks)] {
        return impl_->runs.begin_round(run_id, stage, tasks, impl_->now());
      },
      std::move(done));
}

Status Store::end_rest(std::string run_id, TaskRestRow rest, Completion done) {
  return keep([this, run_id = std::move(run_id),
               rest = std::move(rest)] { return impl_->runs.end_rest(run_id, rest); },
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

Status Store::add_audit(AuditRow row, Completion done) {
  return keep([this, row = std::move(row)] { return write_audit(impl_->connection, row); },
              std::move(done));
}

Status Store::create_run(RunRow run, std::vector<TaskRow> tasks,
                         std::optional<ScheduleClaim> claim) {
  return create(std::move(run), std::move(tasks), {}, std::move(claim));
}

Status Store::create_planned_run(RunRow run, std::vector<TaskRestRow> rest,
                                 std::optional<ScheduleClaim> claim) {
  return create(std::move(run), {}, std::move(rest), std::move(claim));
}

Status Store::create(RunRow run, std::vector<TaskRow> tasks, std::vector<TaskRestRow> rest,
                     std::optional<ScheduleClaim> claim) {
  // Room for the rows of a task with some points and their distributions. Rows come round by round,
  // retention frees room meanwhile, and writes that meet a full disk wait. So a large plan asks for
  // the room of its first tasks alone; without that room the run would wait soon.
  constexpr double kTaskBytes = 4096;
  constexpr double kMostTasksWithRoom = 200'000;
  auto count = static_cast<double>(tasks.size());
  for (const TaskRestRow& stage : rest) count += static_cast<double>(stage.tasks);
  RG_TRY_OK(impl_->reserve->check());
  const double wanted =
      impl_->options.min_free_bytes + kTaskBytes * std::min(count, kMostTasksWithRoom);
  const std::optional<double> free_bytes = free_bytes_beside(impl_->options.path);
  if (free_bytes && *free_bytes < wanted)
    return fail(Code::kResourceExhausted,
                fmt::format("store {}: new run: {:.0f} MB are free on its file system, {:.0f} are "
                            "wanted; free space, or railgauge db prune",
                            impl_->options.path, *free_bytes / 1e6, wanted / 1e6));
  return impl_->writer.submit_and_wait(
      [this, run = std::move(run), tasks = std::move(tasks), rest = std::move(rest),
       claim = std::move(claim)]() -> Status {
        const double now = impl_->now();
        if (claim) RG_TRY_OK(claim_due(impl_->connection, *claim, run.run_id, now));
        RG_TRY_OK(impl_->runs.create_run(run, tasks, rest, now));
        failpoint("store.run_created");  // not yet committed
        return {};
      },
      impl_->options.wait_seconds);
}

Result<std::vector<std::string>> Store::end_interrupted_runs() {
  const auto ended = std::make_shared<std::vector<std::string>>();  // outlives a wait given up
  RG_TRY_OK(impl_->writer.submit_and_wait(
      [this, ended] { return impl_->runs.end_interrupted(impl_->now(), *ended); },
      impl_->options.wait_seconds));
  return std::move(*ended);
}

Status Store::flush() { return impl_->writer.flush(impl_->options.wait_seconds); }

const std::string& Store::path() const { return impl_->options.path; }

std::uint64_t Store::node_changes() const { return impl_->writer.node_changes(); }

void Store::stop_upkeep() { impl_->upkeep.stop(); }

bool Store::stops() const { return impl_->upkeep.stopping(); }

// Uses its own connection: a person's statement can be slow, and readers are few.
Result<SqlTable> Store::sql(const std::string& text, std::uint32_t max_rows, double seconds,
                            const std::function<bool()>& cancelled) const {
  Connection reader =
      RG_TRY(open_for_reading(impl_->options.path, impl_->options.busy_timeout_seconds));
  const Connection::TimeLimit limit(reader, seconds, cancelled);
  Result<SqlTable> table = run_sql(reader, text, max_rows);
  if (!table && cancelled && cancelled()) return fail(Code::kCancelled, "sql: the caller is gone");
  return table;
}

Result<StoreStats> Store::stats() const {
  const WriterStats writer = impl_->writer.stats();
  return StoreStats{.database_version = schema_version(),
                    .file_bytes = bytes_of(impl_->options.path),
                    .queued_records = static_cast<double>(writer.queued_records),
                    .queued_bytes = static_cast<double>(writer.queued_bytes),
                    .committed_batches = static_cast<double>(writer.committed_batches),
                    .committed_records = static_cast<double>(writer.committed_records),
                    .last_commit_seconds = writer.last_commit_seconds,
                    .failed_batches = static_cast<double>(writer.failed_batches),
                    .kept_jobs = static_cast<double>(writer.kept_jobs),
                    .orphan_records = static_cast<double>(impl_->orphans.records()),
                    .orphans_dropped = static_cast<double>(impl_->orphans.dropped()),
                    .refused_records = impl_->records.refused()};
}

// --- the file, while it is in use ---

Result<SpaceRow> Store::space(const std::function<bool()>& cancelled) const {
  SpaceRow space = RG_TRY(impl_->upkeep.run(
      impl_->options, "stats", [](Connection& reader) { return read_space(reader); }, cancelled));
  // Pages that are still in the log alone belong to the file as well.
  double used_bytes = space.free_bytes;
  for (const SpacePart& part : space.parts) used_bytes += part.bytes;
  space.file_bytes = std::max(used_bytes, size_of_file(impl_->options.path));
  space.wal_bytes = size_of_file(impl_->options.path + "-wal");
  space.disk_free_bytes = free_bytes_beside(impl_->options.path).value_or(0);
  return space;
}

Result<std::vector<std::string>> Store::check(const std::function<bool()>& cancelled) const {
  return impl_->upkeep.run(
      impl_->options, "check", [](Connection& reader) { return find_problems(reader); }, cancelled);
}

namespace {

static_assert(static_cast<int>(PruneLevel::kPoints) == kPrunedPoints);

// Copies on the writer's thread, a step between two batches at a time.
class Copier {
 public:
  Copier(Writer& writer, Connection& source, double wait_seconds)
      : writer_(writer), source_(source), wait_seconds_(wait_seconds) {}
  // The rest of the copy must be released on the writer's thread too.
  ~Copier() {
    const auto end = [copy = copy_] {
      copy->reset();
      return Status();
    };
    while (*copy_ != nullptr && !writer_.submit({.apply = end, .is_alone = true}))
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;

  Status run(const std::string& part, const Upkeep& upkeep) {
    RG_TRY_OK(alone([copy = copy_, &source = source_, part]() -> Status {
      *copy = RG_TRY(LiveBackup::begin(source, part));
      return {};
    }));
    const auto more = std::make_shared<bool>(true);
    for (int refusals = 0; *more;) {
      if (upkeep.stopping()) return fail(Code::kCancelled, "the controller is stopping");
      Status stepped = alone([copy = copy_, more]() -> Status {
        *more = RG_TRY((*copy)->step());
        return {};
      });
      if (stepped) continue;
      if (stepped.error().code != Code::kUnavailable || ++refusals > kMaxRefusals) return stepped;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return alone([copy = copy_] {
      Status finished = (*copy)->finish();
      copy->reset();
      return finished;
    });
  }

 private:
  static constexpr int kMaxRefusals = 1'000;  // of others' locks
  Status alone(std::function<Status()> apply) {
    return writer_.submit_and_wait(std::move(apply), wait_seconds_, Waited::kAlone);
  }
  Writer& writer_;
  Connection& source_;
  const double wait_seconds_;
  // Outlives a wait that was given up; touched on the writer's thread, or when that has answered.
  std::shared_ptr<std::unique_ptr<LiveBackup>> copy_ =
      std::make_shared<std::unique_ptr<LiveBackup>>();
};

}  // namespace

Status Store::back_up(const std::string& target) const {
  const StoreOptions& options = impl_->options;
  // Beside the database the room that new runs want is not a backup's.
  const double reserve = is_same_disk(options.path, target) ? options.min_free_bytes : 0;
  const std::string part = RG_TRY(begin_backup(target, bytes_of(options.path) + reserve));
  const Status copied =
      Copier(impl_->writer, impl_->connection, options.wait_seconds).run(part, impl_->upkeep);
  return end_backup(copied, part, target, [this] { return impl_->upkeep.stopping(); });
}

namespace {

constexpr std::size_t kPruneRanks = 200;     // in one transaction: some milliseconds
constexpr std::size_t kFullPruneRanks = 20;  // likewise on a full disk: the log stays small
constexpr double kPruneWaitSeconds = 120;

// The log's file keeps its size and is written from its beginning: that takes no room. A reader may
// keep it from that; then the log grows.
Status checkpoint(Connection& connection) {
  if (!may_checkpoint(connection)) return {};
  return connection.script("PRAGMA wal_checkpoint(RESTART)");
}

// Takes away in small transactions between the writer's others.
struct Pruner {
  Writer& writer;
  Connection& database;  // the writer thread's, as are the records
  Readers& readers;
  RecordSink& sink;
  const Reserve& reserve;
  const Upkeep& upkeep;
  double largest_share;
  double now;

  // Everything of that level that is older; the answer is the rows taken.
  Result<double> prune(PruneLevel level, double before) {
    const auto runs = RG_TRY(
        readers.run([&](Connection& reader) { return runs_to_prune(reader, level, before, now); }));
    RG_TRY_OK(check_share(level, runs.size()));
    double taken = 0;
    for (const std::int64_t run : runs) {
      taken += RG_TRY(prune_run(level, run));
      if (reserve.is_full()) RG_TRY_OK(shrink());  // the next run may need it
    }
    return taken;
  }

  Status prune_events(double before) {
    return write([&connection = database, before]() -> Status {
      RG_TRY_OK(connection.execute("DELETE FROM repeat_count WHERE at<?1", before));
      return connection.execute("DELETE FROM event WHERE at<?1", before);
    });
  }

  // On a full disk the log may have no room for another transaction.
  Status begin_log_anew() {
    if (!reserve.is_full()) return {};
    if (upkeep.stopping()) return fail(Code::kCancelled, "prune: the controller is stopping");
    return writer.submit_and_wait([&connection = database] { return checkpoint(connection); },
                                  kPruneWaitSeconds, Waited::kAlone);
  }

  // Rows of the audit trail that are older, and refused calls that are too many.
  Status prune_audit_trail(AuditRetention& retention, double before) {
    constexpr std::size_t kRows = 20'000;     // in one transaction: some 100 ms
    constexpr std::size_t kFullRows = 1'000;  // likewise on a full disk: the log stays small
    const AuditAges ages =
        RG_TRY(readers.run([&](Connection& reader) { return read_audit_ages(reader, before); }));
    if (static_cast<double>(ages.older) > largest_share * static_cast<double>(ages.all))
      return fail(Code::kFailedPrecondition,
                  fmt::format("prune: by the clock {} of {} rows of the audit trail are too old at "
                              "once, so the clock may be wrong; they stay until half are newer",
                              ages.older, ages.all));
    const auto deleted = std::make_shared<std::int64_t>(1);  // outlives a wait given up
    while (*deleted > 0)
      RG_TRY_OK(
          write([&connection = database, &retention, deleted,
                 pruning = AuditPruning{
                     .before = before, .now = now, .most = reserve.is_full() ? kFullRows : kRows}] {
            return prune_audit(connection, retention, pruning).map([&](std::int64_t count) {
              *deleted = count;
            });
          }));
    return {};
  }

  // Gives unused pages back.
  Status shrink() {
    const auto left = std::make_shared<std::int64_t>(1);
    for (std::int64_t before = 0; before != *left;) {
      before = *left;
      const Status written = write([&connection = database, &kept = reserve, left]() -> Status {
        RG_TRY_OK(connection.execute(kept.is_full() ? "PRAGMA incremental_vacuum(100)"
                                                    : "PRAGMA incremental_vacuum(1000)"));
        *left = RG_TRY(connection.integer("PRAGMA freelist_count")).value_or(0);
        return {};
      });
      RG_TRY_OK(written);
    }
    return {};
  }

  // Raw samples are days old at most, so all of them may well be too old.
  Status check_share(PruneLevel level, std::size_t runs) {
    if (level == PruneLevel::kRawSamples || runs == 0) return {};
    const double whole =
        RG_TRY(readers.run([&](Connection& reader) { return count_prunable_runs(reader, level); }));
    if (static_cast<double>(runs) <= largest_share * whole) return {};
    return fail(Code::kFailedPrecondition,
                fmt::format("prune: by the clock {} of {:.0f} runs are too old at once, so the "
                            "clock may be wrong; if it is right: railgauge db prune",
                            runs, whole));
  }

  // A wait that was given up leaves the job with the writer: it must not know this object.
  Status write(std::function<Status()> apply) {
    if (upkeep.stopping()) return fail(Code::kCancelled, "prune: the controller is stopping");
    return writer.submit_and_wait(std::move(apply), kPruneWaitSeconds);
  }

  Result<double> prune_run(PruneLevel level, std::int64_t run) {
    const auto ranks =
        RG_TRY(readers.run([&](Connection& reader) { return ranks_of_run(reader, run); }));
    const auto taken = std::make_shared<double>(0);  // outlives a wait given up
    const std::size_t most = reserve.is_full() ? kFullPruneRanks : kPruneRanks;
    for (std::size_t begin = 0; begin < ranks.size(); begin += most) {
      const auto first = ranks.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto count = std::min(most, ranks.size() - begin);
      std::vector<std::int64_t> chunk(first, first + static_cast<std::ptrdiff_t>(count));
      const Status written =
          write([&connection = database, level, run, taken, moved = std::move(chunk)]() -> Status {
            *taken += static_cast<double>(RG_TRY(prune_ranks(connection, level, run, moved)));
            return {};
          });
      RG_TRY_OK(written);
    }
    RG_TRY_OK(write([&connection = database, &records = sink, level, run] {
      records.forget();  // ranks that may be gone now
      return mark_pruned(connection, level, run);
    }));
    return *taken;
  }
};

}  // namespace

Result<PruneCounts> Store::prune(const Retention& retention, double now) {
  Pruner pruner{impl_->writer,   impl_->connection, impl_->readers,          impl_->records,
                *impl_->reserve, impl_->upkeep,     retention.largest_share, now};
  impl_->upkeep.yield("a pruning began, which is more urgent; ask again when it has ended");
  impl_->reserve->give_up();
  RG_TRY_OK(pruner.begin_log_anew());
  const auto older = [&](PruneLevel level, double days) -> Result<double> {
    return days > 0 ? pruner.prune(level, now - days * kDaySeconds) : 0;
  };
  PruneCounts counts;
  const double pages_before = RG_TRY(pages());
  // A level that is refused keeps the others from nothing.
  std::optional<Error> refusal;
  const auto take = [&](PruneLevel level, double days) {
    const Result<double> taken = older(level, days);
    if (!taken && !refusal) refusal = taken.error();
    return taken.value_or(0);
  };
  counts.raw_samples = take(PruneLevel::kRawSamples, retention.raw_sample_days);
  counts.distributions = take(PruneLevel::kDistributions, retention.distribution_days);
  counts.points = take(PruneLevel::kPoints, retention.point_days);
  // Their clock is the controller's, which a refusal doubts.
  if (!refusal && retention.event_days > 0)
    RG_TRY_OK(pruner.prune_events(now - retention.event_days * kDaySeconds));
  if (!refusal && retention.audit_days > 0)
    if (const Status pruned = pruner.prune_audit_trail(impl_->audit_retention,
                                                       now - retention.audit_days * kDaySeconds);
        !pruned)
      refusal = pruned.error();
  RG_TRY_OK(pruner.shrink());
  static_cast<void>(impl_->reserve->check());  // there may be room now
  if (refusal) return tl::unexpected(*refusal);
  counts.freed_bytes = std::max(0.0, pages_before - RG_TRY(pages()));
  return counts;
}

// Bytes of the database's pages, also of those that are still in the log alone.
Result<double> Store::pages() const {
  return impl_->readers.run([](Connection& reader) -> Result<double> {
    const auto count = RG_TRY(reader.integer("PRAGMA page_count")).value_or(0);
    return static_cast<double>(count * RG_TRY(reader.integer("PRAGMA page_size")).value_or(0));
  });
}

}  // namespace railgauge::store

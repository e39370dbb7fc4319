// Store's functions about its file.
#include <functional>
#include <thread>

#include <fmt/format.h>

#include "controller/store/sqlite/live_backup.h"
#include "controller/store/store_impl.h"
#include "controller/store/upkeep/backup.h"
#include "controller/store/upkeep/maintenance.h"

namespace railgauge::store {

Result<SpaceRow> Store::space() const {
  SpaceRow space = RG_TRY(impl_->upkeep.run(impl_->options, "stats",
                                            [](Connection& reader) { return read_space(reader); }));
  // Pages that are still in the log alone belong to the file as well.
  double used_bytes = space.free_bytes;
  for (const SpacePart& part : space.parts) used_bytes += part.bytes;
  space.file_bytes = std::max(used_bytes, size_of_file(impl_->options.path));
  space.wal_bytes = size_of_file(impl_->options.path + "-wal");
  space.disk_free_bytes = free_bytes_beside(impl_->options.path).value_or(0);
  return space;
}

Result<std::vector<std::string>> Store::check() const {
  return impl_->upkeep.run(impl_->options, "check",
                           [](Connection& reader) { return find_problems(reader); });
}

namespace {

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
      const Status stepped = alone([copy = copy_, more]() -> Status {
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
  const double bytes = size_of_file(options.path) + size_of_file(options.path + "-wal");
  // Beside the database the room that new runs want is not a backup's.
  const double reserve = is_same_disk(options.path, target) ? options.min_free_bytes : 0;
  const std::string part = RG_TRY(begin_backup(target, bytes + reserve));
  const Status copied =
      Copier(impl_->writer, impl_->connection, options.wait_seconds).run(part, impl_->upkeep);
  if (copied) return end_backup(part, target, [this] { return impl_->upkeep.stopping(); });
  std::error_code ignored;
  std::filesystem::remove(part, ignored);
  return fail(copied.error().code, fmt::format("backup {}: {}", target, copied.error().message));
}

namespace {

constexpr std::size_t kPruneRanks = 200;  // in one transaction: some milliseconds
constexpr double kPruneWaitSeconds = 120;

// Takes away in small transactions between the writer's others.
class Pruner {
 public:
  Pruner(Writer& writer, Connection& connection, Readers& readers, RecordSink& records,
         const Upkeep& upkeep, double largest_share, double now)
      : writer_(writer),
        connection_(connection),
        readers_(readers),
        records_(records),
        upkeep_(upkeep),
        largest_share_(largest_share),
        now_(now) {}

  // Everything of that level that is older; the answer is the rows taken.
  Result<double> prune(PruneLevel level, double before) {
    const auto runs = RG_TRY(readers_.run(
        [&](Connection& reader) { return runs_to_prune(reader, level, before, now_); }));
    RG_TRY_OK(check_share(level, runs.size()));
    double taken = 0;
    for (const std::int64_t run : runs) taken += RG_TRY(prune_run(level, run));
    return taken;
  }

  Status prune_events(double before) {
    return write([&connection = connection_, before]() -> Status {
      RG_TRY_OK(connection.execute("DELETE FROM repeat_count WHERE at<?1", before));
      return connection.execute("DELETE FROM event WHERE at<?1", before);
    });
  }

  // Gives unused pages back.
  Status shrink() {
    const auto left = std::make_shared<std::int64_t>(1);
    for (std::int64_t before = 0; before != *left;) {
      before = *left;
      const Status written = write([&connection = connection_, left]() -> Status {
        RG_TRY_OK(connection.execute("PRAGMA incremental_vacuum(1000)"));
        *left = RG_TRY(connection.integer("PRAGMA freelist_count")).value_or(0);
        return {};
      });
      RG_TRY_OK(written);
    }
    return {};
  }

 private:
  // Raw samples are days old at most, so all of them may well be too old.
  Status check_share(PruneLevel level, std::size_t runs) {
    if (level == PruneLevel::kRawSamples || runs == 0) return {};
    const double whole = RG_TRY(
        readers_.run([&](Connection& reader) { return count_prunable_runs(reader, level); }));
    if (static_cast<double>(runs) <= largest_share_ * whole) return {};
    return fail(Code::kFailedPrecondition,
                fmt::format("prune: by the clock {} of {:.0f} runs are too old at once, so the "
                            "clock may be wrong; if it is right: railgauge db prune",
                            runs, whole));
  }

  // A wait that was given up leaves the job with the writer: it must not know this object.
  Status write(std::function<Status()> apply) {
    if (upkeep_.stopping()) return fail(Code::kCancelled, "prune: the controller is stopping");
    return writer_.submit_and_wait(std::move(apply), kPruneWaitSeconds);
  }

  Result<double> prune_run(PruneLevel level, std::int64_t run) {
    const auto ranks =
        RG_TRY(readers_.run([&](Connection& reader) { return ranks_of_run(reader, run); }));
    const auto taken = std::make_shared<double>(0);  // outlives a wait given up
    for (std::size_t begin = 0; begin < ranks.size(); begin += kPruneRanks) {
      const auto first = ranks.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto count = std::min(kPruneRanks, ranks.size() - begin);
      std::vector<std::int64_t> chunk(first, first + static_cast<std::ptrdiff_t>(count));
      const Status written =
          write([&connection = connection_, level, taken, moved = std::move(chunk)]() -> Status {
            *taken += static_cast<double>(RG_TRY(prune_ranks(connection, level, moved)));
            return {};
          });
      RG_TRY_OK(written);
    }
    RG_TRY_OK(write([&connection = connection_, &records = records_, level, run] {
      records.forget();  // ranks that may be gone now
      return mark_pruned(connection, level, run);
    }));
    return *taken;
  }

  Writer& writer_;
  Connection& connection_;  // the writer thread's, as are the records
  Readers& readers_;
  RecordSink& records_;
  const Upkeep& upkeep_;
  double largest_share_;
  double now_;
};

}  // namespace

Result<PruneCounts> Store::prune(const Retention& retention, double now) {
  Pruner pruner(impl_->writer, impl_->connection, impl_->readers, impl_->records, impl_->upkeep,
                retention.largest_share, now);
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
  RG_TRY_OK(pruner.shrink());
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

// Store's functions about its file.
#include <functional>

#include <fmt/format.h>

#include "controller/store/backup.h"
#include "controller/store/maintenance.h"
#include "controller/store/store_impl.h"

namespace railgauge::store {

Result<SpaceRow> Store::space() const {
  SpaceRow space = RG_TRY(impl_->upkeep.run(
      impl_->options, "stats", [](Connection& reader) { return read_space(reader); }));
  // What is still in the log alone belongs to the file as well.
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

Status Store::back_up(const std::string& target) const {
  return store::back_up(impl_->options.path, target);
}

namespace {

constexpr std::size_t kPruneRanks = 200;  // in one transaction: some milliseconds
constexpr double kPruneWaitSeconds = 120;

// Takes away in small transactions between the writer's others.
class Pruner {
 public:
  Pruner(Writer& writer, Connection& connection, Readers& readers, RecordSink& records,
         double largest_share)
      : writer_(writer),
        connection_(connection),
        readers_(readers),
        records_(records),
        largest_share_(largest_share) {}

  // Everything of that level that is older; the answer is the rows taken.
  Result<double> prune(PruneLevel level, double before) {
    const auto runs = RG_TRY(
        readers_.run([&](Connection& reader) { return runs_to_prune(reader, level, before); }));
    RG_TRY_OK(check_share(level, runs.size()));
    double taken = 0;
    for (const std::int64_t run : runs) taken += RG_TRY(prune_run(level, run));
    return taken;
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
  double largest_share_;
};

}  // namespace

Result<PruneCounts> Store::prune(const Retention& retention, double now) {
  Pruner pruner(impl_->writer, impl_->connection, impl_->readers, impl_->records,
                retention.largest_share);
  const auto older = [&](PruneLevel level, double days) -> Result<double> {
    return days > 0 ? pruner.prune(level, now - days * kDaySeconds) : 0;
  };
  PruneCounts counts;
  const double pages_before = RG_TRY(pages());
  counts.raw_samples = RG_TRY(older(PruneLevel::kRawSamples, retention.raw_sample_days));
  counts.distributions = RG_TRY(older(PruneLevel::kDistributions, retention.distribution_days));
  counts.points = RG_TRY(older(PruneLevel::kPoints, retention.point_days));
  RG_TRY_OK(pruner.shrink());
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

#include "controller/standby/warm_file.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/store/outbox/mirror_tables.h"
#include "controller/store/queries/data_kind.h"
#include "controller/store/upkeep/schema.h"

namespace railgauge::standby {
namespace {

using mirror::ArchivedSite;

constexpr double kBusySeconds = 5;
constexpr std::int64_t kChangesAtOnce = 100'000;

// Rows come in whatever order; the copy is consistent at the end of each step. Rows
// that a power cut takes from a copy come once more.
Result<store::Connection> open_file(const std::string& path) {
  store::Connection connection = RG_TRY(store::open_and_migrate(path, kBusySeconds, 0));
  RG_TRY_OK(store::begin_copying(connection));
  return connection;
}

// Whether `start` is one of this database, which had come at least as far as the archive.
Result<bool> knows(store::Connection& connection, const store::MirrorState& state,
                   const ArchivedSite& site) {
  if (site.start.empty()) return true;
  if (site.start == state.start) return site.reaches <= state.newest;
  const auto starts = RG_TRY(store::read_mirror_starts(connection));
  const auto known = std::ranges::find(starts, site.start, &store::MirrorStart::token);
  return known != starts.end() && site.reaches <= known->last_id;
}

}  // namespace

// The lock is that of the store: no other controller of this host opens the file meanwhile.
Result<WarmFile> WarmFile::open(std::string path) {
  store::File lock = RG_TRY(store::lock_database(path, "open"));
  store::Connection connection = RG_TRY(open_file(path));
  return WarmFile(std::move(path), std::move(lock), std::move(connection));
}

void WarmFile::close() {
  connection_.reset();
  lock_.reset();
}

Status WarmFile::transact(const std::function<Status(store::Connection&)>& work) {
  return store::in_transaction(*connection_, work);
}

// By the id of the store and the token of the start that wrote last, as the mirror's own claim
// does. A database without nodes and runs is of no site yet and may become a copy. One with data of
// its own never does, since the copy would take its place.
Result<Kinship> WarmFile::kinship(const std::optional<ArchivedSite>& site) {
  const store::CopyState copy = RG_TRY(store::read_copy_state(*connection_));
  if (copy.copy_epoch > 0) return Kinship::kCopy;
  const store::MirrorState state = RG_TRY(store::read_mirror_state(*connection_));
  if (!site) return Kinship::kOwn;
  const bool is_empty = RG_TRY(store::read_data_kind(*connection_)) == store::DataKind::kNone;
  if (state.store_id != site->store_id) return is_empty ? Kinship::kCopy : Kinship::kStranger;
  return RG_TRY(knows(*connection_, state, *site)) ? Kinship::kOwn : Kinship::kDeposed;
}

std::string WarmFile::deposed_path(std::int64_t generation) const {
  const std::string path = fmt::format("{}.deposed-{}", path_, generation);
  std::error_code failure;
  for (int number = 0;; ++number) {
    std::string free = number == 0 ? path : fmt::format("{}-{}", path, number);
    if (!std::filesystem::exists(free, failure)) return free;
  }
}

Result<std::int64_t> WarmFile::generation() {
  const store::CopyState copy = RG_TRY(store::read_copy_state(*connection_));
  return copy.generation;
}

// The log goes into the file with the last connection's end. A name that is taken is of a database
// that was deposed before, and may have what exists nowhere else.
Status WarmFile::set_aside() {
  const std::int64_t generation = RG_TRY(this->generation());
  connection_.reset();
  std::error_code failure;
  const std::string aside = deposed_path(generation);
  for (const char* end : {"-wal", "-shm"}) std::filesystem::remove(aside + end, failure);
  std::filesystem::rename(path_, aside, failure);
  if (failure)
    return fail(Code::kUnavailable, "{}: set aside as {}: {}", path_, aside, failure.message());
  spdlog::warn("standby: the database of before is kept as {}", aside);
  connection_ = RG_TRY(open_file(path_));
  return store::raise_generation(*connection_, generation);
}

// The generation survives: the next lease has to be higher than all that this host has seen.
Status WarmFile::begin_anew() {
  const std::int64_t generation = RG_TRY(this->generation());
  connection_.reset();
  std::error_code failure;
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path_ + end, failure);
  connection_ = RG_TRY(open_file(path_));
  return store::raise_generation(*connection_, generation);
}

// In one snapshot of the archive. A copy begins anew where changes went unnoted (another epoch), or
// where those behind its position are dropped already; else it takes the changes in their order.
Result<Followed> WarmFile::follow(pq::Connection& archive, const std::string& site_name,
                                  const std::function<bool()>& is_over) {
  RG_TRY_OK(archive.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"));
  Followed followed;
  const Status done = [&]() -> Status {
    const auto site = RG_TRY(mirror::read_archived_site(archive, site_name));
    if (!site || !site->is_complete) {
      followed.waits_for = site ? "the archive lacks tables that are still sent"
                                : "no controller has written to the archive yet";
      return {};
    }
    store::CopyState state = RG_TRY(store::read_copy_state(*connection_));
    const bool has_gap = state.position < site->changes_from;
    if (state.copy_epoch != site->copy_epoch || !state.is_whole || has_gap) {
      RG_TRY_OK(copy_all(archive, *site, is_over));
      state = RG_TRY(store::read_copy_state(*connection_));
    } else if (!has_read_runs_) {
      RG_TRY_OK(copy_table(archive, *site, store::mirror_table_number("run"), {}, is_over));
    }
    has_read_runs_ = true;
    while (state.position < site->newest) {
      if (is_over()) return fail(Code::kCancelled, "the controller stops");
      followed.rows += RG_TRY(take_changes(archive, *site, state.position));
      state = RG_TRY(store::read_copy_state(*connection_));
    }
    if (site->is_synthetic) RG_TRY_OK(store::mark_copy_synthetic(*connection_));
    RG_TRY_OK(drop_pruned(is_over));
    followed.is_whole = true;
    return {};
  }();
  const Status ended = archive.execute(done ? "COMMIT" : "ROLLBACK");
  RG_TRY_OK(done);
  RG_TRY_OK(ended);
  return followed;
}

// In one snapshot of the archive, so that the copy begins consistent.
Status WarmFile::copy_all(pq::Connection& archive, const ArchivedSite& site,
                          const std::function<bool()>& is_over) {
  RG_TRY_OK(begin_anew());
  may_have_pruned_ = true;
  RG_TRY_OK(transact([&](store::Connection& connection) -> Status {
    RG_TRY_OK(store::begin_copy(connection));
    return store::write_copy_state(connection, {.copy_epoch = site.copy_epoch});
  }));
  const mirror::PrunedRuns pruned = RG_TRY(mirror::read_pruned_runs(archive, site.site));
  std::int64_t rows = 0;
  for (std::size_t table = 0; table < store::mirror_tables().size(); ++table)
    rows += RG_TRY(copy_table(archive, site, table, pruned, is_over));
  RG_TRY_OK(mirror::read_last_tasks(archive, site.site, [&](const store::MirrorRows& page) {
    return transact(
        [&](store::Connection& connection) { return store::put_mirror_rows(connection, page); });
  }));
  spdlog::info("standby: the copy of the site is whole: {} rows", rows);
  return transact([&](store::Connection& connection) -> Status {
    return store::write_copy_state(
        connection, {.copy_epoch = site.copy_epoch, .position = site.newest, .is_whole = true});
  });
}

// Returns the rows.
Result<std::int64_t> WarmFile::copy_table(pq::Connection& archive, const ArchivedSite& site,
                                          std::size_t table, const mirror::PrunedRuns& left_out,
                                          const std::function<bool()>& is_over) {
  std::int64_t rows = 0;
  RG_TRY_OK(mirror::read_table(archive, site.site, table, left_out,
                               [&](const store::MirrorRows& page) -> Status {
                                 if (is_over())
                                   return fail(Code::kCancelled, "the controller stops");
                                 rows += static_cast<std::int64_t>(page.count());
                                 return transact([&](store::Connection& connection) {
                                   return store::put_mirror_rows(connection, page);
                                 });
                               }));
  return rows;
}

// Returns the changes that were read. They are of the snapshot's state, which may be newer than the
// change: the copy is consistent once all are in.
Result<std::int64_t> WarmFile::take_changes(pq::Connection& archive, const ArchivedSite& site,
                                            std::int64_t after) {
  const mirror::ArchiveChanges found =
      RG_TRY(mirror::read_changes(archive, site.site, after, kChangesAtOnce));
  RG_TRY_OK(transact([&](store::Connection& connection) -> Status {
    std::size_t begin = 0;
    while (begin < found.changes.size()) {
      const std::size_t table = found.changes[begin].source;
      std::size_t end = begin;
      while (end < found.changes.size() && found.changes[end].source == table) ++end;
      if (table == store::mirror_table_number("run")) may_have_pruned_ = true;
      if (table < store::mirror_tables().size())
        RG_TRY_OK(mirror::read_changed_rows(archive, site.site, table,
                                            std::span(found.changes).subspan(begin, end - begin),
                                            [&](const store::MirrorRows& rows) {
                                              return store::put_mirror_rows(connection, rows);
                                            }));
      begin = end;
    }
    return store::write_copy_state(
        connection, {.copy_epoch = site.copy_epoch, .position = found.through, .is_whole = true});
  }));
  return found.read;
}

// As the site's own controller did, so that a successor neither adds those points to the days'
// figures once more nor keeps them for ever. The days' figures themselves come from the archive.
Status WarmFile::drop_pruned(const std::function<bool()>& is_over) {
  while (may_have_pruned_) {
    if (is_over()) return fail(Code::kCancelled, "the controller stops");
    RG_TRY_OK(transact([&](store::Connection& connection) -> Status {
      may_have_pruned_ = RG_TRY(store::drop_pruned_run(connection));
      return {};
    }));
  }
  return {};
}

// The sync is behind the last write: from here on the file is the only one.
// The new generation is stored with the rest, so that this host never takes a lower one.
Status WarmFile::take_over(pq::Connection& archive, const std::string& site_name,
                           std::int64_t generation) {
  const auto site = RG_TRY(mirror::read_archived_site(archive, site_name));
  const store::CopyState copy = RG_TRY(store::read_copy_state(*connection_));
  if (copy.copy_epoch == 0 || !site) return store::raise_generation(*connection_, generation);
  auto marks = RG_TRY(mirror::read_spool_marks(archive, site->site));
  RG_TRY_OK(transact([&](store::Connection& connection) {
    return store::inherit(connection, {.generation = generation,
                                       .store_id = site->store_id,
                                       .arming = site->arming,
                                       .start = site->start,
                                       .reaches = site->reaches,
                                       .outbox_through = site->outbox_through,
                                       .spool_marks = std::move(marks)});
  }));
  return store::end_copying(*connection_);
}

}  // namespace railgauge::standby

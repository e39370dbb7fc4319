#include "controller/mirror/site_link.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/mirror/archive_content.h"
#include "controller/mirror/archive_schema.h"
#include "controller/mirror/copy_rows.h"
#include "controller/mirror/merge_sql.h"
#include "controller/store/outbox/mirror_tables.h"

namespace railgauge::mirror {
namespace {

// Points of clocks that are far off go to one table that is no month.
constexpr int kPastMonths = 240;
constexpr int kFutureMonths = 2;
// Digests that are remembered, to ask for each only once.
constexpr std::size_t kMaxKnownBlobs = 100'000;
constexpr double kDaySeconds = 86'400;
constexpr int kMostDrops = 3;  // months of one call
constexpr int kChangesOfDrop = 10'000;
// Before the first key of a walk, and behind the last one.
constexpr std::int64_t kFirstKey = -9'223'372'036'854'775'807;
constexpr std::int64_t kLastKey = 9'223'372'036'854'775'807;

}  // namespace

Result<std::unique_ptr<SiteLink>> SiteLink::open(pq::ConnectOptions options,
                                                 const SiteClaim& claim) {
  auto database = RG_TRY(pq::Connection::open(std::move(options)));
  RG_TRY_OK(commit_durably(*database));
  RG_TRY_OK(ensure_schema(*database));
  // A merge waits for no other session for long; a drop of a month may hold it.
  RG_TRY_OK(database->script(
      "SET TimeZone='UTC'; SET lock_timeout='5s'; SET idle_in_transaction_session_timeout='60s'"));
  std::unique_ptr<SiteLink> session(new SiteLink(std::move(database), claim));
  RG_TRY_OK(session->claim_site());
  return session;
}

// --- the claim ---------------------------------------------------------------------------------

// In one transaction, so that of two controllers that start at once one is the later. A lock of the
// names alone: merges of other sites go on meanwhile.
Status SiteLink::claim_site() {
  RG_TRY_OK(database_->script("BEGIN; SELECT pg_advisory_xact_lock(5927844)"));
  RG_TRY_OK(check_names());
  RG_TRY_OK(insert_site());
  const pq::Answer found =
      RG_TRY(database_->query("SELECT site, store_id, generation, arming, outbox_through, start, "
                              "schema_version, has_changes, greatest(reaches, outbox_through) "
                              "FROM railgauge.site WHERE name=$1 FOR UPDATE",
                              {claim_.name}));
  site_ = found.integer(0, 0);
  place_.outbox_through = found.integer(0, 4);
  if (found.text(0, 1) != claim_.store_id)
    return fail(
        Code::kFailedPrecondition,
        "the archive has a site {} of another database; give this controller another --site",
        claim_.name);
  RG_TRY_OK(check_start(found.text(0, 5), found.integer(0, 8), found.integer(0, 2)));
  const bool is_new_arming = found.integer(0, 3) != claim_.arming;
  if (is_new_arming) place_.outbox_through = 0;
  // The archive went back in time behind rows that were trimmed, or has columns that it lacks.
  const bool has_gap = place_.outbox_through + 1 < claim_.oldest;
  const bool is_anew = is_new_arming || has_gap || found.integer(0, 6) < kColumnsVersion;
  const bool lacks_pruned = !is_anew && found.integer(0, 6) < kPrunedVersion;
  if (is_anew) RG_TRY_OK(begin_walks());
  if (lacks_pruned) RG_TRY_OK(walk_runs_again());
  // Copies of standbys lack what went unnoted.
  const bool has_changes = claim_.lease > 0;
  const bool is_other_copy = has_changes && (is_anew || lacks_pruned || found.text(0, 7) != "t");
  generation_ = found.integer(0, 2) + 1;
  RG_TRY_OK(database_->execute(
      "UPDATE railgauge.site SET generation=$2, arming=$3, outbox_through=$4, keep_days=$5, "
      "start=$6, schema_version=$7, is_synthetic=$8, has_changes=$9, copy_epoch=copy_epoch + "
      "$10::bigint, reaches=$11 WHERE site=$1",
      {std::to_string(site_), std::to_string(generation_), std::to_string(claim_.arming),
       std::to_string(place_.outbox_through), fmt::format("{}", claim_.keep_days), claim_.start,
       std::to_string(kSchemaVersion), claim_.is_synthetic ? "true" : "false",
       has_changes ? "true" : "false", is_other_copy ? "1" : "0",
       std::to_string(std::max(claim_.newest, place_.outbox_through))}));
  RG_TRY_OK(read_walks());
  const pq::Answer committed = RG_TRY(database_->script(commit_sql()));
  static_cast<void>(committed);
  return {};
}

// One database is one site, also after a change of its name: it would be there twice.
Status SiteLink::check_names() {
  const pq::Answer others = RG_TRY(database_->query(
      "SELECT name, start, greatest(reaches, outbox_through) FROM railgauge.site WHERE store_id=$1 "
      "AND name<>$2",
      {claim_.store_id, claim_.name}));
  for (int row = 0; row < others.rows(); ++row) {
    // The archive of a database that was restored since may be continued under another name.
    if (!check_start(others.text(row, 1), others.integer(row, 2), 0)) continue;
    return fail(Code::kFailedPrecondition,
                "this database writes to the archive as site {}; use that name, or rename the site "
                "there first: UPDATE railgauge.site SET name='{}' WHERE name='{}'",
                others.text(row, 0), claim_.name, others.text(row, 0));
  }
  return {};
}

// `start` and `mark`: which start sent the last row, and the newest row of that start's outbox when
// it was read. A database that ends before is behind the archive.
Status SiteLink::check_start(std::string_view start, std::int64_t mark,
                             std::int64_t generation) const {
  if (start.empty()) return {};
  const bool is_mine = start == claim_.start;
  if (!is_mine && claim_.generation > 0 && generation > claim_.generation)
    return fail(Code::kFailedPrecondition,
                "another controller writes to the archive as site {}; this one sends nothing more "
                "until it is started anew",
                claim_.name);
  const auto known = std::ranges::find(claim_.starts, start, &store::MirrorStart::token);
  const bool is_known =
      is_mine ? mark <= claim_.newest : known != claim_.starts.end() && mark <= known->last_id;
  if (is_known) return {};
  return fail(Code::kFailedPrecondition,
              "the archive of site {} is ahead of this database: it was restored, or is a copy; "
              "deploy/docs/guide/archive.md has the ways to continue",
              claim_.name);
}

// Sites are few: their numbers are given under the lock of the names.
Status SiteLink::insert_site() {
  return database_->execute(
      "INSERT INTO railgauge.site (site, name, store_id, start, schema_version, is_synthetic, "
      "generation, arming, outbox_through) SELECT (SELECT coalesce(max(site), 0) + 1 FROM "
      "railgauge.site), $1, $2, '', $3, false, 0, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM "
      "railgauge.site WHERE name=$1)",
      {claim_.name, claim_.store_id, std::to_string(kSchemaVersion)});
}

// Rows that are there already stay as they are, so that a second copy costs reading alone.
Status SiteLink::begin_walks() {
  std::string rows;
  for (const store::MirrorTable& table : store::mirror_tables())
    rows += fmt::format("{}({}, '{}', {}, false)", rows.empty() ? "" : ", ", site_, table.name,
                        kFirstKey);
  RG_TRY_OK(database_->execute(fmt::format("DELETE FROM railgauge.walk WHERE site={}", site_)));
  return database_->execute("INSERT INTO railgauge.walk (site, name, through, is_done) VALUES " +
                            rows);
}

Status SiteLink::walk_runs_again() {
  return database_->execute(fmt::format(
      "INSERT INTO railgauge.walk (site, name, through, is_done) VALUES ({}, 'run', {}, "
      "false) ON CONFLICT (site, name) DO UPDATE SET through=excluded.through, "
      "is_done=false",
      site_, kFirstKey));
}

// A table that this program knows and the walk does not came with an update: it is walked too.
Status SiteLink::read_walks() {
  const pq::Answer rows = RG_TRY(database_->query(
      "SELECT name, through, is_done FROM railgauge.walk WHERE site=$1", {std::to_string(site_)}));
  for (int row = 0; row < rows.rows(); ++row) {
    const std::string name(rows.text(row, 0));
    if (rows.text(row, 2) == "t")
      place_.walked.insert(name);
    else
      place_.walks[name] = rows.integer(row, 1);
  }
  for (const store::MirrorTable& table : store::mirror_tables())
    if (!place_.walked.contains(table.name))
      place_.walks.try_emplace(std::string(table.name), kFirstKey);
  return {};
}

// --- batches -----------------------------------------------------------------------------------

// The mark is the last row of the outbox that the batch covers; rows that changed since were read
// as they are now and are sent once more later, which changes nothing.
Status SiteLink::send(const store::MirrorBatch& batch, std::int64_t newest, double even_at,
                      double now) {
  const std::int64_t waiting = std::max<std::int64_t>(0, newest - batch.through);
  const std::string mark = fmt::format(
      "UPDATE railgauge.site SET outbox_through={}, waiting={}, reaches=greatest(reaches, {}), "
      "merged_at=now(){} WHERE site={} AND generation={} RETURNING 1",
      batch.through, waiting, newest,
      even_at > 0 ? fmt::format(", even_at=to_timestamp({})", even_at) : "", site_, generation_);
  RG_TRY_OK(commit(batch, mark, "", now));
  place_.outbox_through = batch.through;
  return {};
}

// Rows of the page's keys that are gone here go there too.
Status SiteLink::send_walk(std::size_t table, const store::MirrorBatch& batch, std::int64_t newest,
                           bool is_last, double now) {
  const std::string name(store::mirror_tables()[table].name);
  const std::string mark = fmt::format(
      "INSERT INTO railgauge.walk (site, name, through, is_done) VALUES ({0}, '{1}', {2}, {3}) ON "
      "CONFLICT (site, name) DO UPDATE SET through=EXCLUDED.through, is_done=EXCLUDED.is_done; "
      "UPDATE railgauge.site SET merged_at=now(), reaches=greatest(reaches, {5}) WHERE site={0} "
      "AND generation={4} RETURNING 1",
      site_, name, batch.through, is_last, generation_, newest);
  RG_TRY_OK(stage(table));
  const auto before = place_.walks.find(name);
  const std::int64_t after = before == place_.walks.end() ? kFirstKey : before->second;
  RG_TRY_OK(commit(batch, mark,
                   delete_range_sql(table, site_, after, is_last ? kLastKey : batch.through), now));
  if (is_last) {
    place_.walks.erase(name);
    place_.walked.insert(name);
  } else {
    place_.walks[name] = batch.through;
  }
  return {};
}

// The mark comes first: it locks the site's row, and fails a session that was shut out.
// Without rows the mark moves all the same: rows of the outbox may be of tables that are gone.
Status SiteLink::commit(const store::MirrorBatch& batch, const std::string& mark,
                        const std::string& first, double now) {
  for (const store::MirrorRows& rows : batch.tables) {
    RG_TRY_OK(stage(rows.table));
    if (store::mirror_tables()[rows.table].name == "point") RG_TRY_OK(make_months(rows, now));
  }
  RG_TRY_OK(carry_blobs(batch, now));
  const Status done = [&]() -> Status {
    const pq::Answer mine = RG_TRY(database_->script("BEGIN; " + mark));
    if (mine.rows() != 1)
      return fail(Code::kFailedPrecondition,
                  "another controller writes to the archive as site {}; this one sends "
                  "nothing more",
                  claim_.name);
    std::string merges = first;
    RG_TRY_OK(carry(batch, merges));
    if (claim_.lease > 0) RG_TRY_OK(carry_changes(batch, merges));
    RG_TRY_OK(database_->script(merges + commit_sql()));
    return {};
  }();
  if (!done) static_cast<void>(database_->execute("ROLLBACK"));
  return done;
}

// It lives as long as the link, and is empty between batches.
Status SiteLink::stage(std::size_t table) {
  if (staged_.contains(table)) return {};
  RG_TRY_OK(database_->execute(staging_sql(table)));
  staged_.insert(table);
  return {};
}

// The merges run in one round trip, behind all copies.
Status SiteLink::carry(const store::MirrorBatch& batch, std::string& merges) {
  std::vector<BlobRef> blobs;
  for (const store::MirrorRows& rows : batch.tables) {
    if (!rows.cells.empty())
      RG_TRY_OK(database_->copy_in(copy_sql(rows.table), copy_of(rows, blobs)));
    merges += merge_sql(rows.table, site_, rows.keys);
  }
  return {};
}

// A deposed controller fails here, whatever it did before.
std::string SiteLink::commit_sql() const {
  if (claim_.lease == 0) return "COMMIT";
  return fmt::format("SELECT railgauge.require_lease('{}', {}); COMMIT", claim_.name, claim_.lease);
}

// The site's row is locked, so that positions grow in the order of commits.
Status SiteLink::carry_changes(const store::MirrorBatch& batch, std::string& merges) {
  std::string rows;
  for (const store::MirrorChange& change : batch.changes)
    rows += change.last == change.key
                ? fmt::format("{}\t{}\t{}\t\\N\n", site_, change.source, change.key)
                : fmt::format("{}\t{}\t{}\t{}\n", site_, change.source, change.key, change.last);
  if (!rows.empty())
    RG_TRY_OK(
        database_->copy_in("COPY railgauge.change (site, source, key, last) FROM STDIN", rows));
  std::string marks;
  for (const store::SpoolMark& mark : batch.spool_marks) {
    std::int64_t& sent = spool_marks_[mark.node];
    if (std::exchange(sent, mark.through) == mark.through) continue;
    marks +=
        fmt::format("{}({}, {}, {})", marks.empty() ? "" : ", ", site_, mark.node, mark.through);
  }
  if (!marks.empty())
    merges += "INSERT INTO railgauge.spool_mark (site, node, through) VALUES " + marks +
              " ON CONFLICT (site, node) DO UPDATE SET through=EXCLUDED.through;\n";
  return {};
}

// Content goes before the rows that refer to it, some MiB at once: a crash leaves at worst content
// that nothing refers to yet. A night's end has thousands of small ones.
// Content of an old claim may be dropped since: it is claimed anew.
Status SiteLink::carry_blobs(const store::MirrorBatch& batch, double now) {
  std::vector<BlobRef> blobs;
  for (const store::MirrorRows& rows : batch.tables)
    if (std::ranges::any_of(store::mirror_tables()[rows.table].columns, [](const auto& column) {
          return column.kind == store::MirrorKind::kBlob;
        }))
      static_cast<void>(copy_of(rows, blobs));
  if (blobs_.size() > kMaxKnownBlobs || std::abs(now - blobs_since_) >= kContentHeldSeconds) {
    blobs_.clear();
    blobs_since_ = now;
  }
  std::erase_if(blobs, [this](const BlobRef& blob) { return !blobs_.insert(blob.digest).second; });
  if (blobs.empty()) return {};
  const auto present = RG_TRY(claim_content(*database_, blobs));
  std::vector<BlobPart> wanted;
  std::size_t bytes = 0;
  for (const BlobRef& blob : blobs) {
    const std::size_t parts = parts_of(blob);
    const auto found = present.find(hex_of(blob.digest));
    if (found != present.end() && found->second == parts) continue;
    for (std::size_t part = 0; part < parts; ++part) {
      wanted.push_back({.blob = &blob, .part = part});
      bytes += std::min(blob.bytes.size(), kBlobPartBytes);
      if (bytes < kBlobPartBytes) continue;
      RG_TRY_OK(send_blobs(std::exchange(wanted, {})));
      bytes = 0;
    }
  }
  return wanted.empty() ? Status{} : send_blobs(wanted);
}

// The staging table stays with the session; its rows end with the transaction, so that nothing is
// truncated by hand, which would cost a new file each time.
Status SiteLink::send_blobs(const std::vector<BlobPart>& parts) {
  const Status done = [&]() -> Status {
    RG_TRY_OK(database_->script(
        "BEGIN; CREATE TEMP TABLE IF NOT EXISTS stage_blob (digest bytea, part integer, body "
        "bytea) ON COMMIT DELETE ROWS"));
    RG_TRY_OK(database_->copy_in("COPY pg_temp.stage_blob FROM STDIN (FORMAT binary)",
                                 copy_of_blobs(parts)));
    RG_TRY_OK(database_->script(
        "INSERT INTO railgauge.blob (digest, part, body) SELECT digest, part, body FROM "
        "pg_temp.stage_blob ORDER BY digest, part ON CONFLICT (digest, part) DO UPDATE SET "
        "used_at=now(); COMMIT"));
    return {};
  }();
  if (!done) static_cast<void>(database_->execute("ROLLBACK"));
  return done;
}

// --- months ------------------------------------------------------------------------------------

// Partitions are made before the transaction that fills them, so that a refusal spoils no batch.
Status SiteLink::make_months(const store::MirrorRows& points, double now) {
  const store::MirrorTable& table = store::mirror_tables()[points.table];
  const auto column = std::ranges::find(table.columns, "measured_ms", &store::MirrorColumn::name);
  const auto place = static_cast<std::size_t>(column - table.columns.begin());
  const int present = month_of(now);
  std::set<int> wanted;
  for (std::size_t row = 0; row < points.count(); ++row) {
    const std::int64_t ms =
        std::get<std::int64_t>(points.cells[row * table.columns.size() + place]);
    const int month = month_of(static_cast<double>(ms) / 1e3);
    if (month >= present - kPastMonths && month <= present + kFutureMonths) wanted.insert(month);
  }
  for (const int month : wanted) RG_TRY_OK(make_month(month));
  return {};
}

Status SiteLink::make_months_ahead(double now) {
  const int present = month_of(now);
  for (const int month : refused_months_) months_.erase(month);
  refused_months_.clear();
  RG_TRY_OK(make_month(present));
  return make_month(present + 1);
}

// Under a lock of all sites: of two that make one month at once, one would fail. The table is there
// before anybody waits, and a session that only reads it waits for no lock of ours.
Status SiteLink::make_month(int month) {
  if (months_.contains(month)) return {};
  const pq::Answer there = RG_TRY(
      database_->query(fmt::format("SELECT to_regclass('railgauge.{}')", month_name(month))));
  if (there.is_null(0, 0)) {
    const Status made = [&]() -> Status {
      RG_TRY_OK(database_->script("BEGIN; SELECT pg_advisory_xact_lock(5927845)"));
      RG_TRY_OK(database_->execute(month_sql(month)));
      return database_->execute("COMMIT");
    }();
    const std::string state = database_->last_state();
    if (!made) static_cast<void>(database_->execute("ROLLBACK"));
    if (!made && state == "55P03") refused_months_.insert(month);
    if (!made && state == "23514") RG_TRY_OK(make_month_from_others(month));
    if (!made && state != "55P03" && state != "23514") return made;
  }
  months_.insert(month);
  return {};
}

// One node whose clock is months ahead must not cost all sites a month's table. Too many points to
// move in that time, or a reader that holds their table: points of the month join the others, and
// the next hour tries again.
Status SiteLink::make_month_from_others(int month) {
  const Status moved = [&]() -> Status {
    RG_TRY_OK(database_->script(
        "BEGIN; SET LOCAL statement_timeout='30s'; SELECT pg_advisory_xact_lock(5927845)"));
    RG_TRY_OK(database_->script(month_from_others_sql(month)));
    return database_->execute("COMMIT");
  }();
  const std::string state = database_->last_state();
  if (moved) return {};
  static_cast<void>(database_->execute("ROLLBACK"));
  if (state != "57014" && state != "55P03") return moved;
  refused_months_.insert(month);
  return {};
}

// A day is the time for which spools keep what is acknowledged: a standby that was away for longer
// begins a copy anyway. A statement reads so many of the oldest changes at most, so that it is
// short.
Result<bool> SiteLink::drop_old_changes() {
  if (claim_.lease == 0) return false;
  const pq::Answer dropped = RG_TRY(database_->query(
      fmt::format(
          "WITH begin AS (SELECT changes_from AS position FROM railgauge.site WHERE "
          "site=$1::smallint), old AS (SELECT max(position) AS last FROM (SELECT position, at FROM "
          "railgauge.change WHERE site=$1::smallint AND position>(SELECT position FROM begin) "
          "ORDER BY position LIMIT {}) AS oldest WHERE at < now() - interval '24 hours'), gone AS "
          "(DELETE FROM railgauge.change WHERE site=$1::smallint AND position>(SELECT position "
          "FROM begin) AND position<=(SELECT last FROM old) RETURNING position), moved AS "
          "(UPDATE railgauge.site SET changes_from=greatest(changes_from, (SELECT max(position) "
          "FROM gone)) WHERE site=$1::smallint AND EXISTS (SELECT 1 FROM gone)) SELECT count(*) "
          "FROM gone",
          kChangesOfDrop),
      {std::to_string(site_)}));
  return dropped.integer(0, 0) >= kChangesOfDrop;
}

// A controller whose clock is far ahead must not delete what the archive's clock keeps.
Status SiteLink::drop_old_content(double now) {
  if (claim_.keep_days > 0) {
    const pq::Answer clock = RG_TRY(database_->query("SELECT extract(epoch FROM now())"));
    RG_TRY_OK(drop_old_matrices(*database_, site_,
                                std::min(now, clock.real(0, 0)) - claim_.keep_days * kDaySeconds));
  }
  return drop_unused_content(*database_);
}

// A month is dropped when the site that keeps the longest needs it no more.
Result<int> SiteLink::drop_old_months(double now) {
  const pq::Answer keep = RG_TRY(database_->query(
      "SELECT min(keep_days), max(keep_days), extract(epoch FROM now()) FROM railgauge.site"));
  if (keep.is_null(0, 0) || keep.real(0, 0) <= 0) return 0;  // a site keeps all
  // A controller whose clock is far ahead must not delete what all sites have.
  const double today = std::min(now, keep.real(0, 2));
  const int oldest = month_of(today - keep.real(0, 1) * kDaySeconds);
  const pq::Answer tables = RG_TRY(database_->query(
      "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid=i.inhrelid WHERE "
      "i.inhparent='railgauge.point'::regclass AND c.relname LIKE 'point\\_y%' AND c.relname<$1 "
      "ORDER BY 1",
      {month_name(oldest)}));
  const int drops = std::min(tables.rows(), kMostDrops);
  for (int row = 0; row < drops; ++row)
    RG_TRY_OK(database_->execute(fmt::format("DROP TABLE railgauge.{}", tables.text(row, 0))));
  RG_TRY_OK(
      database_->execute("DELETE FROM railgauge.point_other WHERE ctid=ANY(ARRAY(SELECT ctid FROM "
                         "railgauge.point_other WHERE measured_at<$1::timestamptz LIMIT 100000))",
                         {month_begin(oldest)}));
  return drops;
}

}  // namespace railgauge::mirror

#include "controller/store/ingest/orphans.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/store/ingest/record_sink.h"

namespace railgauge::store {
namespace {

constexpr std::int64_t kRowBytes = 200;  // beside the body: keys, twice, and the reason

std::int64_t bytes_of(const std::string& body) {
  return static_cast<std::int64_t>(body.size()) + kRowBytes;
}

}  // namespace

Result<OrphanTotals> count_orphans(Connection& connection) {
  Rows rows = RG_TRY(connection.query(
      "SELECT count(*), coalesce(sum(length(body) + ?1), 0) FROM orphan_record", kRowBytes));
  OrphanTotals totals;
  if (RG_TRY(rows.next())) totals = {rows.integer(0), rows.integer(1)};
  return totals;
}

Result<bool> Orphans::put(std::string_view node_id, const Record& record, std::string_view reason,
                          double now) {
  if (!counted_) {
    const OrphanTotals totals = RG_TRY(count_orphans(connection_));
    bytes_ = totals.bytes;
    records_ = totals.records;
    counted_ = true;
  }
  const RecordKey& key = record.key();
  const std::string body = record.SerializeAsString();
  RG_TRY_OK(connection_.execute(
      "INSERT INTO orphan_record (at, node_id, run_id, task_id, attempt, rank, sequence, reason, "
      "body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
      now, node_id, key.run_id(), key.task_id(), key.attempt(), key.rank(), key.sequence(), reason,
      Blob{body}));
  if (connection_.changes() == 0) return false;
  ++records_;
  bytes_ += bytes_of(body);
  if (bytes_ > max_bytes_) RG_TRY_OK(drop_oldest(now));
  return true;
}

// Some more than needed, so that it does not come with each record.
Status Orphans::drop_oldest(double now) {
  const std::int64_t goal = max_bytes_ - max_bytes_ / 50;
  std::int64_t left = bytes_;
  std::int64_t through = 0;
  {
    Rows rows = RG_TRY(connection_.query(
        "SELECT id, length(body) + ?1 FROM orphan_record ORDER BY id", kRowBytes));
    while (left > goal && RG_TRY(rows.next())) {
      through = rows.integer(0);
      left -= rows.integer(1);
    }
  }
  RG_TRY_OK(connection_.execute("DELETE FROM orphan_record WHERE id<=?1", through));
  const std::int64_t dropped = connection_.changes();
  bytes_ = left;
  records_ -= dropped;
  dropped_ += dropped;
  const std::string text = fmt::format(
      "{} records that fit no known run were dropped, the oldest of more than {:.1f} MB", dropped,
      static_cast<double>(max_bytes_) / 1e6);
  spdlog::warn("store {}: {}", connection_.path(), text);
  return insert_event(connection_, {.at = now, .kind = "orphans_dropped", .text = text});
}

Result<std::vector<Orphans::Entry>> Orphans::of_run(std::string_view run_id, const Entry* after,
                                                    std::uint32_t limit) {
  static const Entry kFirst;
  const Entry& from = after == nullptr ? kFirst : *after;
  const RecordKey& key = from.record.key();
  Rows rows = RG_TRY(connection_.query(
      "SELECT id, node_id, body, task_id, attempt, rank, sequence FROM orphan_record WHERE "
      "run_id=?1 AND (?8 OR (task_id, attempt, rank, sequence, node_id) > (?2, ?3, ?4, ?5, ?6)) "
      "ORDER BY task_id, attempt, rank, sequence, node_id LIMIT ?7",
      run_id, key.task_id(), key.attempt(), key.rank(), key.sequence(), from.node_id, limit,
      after == nullptr ? 1 : 0));
  std::vector<Entry> found;
  while (RG_TRY(rows.next())) {
    Entry& entry = found.emplace_back();
    entry.id = rows.integer(0);
    entry.node_id = rows.text(1);
    // An earlier Railgauge kept none of a long one: its key alone is no sound record, so it stays.
    if (!entry.record.ParseFromString(rows.blob(2))) entry.record.Clear();
    RecordKey& own = *entry.record.mutable_key();
    own.set_run_id(std::string(run_id));
    own.set_task_id(rows.text(3));
    own.set_attempt(rows.small(4));
    own.set_rank(rows.small(5));
    own.set_sequence(rows.small(6));
  }
  return found;
}

Status Orphans::remove(std::int64_t id) {
  counted_ = false;  // how long it was is not known here
  RG_TRY_OK(connection_.execute("DELETE FROM orphan_record WHERE id=?1", id));
  records_ -= connection_.changes();
  return {};
}

}  // namespace railgauge::store

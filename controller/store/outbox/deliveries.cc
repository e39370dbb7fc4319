#include "controller/store/outbox/deliveries.h"

#include <fmt/format.h>

#include "controller/store/sqlite/sqlite.h"

namespace railgauge::store {

Status write_delivery(Connection& connection, const DeliveryRow& row) {
  Status inserted = connection.execute(
      "INSERT INTO delivery (target, delivery_id, digest, body, state, attempts, created_at, "
      "next_at, cause) VALUES (?1, ?2, ?3, ?4, 'waiting', ?5, ?6, ?7, '')",
      row.target, row.delivery_id, row.digest, row.body, row.attempts, row.created_at, row.next_at);
  if (!inserted && inserted.error().code == Code::kAlreadyExists)
    return fail(Code::kAlreadyExists,
                fmt::format("{}: {} was queued before", row.target, row.delivery_id));
  return inserted;
}

Status write_delivery_attempt(Connection& connection, std::string_view target,
                              std::string_view delivery_id, double next_at,
                              std::string_view cause) {
  return connection.execute(
      "UPDATE delivery SET attempts=attempts + 1, next_at=?3, cause=?4 WHERE target=?1 AND "
      "delivery_id=?2 AND state='waiting'",
      target, delivery_id, next_at, cause);
}

Status write_delivery_end(Connection& connection, std::string_view target,
                          std::string_view delivery_id, std::string_view state, double at,
                          std::string_view cause) {
  RG_TRY_OK(connection.execute(
      "UPDATE delivery SET state=?3, next_at=?4, cause=?5, body='', attempts=attempts + "
      "(?3<>'dropped') WHERE target=?1 AND delivery_id=?2 AND state='waiting'",
      target, delivery_id, state, at, cause));
  return connection.execute(
      "DELETE FROM delivery WHERE target=?1 AND state<>'waiting' AND id <= (SELECT id FROM "
      "delivery WHERE target=?1 AND state<>'waiting' ORDER BY id DESC LIMIT 1 OFFSET ?2)",
      target, kEndedDeliveries);
}

Result<std::optional<DeliveryRow>> read_next_delivery(Connection& connection,
                                                      std::string_view target) {
  DeliveryRow row{.target = std::string(target)};
  const bool has_one = RG_TRY(connection.row(
      std::tie(row.delivery_id, row.digest, row.body, row.attempts, row.created_at, row.next_at),
      "SELECT delivery_id, digest, body, attempts, created_at, next_at FROM delivery WHERE "
      "target=?1 AND state='waiting' ORDER BY next_at, id LIMIT 1",
      target));
  if (!has_one) return std::nullopt;
  return row;
}

Result<std::vector<DeliveryRow>> read_waiting_deliveries(Connection& connection) {
  using Row = DeliveryRow;
  return connection.list(Columns{&Row::target, &Row::delivery_id, &Row::digest, &Row::attempts,
                                 &Row::created_at, &Row::next_at},
                         "SELECT target, delivery_id, digest, attempts, created_at, next_at FROM "
                         "delivery WHERE state='waiting' ORDER BY id");
}

Result<bool> was_delivery_failing(Connection& connection, std::string_view target) {
  // The time of an end is its own; that of a waiting one is the next attempt's, so it counts first.
  const auto found = RG_TRY(connection.integer(
      "SELECT state<>'delivered' FROM delivery WHERE target=?1 AND (state='waiting' AND attempts>0 "
      "OR state IN ('delivered', 'failed', 'refused')) ORDER BY state='waiting' DESC, next_at "
      "DESC, "
      "id DESC LIMIT 1",
      target));
  return found.value_or(0) != 0;
}

Result<bool> has_delivery(Connection& connection, std::string_view target,
                          std::string_view delivery_id) {
  const auto found = RG_TRY(connection.integer(
      "SELECT id FROM delivery WHERE target=?1 AND delivery_id=?2", target, delivery_id));
  return found.has_value();
}

Result<std::vector<ConfirmedRow>> read_confirmed(Connection& connection, double since) {
  using Row = ConfirmedRow;
  return connection.list(
      Columns{&Row::finding_id, &Row::run_id, &Row::upgrade_id},
      "SELECT finding_id, coalesce(run_id, ''), coalesce(upgrade_id, '') FROM finding_step JOIN "
      "finding ON finding.id=finding_step.finding LEFT JOIN run ON run.id=finding.run LEFT JOIN "
      "upgrade ON upgrade.id=finding.upgrade WHERE action='confirm' AND at >= ?1 ORDER BY at",
      since);
}

}  // namespace railgauge::store

// Writes and reads reports that are sent to people. The writers run inside the writer's
// transaction, the readers inside a snapshot. Times are seconds since 1970 (UTC).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::store {

class Connection;

// A report on its way to one target.
struct DeliveryRow {
  std::string target{};
  std::string delivery_id{};
  std::string digest{};  // SHA-256 of the body, in hexadecimal digits
  std::string body{};
  std::uint32_t attempts = 0;
  double created_at = 0;
  double next_at = 0;
};

// Rows of ended deliveries that are kept for each target; a report that is older may be sent again.
inline constexpr std::uint32_t kEndedDeliveries = 1'000;

// Queues a delivery. kAlreadyExists: the target got this id before, or it waits.
Status write_delivery(Connection& connection, const DeliveryRow& delivery);
// Stores a failed attempt and the time of the next one. Nothing happens to one that has ended.
Status write_delivery_attempt(Connection& connection, std::string_view target,
                              std::string_view delivery_id, double next_at, std::string_view cause);
// Ends a delivery, whose body goes. `state`: "delivered", "failed", "refused" or "dropped".
Status write_delivery_end(Connection& connection, std::string_view target,
                          std::string_view delivery_id, std::string_view state, double at,
                          std::string_view cause);

// Returns the waiting delivery whose next attempt comes first; absent: none waits.
Result<std::optional<DeliveryRow>> read_next_delivery(Connection& connection,
                                                      std::string_view target);
// Returns the waiting deliveries of all targets, the oldest first, without their bodies.
Result<std::vector<DeliveryRow>> read_waiting_deliveries(Connection& connection);
// Reports whether the target's newest attempt failed, as far as rows show: one waits after a failed
// attempt, or the last one that ended was not delivered.
Result<bool> was_delivery_failing(Connection& connection, std::string_view target);
// Reports whether the target has a row of this id, waiting or ended.
Result<bool> has_delivery(Connection& connection, std::string_view target,
                          std::string_view delivery_id);

// A finding that a run or an upgrade confirmed.
struct ConfirmedRow {
  std::string finding_id{};
  std::string run_id{};      // that confirmed it; "": none is known
  std::string upgrade_id{};  // "": it is of no upgrade
};
// Returns findings that were confirmed at `since` or later, the oldest first.
Result<std::vector<ConfirmedRow>> read_confirmed(Connection& connection, double since);

}  // namespace railgauge::store

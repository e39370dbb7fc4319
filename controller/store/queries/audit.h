// Writes, reads and prunes the audit trail. Triggers keep its rows from being changed, replaced or
// deleted. A delete passes only on a connection with AuditRetention, and only inside
// prune_audit(). The writers run inside the writer's transaction, the reader inside a snapshot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "controller/store/rows/audit_rows.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

class Connection;

// Refused calls are kept up to this number, whatever their age: peers choose how many there are.
inline constexpr std::int64_t kMaxRefusedRows = 200'000;

Status write_audit(Connection& connection, const AuditRow& row);

// Returns the newest rows of the filter, newest first, without the begin of a call whose outcome is
// stored.
Result<std::vector<AuditRow>> read_audit(Connection& connection, const AuditFilter& filter);

// One step of a pruning.
struct AuditPruning {
  double before = 0;     // older rows go
  double now = 0;        // time of the row that records the pruning
  std::size_t most = 0;  // rows of this step
  std::int64_t max_refused = kMaxRefusedRows;
};

// The right to delete rows. It belongs to the writer's connection and outlives it.
class AuditRetention {
 public:
  AuditRetention() = default;
  AuditRetention(const AuditRetention&) = delete;
  AuditRetention& operator=(const AuditRetention&) = delete;
  // Gives the connection the SQL function that the trigger calls.
  Status join(Connection& connection);

 private:
  friend Result<std::int64_t> prune_audit(Connection&, AuditRetention&, const AuditPruning&);
  bool prunes_ = false;
};

// Deletes the oldest rows, and stores a row with count and period in the same transaction. Returns
// the number of deleted rows.
Result<std::int64_t> prune_audit(Connection& connection, AuditRetention& retention,
                                 const AuditPruning& pruning);

// Rows that are older than `before`, and all rows.
struct AuditAges {
  std::int64_t older = 0;
  std::int64_t all = 0;
};
Result<AuditAges> read_audit_ages(Connection& connection, double before);

}  // namespace railgauge::store

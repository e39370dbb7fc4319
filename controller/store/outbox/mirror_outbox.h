// The outbox of the mirror: which rows changed since they were last sent. The writers run inside
// the writer's transaction, the readers inside a snapshot. Times are seconds since 1970 (UTC).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::store {

class Connection;

// A start of a controller with a mirror, which ended.
struct MirrorStart {
  std::string token{};
  std::int64_t last_id = 0;  // the newest row of the outbox when it ended
};

// The database's own notes about its mirror.
struct MirrorState {
  std::string store_id{};  // of this database; "" before the first mirror
  bool is_on = false;
  std::int64_t arming = 0;  // another one: changes went unnoted, everything is to be sent
  double even_at = 0;       // when the mirror last had all; 0: never
  std::string start{};      // token of the present start
  std::int64_t oldest = 0;  // rows of the outbox, both ends; 0: it is empty
  std::int64_t newest = 0;
};

// A value of a row; a blob is a text here.
using MirrorCell = std::variant<std::monostate, std::int64_t, double, std::string>;

// Rows of one table as they are now, with the keys for which they were asked. A key without a row
// is of one that was deleted.
struct MirrorRows {
  std::size_t table = 0;  // place in mirror_tables()
  std::vector<std::int64_t> keys{};
  std::vector<MirrorCell> cells{};  // row after row, in the order of the table's columns
  [[nodiscard]] std::size_t count() const;
};

// A row of the outbox: a key of a table, or a stretch of points.
struct MirrorChange {
  std::size_t source = 0;  // place in mirror_tables()
  std::int64_t key = 0;
  std::int64_t last = 0;  // of a stretch; else the key
};

// Up to which record of its spool everything of a node is stored.
struct SpoolMark {
  std::int64_t node = 0;
  std::int64_t through = 0;
};

// Rows that are sent in one transaction.
struct MirrorBatch {
  std::vector<MirrorRows> tables{};
  std::int64_t through = 0;  // the outbox's last row that it covers, or the last key of a walk
  std::size_t entries = 0;   // rows of the outbox, or keys, that it covers; 0: there is nothing
  std::size_t bytes = 0;     // of texts and blobs
  std::vector<MirrorChange> changes{};  // of the outbox, each once
  // The marks of all nodes at the same moment, where nothing waits behind the batch: a mark must
  // not pass records that were not sent.
  std::vector<SpoolMark> spool_marks{};
};

// A batch ends at the first of both bounds.
struct MirrorBounds {
  std::size_t entries = 8'192;
  std::size_t bytes = 8U << 20U;
};

// Begins a start and notes changes, by triggers of this connection alone; call it on the writer's
// before any other write. Raises `arming` where changes may have gone unnoted.
Status arm_mirror(Connection& connection);
// The same where an earlier call failed and changes went unnoted since: `arming` is raised.
Status arm_mirror_anew(Connection& connection);
// Notes nothing any more and empties the outbox; costs nothing where no mirror was ever on.
Status disarm_mirror(Connection& connection);
// Deletes rows of the outbox up to `through`, at most `limit` of them, and keeps the newest.
// `even_at`: the time at which the mirror had all; 0: it had not.
Status trim_mirror(Connection& connection, std::int64_t through, std::int64_t limit,
                   double even_at);
// Empties an outbox of more than `most` rows: everything is to be sent anew (`arming` is raised).
Status bound_mirror(Connection& connection, std::int64_t most);

Result<MirrorState> read_mirror_state(Connection& connection);
// Earlier starts, as far as they are kept.
Result<std::vector<MirrorStart>> read_mirror_starts(Connection& connection);
// The rows that changed behind `after`, each once.
Result<MirrorBatch> read_mirror_batch(Connection& connection, std::int64_t after,
                                      MirrorBounds bounds);
// The rows of one table behind the key `after`, whether they changed or not.
Result<MirrorBatch> walk_mirror_table(Connection& connection, std::size_t table, std::int64_t after,
                                      MirrorBounds bounds);

}  // namespace railgauge::store

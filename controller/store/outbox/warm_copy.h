// A database that is the copy of a site in the archive: how rows of the mirror come in, how far it
// is, and how it becomes the database of an active controller. The writers run inside the caller's
// transaction, on a connection without foreign keys.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "controller/store/outbox/mirror_outbox.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

class Connection;

// The part of this database beside those of other controllers of its site.
struct CopyState {
  std::int64_t generation = 0;  // the highest lease that it knows; 0: none
  std::int64_t copy_epoch = 0;  // 0: a database of its own, no copy
  std::int64_t position = 0;    // changes of the archive up to this one are in it
  bool is_whole = false;        // the first copy has ended
};

// Prepares a connection for copying: rows come in whatever order, and a power cut may take the last
// of them.
Status begin_copying(Connection& connection);
// Syncs the file: from here on it is the only copy of what it has.
Status end_copying(Connection& connection);
// Runs `work` in a transaction; its error undoes all of it.
Status in_transaction(Connection& connection, const std::function<Status(Connection&)>& work);

Result<CopyState> read_copy_state(Connection& connection);
Status write_copy_state(Connection& connection, const CopyState& state);
// Raises the generation; a lower one changes nothing.
Status raise_generation(Connection& connection, std::int64_t generation);

// Empties all mirrored tables, so that a copy begins.
Status begin_copy(Connection& connection);
// Marks a copy as of a modelled fleet, as the archive marks its site.
Status mark_copy_synthetic(Connection& connection);
// Puts rows of one table in; rows of its keys that are gone there go here, as far as the table
// carries deletes over.
Status put_mirror_rows(Connection& connection, const MirrorRows& rows);

// `pruned` of a run whose points retention has taken: PruneLevel::kPoints of upkeep/maintenance.h.
inline constexpr int kPrunedPoints = 3;
// Drops tasks and points of one run whose points retention took from the site's database, but for
// tasks with the highest ids, which SQLite would give again. False: there was none.
Result<bool> drop_pruned_run(Connection& connection);

// The site that a copy takes over, as the archive has it.
struct Inheritance {
  std::int64_t generation = 0;  // of the new lease
  std::string store_id{};
  std::int64_t arming = 0;
  std::string start{};       // token of the start that wrote last
  std::int64_t reaches = 0;  // newest row of that start's outbox of which the archive may have some
  std::int64_t outbox_through = 0;
  std::vector<SpoolMark> spool_marks{};
};
// Turns a whole copy into the database of the site: its outbox continues where the archive's mark
// is, so that nothing is sent anew.
Status inherit(Connection& connection, const Inheritance& inheritance);

}  // namespace railgauge::store

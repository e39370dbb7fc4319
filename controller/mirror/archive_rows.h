// Rows of a site in the archive as the store has them: the way back from copy_rows.h. Not thread
// safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "controller/mirror/pq/connection.h"
#include "controller/store/outbox/mirror_outbox.h"
#include "kernels/core/base/result.h"

namespace railgauge::mirror {

// A site as the archive describes it.
struct ArchivedSite {
  std::int64_t site = 0;
  std::string store_id{};
  std::string start{};  // token of the start that wrote last
  std::int64_t arming = 0;
  std::int64_t outbox_through = 0;
  std::int64_t copy_epoch = 0;    // another one: a copy begins anew
  std::int64_t changes_from = 0;  // changes up to this one are gone
  std::int64_t newest = 0;        // change
  bool is_complete = false;       // it notes changes, and no table is still to be sent
  bool is_synthetic = false;
  std::int64_t reaches = 0;  // row of the outbox behind which nothing was read for the archive
};
// Absent: no controller ever wrote as this site.
Result<std::optional<ArchivedSite>> read_archived_site(pq::Connection& archive,
                                                       const std::string& name);

// Changes of the archive behind a position, at most `limit`, each once.
struct ArchiveChanges {
  std::vector<store::MirrorChange> changes{};
  std::int64_t through = 0;  // the last one that was read
  std::int64_t read = 0;     // rows
};
Result<ArchiveChanges> read_changes(pq::Connection& archive, std::int64_t site, std::int64_t after,
                                    std::int64_t limit);
// The newest marks of the agents' spools.
Result<std::vector<store::SpoolMark>> read_spool_marks(pq::Connection& archive, std::int64_t site);

// Called with a page of rows of one table; an error ends the reading.
using TakeRows = std::function<Status(const store::MirrorRows& rows)>;

// Where the rows of runs begin whose points retention left in the store. Tasks and points before
// are only in the archive; a run that was pruned later than one before it is left in.
struct PrunedRuns {
  std::int64_t first_task = 0;  // 0 here and below: nothing is left out
  std::int64_t first_attempt = 0;
  std::int64_t first_rank = 0;
  double since = 0;  // unix seconds: no point of theirs is earlier
};
Result<PrunedRuns> read_pruned_runs(pq::Connection& archive, std::int64_t site);
// The tasks with the highest ids of tasks, attempts and ranks, with all that belongs to them but
// points: a store without them would give those ids again.
Status read_last_tasks(pq::Connection& archive, std::int64_t site, const TakeRows& take);
// Every row of a table, in pages, without tasks and points of `left_out`. Call it inside a
// transaction.
Status read_table(pq::Connection& archive, std::int64_t site, std::size_t table,
                  const PrunedRuns& left_out, const TakeRows& take);
// The rows that these changes of one table name, as they are now.
Status read_changed_rows(pq::Connection& archive, std::int64_t site, std::size_t table,
                         std::span<const store::MirrorChange> changes, const TakeRows& take);

}  // namespace railgauge::mirror

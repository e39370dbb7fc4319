// Backups that the controller makes by itself: when one is due, which ones stay, and the proof that
// one can be restored.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::store {

struct BackupPlan {
  double every_seconds = 0;  // 0: none is made
  std::size_t keep = 7;      // of those that were made so; at least 1
};

// The name of a timed backup, "railgauge-20261127T192200Z.db", and the time that such a name says,
// in seconds since 1970. Absent: any other name. Files of other names are never counted nor
// removed.
std::string timed_backup_name(double unix_seconds);
std::optional<double> timed_backup_at(std::string_view name);

// Whether no backup among the names is younger than the plan's interval. One of the future, from a
// clock that was wrong, is none.
bool is_backup_due(std::span<const std::string> names, const BackupPlan& plan, double now);
// The timed backups beyond the newest `keep`, oldest first. Those of the future go first.
std::vector<std::string> surplus_backups(std::span<const std::string> names, std::size_t keep,
                                         double now);

// Restores the backup into a folder beside it, reads the result's schema and size, and removes it.
// kDataLoss: it is not sound, or another file came out. kResourceExhausted: there is no room.
// kCancelled: `is_over` returned true meanwhile.
Status prove_restores(const std::string& backup, const std::function<bool()>& is_over = {});

// Makes the backup that is due, proves that it restores, then removes surplus ones. Returns its
// path; "": none is due. A backup without that proof is removed, and so is what a killed program
// left of one.
// `back_up` writes the file of a path. Errors: those of backup_target(), back_up and the proof. One
// caller at a time.
Result<std::string> make_due_backup(const std::string& folder, const BackupPlan& plan, double now,
                                    const std::function<Status(const std::string&)>& back_up,
                                    const std::function<bool()>& is_over = {});

}  // namespace railgauge::store

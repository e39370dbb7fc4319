// Copies of the database's file: made while the controller writes to it, and restored in its place.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::store {

// Bytes of a file; 0 where there is none.
double size_of_file(const std::string& path);
// Bytes of a database with its log.
double bytes_of(const std::string& database);
// Free bytes of the file system that holds `path`. Absent: it cannot be read.
std::optional<double> free_bytes_beside(const std::string& path);

// Creates the empty file of a backup under way, beside its final name. kAlreadyExists: one of the
// two names is taken, since nothing is ever overwritten. kResourceExhausted: the file system has no
// room for `bytes`.
Result<std::string> begin_backup(const std::string& target, double bytes);
// Checks the copy (kDataLoss if it is not sound) and moves it to its final name, on the disk.
// `is_over` ends it (kCancelled). After an error, also one in `copied`, the unfinished file is
// gone.
Status end_backup(const Status& copied, const std::string& part, const std::string& target,
                  const std::function<bool()>& is_over);

// Copies a database that nobody writes to: a compacted snapshot, on the disk when this returns.
Status copy_database(const std::string& database, const std::string& target);

// Puts a backup in the database's place, offline. The old file is kept beside it with its log, and
// its name is returned ("" if there was none). A log beside the backup counts as part of it. The
// new file has the owner and mode of the old one. kFailedPrecondition: a program has the database
// open, or the backup is newer than this program. kDataLoss: the backup is not sound. An
// interrupted restore leaves a mark that keeps the controller from starting; a second call
// completes it. kDeadlineExceeded: `is_over` returned true before the database was replaced.
Result<std::string> restore(const std::string& backup, const std::string& database,
                            const std::function<bool()>& is_over = {});

// A restore that the controller has not recorded yet: it was stopped then.
struct RestoreNote {
  std::string at{};  // RFC 3339
  std::string user{};
  std::string backup{};
  std::string kept{};  // "": there was no file
};
// Returns the notes that restore() left beside the database; none where there is no readable file.
std::vector<RestoreNote> read_restore_notes(const std::string& database);
// Removes them, once they are recorded.
void remove_restore_notes(const std::string& database);

// kFailedPrecondition: a restore was interrupted and is not complete.
Status check_no_restore_pending(const std::string& database);

}  // namespace railgauge::store

// Copies of the database's file: made while others write to it, and put back in its place.
#pragma once

#include <functional>
#include <string>

#include "kernels/core/base/result.h"

namespace railgauge::store {

// A backup under way: an empty file beside its name, made here; kAlreadyExists when one of the two
// is there, since nothing is ever overwritten, and kResourceExhausted when the file system has no
// room for `bytes`.
Result<std::string> begin_backup(const std::string& target, double bytes);
// Looks whether the copy is sound (kDataLoss) and puts it on the disk under its name. `is_over`
// ends it (kCancelled). Whatever goes wrong, the unfinished file is gone.
Status end_backup(const std::string& part, const std::string& target,
                  const std::function<bool()>& is_over);

// Copies a database that nobody writes to: a snapshot, compacted, on the disk when this returns.
Status copy_database(const std::string& database, const std::string& target);

// Puts a backup in the database's place, offline; the old file is kept beside it, with its log, and
// named in the answer ("" when there was nothing). A log beside the backup counts as part of it.
// The new file has the old one's owner and mode. kFailedPrecondition: a program has the database
// open, or the backup is newer than this program; kDataLoss: the backup is not sound. Interrupted,
// it leaves a mark that keeps the controller from starting; a second call completes it.
Result<std::string> restore(const std::string& backup, const std::string& database);

// kFailedPrecondition when a restore was interrupted and has not been finished.
Status check_no_restore_pending(const std::string& database);

}  // namespace railgauge::store

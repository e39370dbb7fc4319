// Copies of the database's file: made while others write to it, and put back in its place.
#pragma once

#include <string>

#include "kernels/core/result.h"

namespace railgauge::store {

// Copies the database to `target` while others write to it: a snapshot, compacted, on the disk when
// this returns. One at a time in this process. kAlreadyExists: `target` is there; it is never
// overwritten.
Status back_up(const std::string& database, const std::string& target);

// Puts a backup in the database's place, offline; what stood there is kept beside it, with its log,
// and named in the answer ("" when there was nothing). A log beside the backup counts as part of
// it. The new file has the old one's owner and mode. kFailedPrecondition: a program has the
// database open, or the backup is newer than this program; kDataLoss: the backup is not sound.
// Interrupted, it leaves a mark that keeps the controller from starting; called again, it goes on.
Result<std::string> restore(const std::string& backup, const std::string& database);

// kFailedPrecondition when a restore was interrupted and has not been finished.
Status check_no_restore_pending(const std::string& database);

}  // namespace railgauge::store

// One controller at a time: the lock of a database, held on a file beside it. SQLite's own locks
// let any number of programs in, and a second controller would end the first one's runs.
#pragma once

#include <unistd.h>

#include <string>

#include "kernels/core/base/handle.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

struct FileTraits {
  using Type = int;
  static Type empty() { return -1; }
  static void release(Type raw) { ::close(raw); }
};
using File = Handle<FileTraits>;

// Locks `DATABASE.lock`, a file that stays; links to the database lead to the same lock. The lock
// ends with the File or the process. `act` names the request in the error. kFailedPrecondition:
// another process, named by its number, holds the lock.
Result<File> lock_database(const std::string& database, std::string_view act);

}  // namespace railgauge::store

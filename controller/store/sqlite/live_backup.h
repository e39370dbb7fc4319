// Copies a database page by page while it is written, on the connection that writes it. SQLite
// carries changes made meanwhile into the copy, so that no snapshot is held and the log can be
// restarted.
#pragma once

#include <memory>
#include <string>

#include <sqlite3.h>

#include "controller/store/sqlite/sqlite.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

struct BackupTraits {
  using Type = sqlite3_backup*;
  static Type empty() { return nullptr; }
  static void release(Type raw) { sqlite3_backup_finish(raw); }
};

// Use and destroy it on the source's thread, outside its transactions.
class LiveBackup {
 public:
  // `part` is an empty file that becomes the copy.
  static Result<std::unique_ptr<LiveBackup>> begin(Connection& source, const std::string& part);
  // Copies some MB; false at the end. kUnavailable: another program holds the lock; try again.
  Result<bool> step();
  // The copy is then a plain file without a log.
  Status finish();

 private:
  LiveBackup(Connection target, Handle<BackupTraits> backup)
      : target_(std::move(target)), backup_(std::move(backup)) {}

  Connection target_;
  // Ends before its target.
  Handle<BackupTraits> backup_;
};

}  // namespace railgauge::store

// Backups by schedule: makes the one that is due, tries again after a fault, and reports both in
// events, audit trail, metrics and log.
#pragma once

#include <mutex>
#include <string>

#include "controller/control/control.h"
#include "controller/metric/registry.h"
#include "controller/store/store.h"
#include "controller/store/upkeep/timed_backup.h"

namespace railgauge {

// Keeps the folder of backups as the plan has it. Calls block while the database is copied and
// restored as a proof, so that they belong on a worker thread. One caller at a time.
class BackupKeeper {
 public:
  // Seconds until a failed backup is tried again: it may have copied the database already.
  static constexpr double kRetrySeconds = 3'600;

  // All outlive the keeper. `did` writes the audit trail.
  struct Site {
    store::Store& store;
    metric::Registry& series;
    OwnAct did;
  };
  // Reads from the store's events whether the last backup failed. `folder` may be absent yet.
  BackupKeeper(std::string folder, store::BackupPlan plan, Site site);

  // Makes the backup that is due at `now`, in unix seconds, and shows the newest one's time.
  // Retries go by `monotonic_now`, in seconds. The first fault of a row is the event
  // `backup_failed`, the backup that ends the row `backup_works`.
  void look(double monotonic_now, double now);
  // The plan of the next look.
  void set_plan(store::BackupPlan plan) {
    const std::lock_guard lock(mutex_);
    plan_ = plan;
  }

 private:
  void note(std::string kind, std::string text);

  const std::string folder_;
  std::mutex mutex_;
  store::BackupPlan plan_;  // under mutex_
  const Site site_;
  double next_try_ = 0;
  bool is_failing_ = false;
};

}  // namespace railgauge

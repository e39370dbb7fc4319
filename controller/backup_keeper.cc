#include "controller/backup_keeper.h"

#include <utility>

#include <spdlog/spdlog.h>

#include "controller/store/queries/events.h"
#include "controller/store/upkeep/backup_folder.h"

namespace railgauge {
namespace {

constexpr const char* kBackupFailed = "backup_failed";
constexpr const char* kBackupWorks = "backup_works";

// Reads the newest of both events: a controller that was stopped to mend its folder reports the
// first backup that works.
bool was_backup_failing(store::Store& store) {
  const auto newest = store.read(
      store::find_events, store::EventFilter{.kinds = {kBackupFailed, kBackupWorks}, .limit = 1});
  return newest && !newest->empty() && newest->front().event.kind == kBackupFailed;
}

}  // namespace

BackupKeeper::BackupKeeper(std::string folder, store::BackupPlan plan, Site site)
    : folder_(std::move(folder)),
      plan_(plan),
      site_(std::move(site)),
      is_failing_(was_backup_failing(site_.store)) {}

void BackupKeeper::note(std::string kind, std::string text) {
  const Status added = site_.store.add_event({.kind = std::move(kind), .text = std::move(text)});
  if (!added) spdlog::warn("event not stored: {}", added.error().message);
}

// The newest backup of the folder counts, whoever made it. An hour passes between a fault and the
// next attempt, but a stop of the controller delays nothing.
void BackupKeeper::look(double monotonic_now, double now) {
  const store::BackupPlan plan = [this] {
    const std::lock_guard lock(mutex_);
    return plan_;
  }();
  Result<std::string> made;
  if (monotonic_now >= next_try_)
    made = store::make_due_backup(
        folder_, plan, now, [this](const std::string& path) { return site_.store.back_up(path); },
        [this] { return site_.store.stops(); });
  // A stop of the controller is no fault of its backups; the next start makes the one that is due.
  if (!made && made.error().code == Code::kCancelled)
    return spdlog::info("{}", made.error().message);
  if (!made) {
    site_.did("back_up", "by schedule", tl::unexpected(made.error()));
    spdlog::warn("{}", made.error().message);
    site_.series.add("railgauge_backups_total", {{"outcome", "failed"}});
    next_try_ = monotonic_now + kRetrySeconds;
    if (!std::exchange(is_failing_, true)) note(kBackupFailed, made.error().message);
  } else if (!made->empty()) {
    site_.did("back_up", *made + " by schedule", {});
    spdlog::info("backup {} is made and restores", *made);
    if (std::exchange(is_failing_, false)) note(kBackupWorks, *made + " is made");
    site_.series.add("railgauge_backups_total", {{"outcome", "made"}});
  }
  site_.series.set("railgauge_backup_interval_seconds", {}, plan.every_seconds);
  const auto newest = store::newest_backup(folder_);
  site_.series.set("railgauge_backup_timestamp_seconds", {}, newest ? newest->written_at : 0);
}

}  // namespace railgauge

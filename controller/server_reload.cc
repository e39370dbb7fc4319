// Settings that the controller takes over at SIGHUP, without a restart.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include "controller/log/log.h"
#include "controller/server.h"

namespace railgauge {

store::Retention Server::retention_of(const KeepDays& days) {
  return {.raw_sample_days = days.raw_samples,
          .distribution_days = days.distributions,
          .point_days = days.points,
          .audit_days = days.audit};
}

// The window of upgrades is read first: an error changes nothing.
Status Server::reload(const Config& config, const SettingChanges& changes) {
  WatchPolicy upgrades = RG_TRY(watch_policy_of(config.upgrade_policy, config.upgrade_window));
  upgrade_watch_.set_policy(std::move(upgrades));
  set_log_level(config.log_level);
  const store::Retention retention = retention_of(config.keep_days);
  archive_.set_retention(retention);
  backups_.set_plan(config.backups);
  {
    const std::lock_guard lock(settings_mutex_);
    retention_ = retention;
    refused_settings_.clear();
    waiting_settings_ = changes.waiting.empty()
                            ? ""
                            : fmt::format("settings that wait for a restart: {}\n",
                                          fmt::join(changes.waiting, ", "));
  }
  if (!changes.applied.empty()) {
    const std::string applied = fmt::format("{}", fmt::join(changes.applied, ", "));
    audit_->did("reload_settings", applied);
    spdlog::info("SIGHUP: settings applied: {}", applied);
  }
  if (!changes.waiting.empty())
    spdlog::warn("SIGHUP: settings that wait for a restart: {}", fmt::join(changes.waiting, ", "));
  return {};
}

void Server::refuse_settings(const Error& error) {
  audit_->did("reload_settings", "none", tl::unexpected(error));
  spdlog::error("SIGHUP: {}; the settings before stay in force", error.message);
  const std::lock_guard lock(settings_mutex_);
  refused_settings_ = fmt::format("settings: {}\n", error.message);
}

}  // namespace railgauge

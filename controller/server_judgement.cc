// Runs that are judged later than at their end.
#include <spdlog/spdlog.h>

#include "controller/clock/wall_clock.h"
#include "controller/server.h"

namespace railgauge {

void Server::judge_left_open() {
  loop_.call([this] {
    for (const std::string& run_id : std::exchange(left_open_, {})) matrices_.want(run_id);
  });
}

// A run that ended while this controller serves has its own call for the judge; it is looked at
// once that is surely over.
void Server::judge_late(double now) {
  if (!left_open_.empty()) judge_left_open();
  if (stopping_ || now < next_unjudged_ || !matrices_.is_idle() || !run_judge_.is_idle()) return;
  next_unjudged_ = now + kUnjudgedSeconds;
  const double until = wall_seconds() - (has_looked_for_unjudged_ ? kUnjudgedSeconds : 0);
  has_looked_for_unjudged_ = true;
  static_cast<void>(queries_->submit([this, until] { judge_unjudged(until); }));
}

void Server::judge_unjudged(double until) {
  const std::lock_guard one_look(unjudged_lock_);
  const auto due = unjudged_.due(until);
  if (!due) return spdlog::warn("runs without a judgement: {}", due.error().message);
  for (const std::string& run_id : *due) {
    spdlog::info("run {}: it ended without a judgement, which follows", run_id);
    matrices_.want(run_id);
  }
}

}  // namespace railgauge

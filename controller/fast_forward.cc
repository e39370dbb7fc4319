#include "controller/fast_forward.h"

#include <chrono>
#include <utility>

#include <spdlog/spdlog.h>

#include "controller/clock/next_jump.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge {
namespace {

constexpr auto kLook = std::chrono::milliseconds(5);
// Between two looks work may be handed from one part of the controller to another.
constexpr int kQuietLooks = 3;
// Between two looks for what is due while the clock does not jump, in seconds.
constexpr double kDueSeconds = 1;

}  // namespace

FastForward::FastForward(std::shared_ptr<ClockPage> page, Site site)
    : page_(std::move(page)), site_(std::move(site)), thread_([this] { work(); }) {}

FastForward::~FastForward() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    ends_.notify_all();
  }
  thread_.join();
}

bool FastForward::pause() {
  std::unique_lock lock(mutex_);
  return !ends_.wait_for(lock, kLook, [this] { return is_ending_; });
}

bool FastForward::is_quiet() {
  for (int look = 0; look < kQuietLooks; ++look) {
    if (look > 0 && !pause()) return false;
    if (!site_.is_idle()) return false;
  }
  return true;
}

void FastForward::wait_for_agents() {
  while (!page_->is_followed()) {
    if (page_->seconds_since_jump() > kFollowSeconds)
      return spdlog::warn("simulated clock: not all agents noticed the jump to {} within {:.0f} s",
                          rfc3339(page_->last_jump().to), kFollowSeconds);
    if (!pause()) return;
  }
}

void FastForward::work() {
  double next_look = page_->now();
  while (pause()) {
    if (page_->now() >= next_look) {
      site_.do_due(page_->now());
      next_look = page_->now() + kDueSeconds;
    }
    const double wanted = page_->wanted();
    if (wanted <= 0 || page_->is_settled() || !is_quiet()) continue;
    const auto to = next_jump(page_->now(), wanted, site_.next_due());
    if (to) {
      page_->jump(*to);
      wait_for_agents();
    } else {
      page_->set_settled(true);
    }
    next_look = 0;
  }
}

}  // namespace railgauge

#include "controller/clock/wall_clock.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <utility>

namespace railgauge {
namespace {

// A message is not longer under way.
constexpr double kUnderWaySeconds = 5;

// Set once; the threads that read it may outlive main().
std::shared_ptr<ClockPage>& kept_page() {
  static auto* const kept = new std::shared_ptr<ClockPage>();
  return *kept;
}
std::atomic<const ClockPage*> page_in_use = nullptr;

template <class Clock>
double seconds_now() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

}  // namespace

void use_simulated_clock(std::shared_ptr<ClockPage> page) {
  kept_page() = std::move(page);
  page_in_use = kept_page().get();
}

std::shared_ptr<ClockPage> simulated_clock() { return kept_page(); }

double wall_seconds() {
  const ClockPage* page = page_in_use;
  return page != nullptr ? page->now() : seconds_now<std::chrono::system_clock>();
}

double calendar_seconds() {
  const ClockPage* page = page_in_use;
  return page != nullptr ? page->now() : seconds_now<std::chrono::steady_clock>();
}

double skew_of(double unix_seconds) {
  const double skew = unix_seconds - wall_seconds();
  const ClockPage* page = page_in_use;
  if (page == nullptr || page->seconds_since_jump() > kUnderWaySeconds) return skew;
  const double before = skew + page->last_jump().ahead;
  return std::abs(before) < std::abs(skew) ? before : skew;
}

}  // namespace railgauge

// Moves a simulated clock to the time that somebody wants, jump by jump, and does on the way what
// the controller does by the calendar. The clock waits while anything is under way.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "controller/clock/clock_page.h"

namespace railgauge {

// Thread safe. Destroying it ends its thread.
class FastForward {
 public:
  // Its questions to the controller, asked on its own thread.
  struct Site {
    // Whether no run, judgement or write is under way.
    std::function<bool()> is_idle;
    // When something is to be started next, unix seconds.
    std::function<std::optional<double>()> next_due;
    // Does what is due at this time.
    std::function<void(double now)> do_due;
  };
  // Agents that have not noticed a jump after this many seconds are not waited for any longer.
  static constexpr double kFollowSeconds = 60;

  FastForward(std::shared_ptr<ClockPage> page, Site site);
  ~FastForward();
  FastForward(const FastForward&) = delete;
  FastForward& operator=(const FastForward&) = delete;

 private:
  void work();
  // False: it is to end.
  bool pause();
  [[nodiscard]] bool is_quiet();
  void wait_for_agents();

  const std::shared_ptr<ClockPage> page_;
  const Site site_;
  std::mutex mutex_;
  std::condition_variable ends_;
  bool is_ending_ = false;
  std::thread thread_;  // the last: it uses all members above
};

}  // namespace railgauge

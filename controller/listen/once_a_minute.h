// The limit of lines about events that a peer can cause at will.
#pragma once

#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>

namespace railgauge {

// Allows one line a minute and counts the events in between. Thread safe.
class OnceAMinute {
 public:
  static constexpr double kSeconds = 60;

  // Counts one event. Returns the number of events since the last line, this one included, when a
  // line is due; absent otherwise. `now` is in seconds of any clock that never falls.
  std::optional<std::uint64_t> note(double now) {
    const std::lock_guard lock(mutex_);
    ++events_;
    if (now < next_) return std::nullopt;
    next_ = now + kSeconds;
    return std::exchange(events_, 0);
  }

 private:
  std::mutex mutex_;
  double next_ = -std::numeric_limits<double>::infinity();
  std::uint64_t events_ = 0;
};

}  // namespace railgauge

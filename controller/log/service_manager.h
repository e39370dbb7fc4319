// Reports of controller and agent to the service manager that started them, by the datagrams of
// sd_notify(3). Without such a manager, or with one that does not ask, nothing is sent.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge {

// Thread safe. A report that the manager does not take at once is said again by the next alive().
class ServiceManager {
 public:
  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and removes them: a child process must not
  // speak for this one. Call it before other threads exist.
  static ServiceManager of_environment();
  // Reports to `socket` (a path, or @NAME of the abstract name space; "": to nobody), with signs of
  // life every `watchdog_seconds` / 2 (0: none).
  ServiceManager(std::string socket, double watchdog_seconds,
                 std::vector<std::string> variables = {})
      : socket_(std::move(socket)),
        watchdog_seconds_(watchdog_seconds),
        variables_(std::move(variables)) {}

  [[nodiscard]] bool is_asked() const { return !socket_.empty(); }
  // 0: the manager wants no sign of life.
  [[nodiscard]] double watchdog_seconds() const { return watchdog_seconds_; }
  // The variables that of_environment() removed, as NAME=VALUE: for execve of this process, which
  // the manager watches on.
  [[nodiscard]] const std::vector<std::string>& variables() const { return variables_; }

  // The start is complete; `state` in words.
  void ready(const std::string& state);
  // The program begins to end by itself.
  void stopping(const std::string& state);
  // Call it from the loop that is watched, at `now_ns` of CLOCK_MONOTONIC. Sends
  // a sign of life when half of the interval is over, and `state` when it changed.
  void alive(double now_ns, const std::string& state);

 private:
  // Without mutex_. Whether it was taken.
  bool send(const std::string& lines) const;

  const std::string socket_;
  const double watchdog_seconds_;
  const std::vector<std::string> variables_;
  std::mutex mutex_;
  bool is_ready_ = false;
  bool is_ready_told_ = false;
  double next_ns_ = 0;   // of the next sign of life
  std::string state_{};  // the last one that was sent
};

}  // namespace railgauge

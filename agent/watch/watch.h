// The counter watch between tests: a thread that looks at the node's counters and at the kernel's
// log, since a sick device may hold a look up. While tasks run only the log is read: tests read the
// counters themselves, and what grew meanwhile is seen by the first look after them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/watch/tracker.h"
#include "controller/api/agent.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::agent {

struct WatchOptions {
  double seconds = 5;  // between two looks; 0: nothing is watched
  std::string sysfs_root = "/sys";
  std::string proc_root = "/proc";
  std::string kernel_log = "/dev/kmsg";
  std::vector<std::string> log_files{"/var/log/kern.log", "/var/log/messages"};
};

class Watch {
 public:
  struct News {
    std::vector<api::NodeEvent> events;
    std::vector<Tracker::Total> totals;
    std::string log_source;  // "" when the kernel's log cannot be read
  };

  // The watch's thread calls `wake` when take() has something to report.
  Watch(WatchOptions options, std::function<void()> wake);
  // Leaves a thread behind that a device does not let go.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void start();
  void set_quiet(bool quiet);  // a task runs
  // The events since the last call; `events` may be empty. False when there was no look since.
  bool take(News& news);

 private:
  struct Shared;
  static void watch_for_ever(std::shared_ptr<Shared> shared);
  std::shared_ptr<Shared> shared_;
};

}  // namespace railgauge::agent

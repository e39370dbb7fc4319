// The counter watch between tests: reads the node's counters and the kernel's log on a thread,
// since a sick device may block a look. While tasks run, only the log is read: kernels read the
// counters themselves, and the first look after them sees all growth.
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
  double seconds = 5;  // between two looks; 0: no watch
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

  // The watch's thread calls `wake` when take() has events.
  Watch(WatchOptions options, std::function<void()> wake);
  // Waits up to 2 s for the thread; leaves it behind if a device blocks it.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void start();
  void set_quiet(bool quiet);  // true while tasks run
  // Moves the events since the last call to `news`; `events` may be empty. False: no look since
  // then.
  bool take(News& news);

 private:
  struct Shared;
  static void watch_for_ever(std::shared_ptr<Shared> shared);
  std::shared_ptr<Shared> shared_;
};

}  // namespace railgauge::agent

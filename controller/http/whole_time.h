// Bounds a whole call of httplib's client, which alone bounds each wait: a server that drips bytes
// would hold its caller for ever. Internal to this room.
#pragma once

#include <httplib.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "kernels/core/base/fd.h"

namespace railgauge::http {

// Ends the client's connections once its time is over, also in a TLS handshake and within a header.
// Names are looked up for as long as the resolver takes. It is made before the client's call and
// ended after it. Whoever calls ignores SIGPIPE.
class WholeTime {
 public:
  // Sets the bounds of each wait too.
  WholeTime(httplib::Client& client, double seconds);
  ~WholeTime();
  WholeTime(const WholeTime&) = delete;
  WholeTime& operator=(const WholeTime&) = delete;

  // Thread safe.
  [[nodiscard]] bool is_over() const;

 private:
  void watch(int socket);
  void run();

  const std::chrono::steady_clock::time_point end_;
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable wake_;
  Fd socket_{};  // a copy of the client's newest one, whose number stays ours
  bool is_over_ = false;
  bool is_done_ = false;
  std::thread thread_;  // last: uses all above
};

}  // namespace railgauge::http

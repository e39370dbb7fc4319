// The active controller's side of its lease: renews it on a thread of its own, asks those who could
// take it to wait while the archive does not answer, and says when it is over. Thread safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "controller/mirror/lease.h"
#include "kernels/core/base/result.h"

namespace railgauge::standby {

// Asks a controller not to take the lease for `seconds`. True: it promised. Bounded in time; called
// on the keeper's thread.
using AskPromise = std::function<bool(const mirror::SiteController& other, std::int64_t generation,
                                      double seconds)>;

struct LeaseKeeperOptions {
  std::string url{};  // of the archive
  std::string site{};
  mirror::SiteController self{};
  mirror::LeaseTimes times{};
  AskPromise ask_promise{};
  // Called once, on the keeper's thread, when the lease is over, with one line.
  std::function<void(const std::string& why)> deposed{};
};

class LeaseKeeper {
 public:
  // `lease` was asked for at `asked_at` (boot_seconds).
  LeaseKeeper(LeaseKeeperOptions options, mirror::TakenLease lease, double asked_at);
  // Leaves the lease to its end.
  ~LeaseKeeper();
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

  [[nodiscard]] std::int64_t generation() const { return generation_; }
  // Whether this controller may act now. Costs a read of the clock.
  [[nodiscard]] bool may_act() const { return mirror::boot_seconds() < acts_until_; }
  // Ends the thread and the lease, so that a standby takes it at once.
  void release();
  // Controllers that could take the site over, as the archive said last; they wait by promise while
  // it does not answer.
  [[nodiscard]] std::size_t ready() const { return ready_count_; }
  [[nodiscard]] bool is_by_promise() const { return is_by_promise_; }

 private:
  void work();
  // The pause until the next step; below 0: the lease is over.
  double step();
  // Renews in the archive; false: there was no answer.
  Result<bool> renew(double now);
  // True: all who could take the lease wait.
  bool ask_all(double now);
  void depose(const std::string& why);

  const LeaseKeeperOptions options_;
  const std::int64_t generation_;
  mirror::LeaseHolder holder_;  // on the thread alone, as the next three
  // Who may take the lease after its end, as far as the archive can know: those of the last
  // renewal that was answered, and of all that were sent since.
  std::map<std::string, mirror::SiteController> takers_{};
  std::vector<mirror::SiteController> ready_{};  // admitted by the next renewal
  std::unique_ptr<pq::Connection> archive_{};
  std::atomic<double> acts_until_ = 0;
  std::atomic<std::size_t> ready_count_ = 0;
  std::atomic<bool> is_by_promise_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> ending_ = false;
  std::thread thread_;  // last: uses all above
};

}  // namespace railgauge::standby

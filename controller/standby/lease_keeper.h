// The active controller's side of its lease: renews it on a thread of its own, asks those who could
// take it to wait while the archive does not answer, and says when it is over. Thread safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "controller/mirror/lease.h"
#include "controller/standby/lease_term.h"
#include "kernels/core/base/result.h"

namespace railgauge::standby {

struct LeaseKeeperOptions {
  std::string url{};  // of the archive
  std::string site{};
  mirror::SiteController self{};
  mirror::LeaseTimes times{};
  AskPromise ask_promise{};  // called on the keeper's thread
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

  [[nodiscard]] std::int64_t generation() const { return term_.generation(); }
  // Whether this controller may act now. Costs a read of the clock.
  [[nodiscard]] bool may_act() const { return mirror::boot_seconds() < term_.acts_until(); }
  // Renews the lease at once, at most once a second: somebody says that another controller has it.
  // The archive decides. Does not wait.
  void doubt();
  // Ends the thread and the lease, so that a standby takes it at once.
  void release();
  // Controllers that could take the site over, as the archive said last; they wait by promise while
  // it does not answer.
  [[nodiscard]] std::size_t ready() const { return term_.ready(); }
  [[nodiscard]] bool is_by_promise() const { return term_.is_by_promise(); }

 private:
  void work();
  // As mirror::renew_lease(), over a connection that is kept.
  Result<std::optional<std::vector<mirror::SiteController>>> renew(
      const mirror::LeaseRenewal& renewal);

  const LeaseKeeperOptions options_;
  std::unique_ptr<pq::Connection> archive_{};  // on the thread alone
  LeaseTerm term_;                             // its steps on the thread alone
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> ending_ = false;
  bool is_doubted_ = false;  // as the next, under the mutex
  double doubted_at_ = 0;    // boot seconds
  std::thread thread_;       // last: uses all above
};

}  // namespace railgauge::standby

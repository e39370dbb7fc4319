// The rules by which the active controller keeps its lease, step by step, without a thread:
// renewals, and promises of those who could take it while the archive does not answer. Decision
// 162.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/mirror/lease.h"
#include "kernels/core/base/result.h"

namespace railgauge::standby {

// Asks a controller not to take the lease for `seconds`. True: it promised. Bounded in time.
using AskPromise = std::function<bool(const mirror::SiteController& other, std::int64_t generation,
                                      double seconds)>;

// The world around a term. Called within step() alone.
struct LeaseEdges {
  // As mirror::renew_lease(); an error: the archive did not answer in time.
  std::function<Result<std::optional<std::vector<mirror::SiteController>>>(
      const mirror::LeaseRenewal& renewal)>
      renew{};
  AskPromise ask_promise{};
  std::function<double()> now = mirror::boot_seconds;
};

struct LeaseTermOptions {
  std::string site{};
  mirror::SiteController self{};
  mirror::LeaseTimes times{};
};

// Not thread safe, but for the functions that say so.
class LeaseTerm {
 public:
  // `lease` was asked for at `asked_at`, by the clock of `edges`.
  LeaseTerm(LeaseTermOptions options, LeaseEdges edges, mirror::TakenLease lease, double asked_at);

  // Does what is due, with `is_doubted` a renewal before its time too. Returns the seconds until
  // the next step. An error: the lease is over; nothing acts from the moment at which it is,
  // whoever asks.
  Result<double> step(bool is_doubted = false);
  // Ends the term: it is given back.
  void end() { acts_until_ = 0; }

  [[nodiscard]] std::int64_t generation() const { return generation_; }
  // Until when this controller acts; thread safe, as the next two.
  [[nodiscard]] double acts_until() const { return acts_until_; }
  // Controllers that could take the site over, as the archive said last.
  [[nodiscard]] std::size_t ready() const { return ready_count_; }
  [[nodiscard]] bool is_by_promise() const { return is_by_promise_; }

 private:
  // False: another controller has the lease. An error: there was no answer.
  Result<bool> renew(double now);
  bool ask_all();
  Result<double> over(const std::string& why);

  const LeaseTermOptions options_;
  const LeaseEdges edges_;
  const std::int64_t generation_;
  mirror::LeaseHolder holder_;
  // Who may take the lease after its end, as far as the archive can know: those of the last
  // renewal that was answered, and of all that were sent since.
  std::map<std::string, mirror::SiteController> takers_{};
  std::vector<mirror::SiteController> ready_{};  // admitted by the next renewal
  std::atomic<double> acts_until_ = 0;
  std::atomic<std::size_t> ready_count_ = 0;
  std::atomic<bool> is_by_promise_ = false;
  std::int64_t renewals_ = 0;  // that were sent
};

}  // namespace railgauge::standby

// Promises of a standby: not to take the lease before a time. Times are boot_seconds().
// Thread safe.
#pragma once

#include <cstdint>
#include <mutex>

namespace railgauge::standby {

class Vows {
 public:
  // Nothing is taken before `not_before`: promises of an earlier life of this process end by then.
  explicit Vows(double not_before) : until_(not_before) {}

  // A promise until `now + seconds` to the holder of `generation`. False: a higher one is known.
  // Waits while this controller asks for the lease.
  bool promise(std::int64_t generation, double seconds, double now) {
    const std::lock_guard lock(mutex_);
    if (generation < seen_) return false;
    seen_ = generation;
    if (until_ < now + seconds) until_ = now + seconds;
    return true;
  }
  // A generation that the archive shows, or that this controller has taken.
  void see(std::int64_t generation) {
    const std::lock_guard lock(mutex_);
    note(generation);
  }
  [[nodiscard]] std::int64_t seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  // Runs `ask`, which asks for the lease, unless a promise forbids it; it returns the generation
  // that it got, or 0. No promise is given meanwhile: a lease counts by the answer alone, so that a
  // request whose answer is lost binds nobody.
  template <class Ask>
  void take_if_free(double now, const Ask& ask) {
    const std::lock_guard lock(mutex_);
    if (now >= until_) note(ask());
  }

 private:
  void note(std::int64_t generation) {
    if (generation > seen_) seen_ = generation;
  }

  mutable std::mutex mutex_;
  double until_;
  std::int64_t seen_ = 0;
};

}  // namespace railgauge::standby

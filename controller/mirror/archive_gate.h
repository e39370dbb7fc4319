// Acts that wait until the archive has what the store has committed so far: acknowledgements of
// records, starts of attempts, answers to people. Thread safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <mutex>
#include <utility>

namespace railgauge::mirror {

// Times are seconds of one clock that never falls.
class ArchiveGate {
 public:
  using Act = std::function<void()>;

  // Acts wait for `most_seconds` at most. Where the archive is later than that they are released by
  // tick(), and further ones are not held until the archive has everything again.
  explicit ArchiveGate(double most_seconds = std::numeric_limits<double>::infinity())
      : most_seconds_(most_seconds) {}

  // `act` is called once the archive has all that is committed now: at once, on the caller's
  // thread, or later on that of the mirror or of tick().
  void hold(Act act, double now);
  // Number of the newest act that waits; 0: none does.
  [[nodiscard]] std::uint64_t held() const;
  // Acts up to that number are behind rows of the outbox up to `newest`.
  void note(std::uint64_t held, std::int64_t newest);
  // The archive has rows up to `through`, of the outbox's present numbers.
  void passed(std::int64_t through);
  // The archive has everything.
  void caught_up();
  // The outbox's numbers began anew: what waits is counted anew.
  void forget();
  // Releases all acts where the oldest has waited for too long.
  void tick(double now);
  // Releases all acts, and holds none until the archive has everything again.
  void release_all();
  // Whether acts are released although the archive may lack what they follow.
  [[nodiscard]] bool is_late() const;

 private:
  struct Waiting {
    std::uint64_t number = 0;
    double since = 0;
    Act act{};
  };

  const double most_seconds_;
  mutable std::mutex mutex_;  // guards all below
  std::deque<Waiting> waiting_{};
  std::uint64_t count_ = 0;
  // The newest act, and the row of the outbox behind which it is done; both grow.
  std::deque<std::pair<std::uint64_t, std::int64_t>> marks_{};
  bool is_late_ = false;
};

}  // namespace railgauge::mirror

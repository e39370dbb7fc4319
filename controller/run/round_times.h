// Measures how long the rounds of each stage take, for the estimates of later runs. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace railgauge::run {

// One task of the plan.
struct TimedTask {
  std::uint32_t stage = 0;
  std::uint32_t round = 0;
  double longest_seconds = 0;  // 0: waived
};

// The time of the counted rounds of one stage.
struct StageSeconds {
  std::uint32_t stage = 0;
  std::uint32_t rounds = 0;
  double longest_seconds = 0;  // each round as long as its longest task
  double seconds = 0;
};

// The rounds of one run. A round counts where at least kLeastPassed of its tasks passed at their
// first start: failures are quick or hang. The time between two rounds counts up to
// settle_seconds + kMostGapSeconds; the rest is waiting. Not thread safe. Times are seconds of a
// monotonic clock.
class RoundTimes {
 public:
  static constexpr double kLeastPassed = 0.9;
  static constexpr double kMostGapSeconds = 1;

  explicit RoundTimes(double settle_seconds) : most_gap_(settle_seconds + kMostGapSeconds) {}

  // Enters the tasks of rounds that open; their indices begin at `first`. Rounds come in their
  // order.
  void add(std::size_t first, std::span<const TimedTask> tasks);
  // A task begins or ends. Tasks that were not entered and starts after a round's end have no
  // effect.
  void begun(std::size_t index, double now);
  void ended(std::size_t index, bool passed, double now);
  // Returns the stages with a counted round.
  [[nodiscard]] std::vector<StageSeconds> stages() const;

 private:
  struct Round {
    std::uint32_t stage = 0;
    std::uint32_t tasks = 0;  // that are not waived
    std::uint32_t passed = 0;
    double longest_seconds = 0;
    double began_at = -1;
    double ended_at = -1;  // of its last task
  };

  using Rounds = std::map<std::uint32_t, Round>;
  Rounds::iterator find(std::size_t index);

  // The last index of each round that was entered, with the round; its first index.
  struct Range {
    std::size_t first = 0;
    std::uint32_t round = 0;
  };
  std::map<std::size_t, Range> ranges_;
  Rounds rounds_;
  double most_gap_;
};

}  // namespace railgauge::run

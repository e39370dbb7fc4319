// The wait before the next dial: doubles from `first` to `most`, with jitter so that a thousand
// agents do not dial in one instant. Pure: the caller passes the random number.
#pragma once

namespace railgauge::agent {

class Backoff {
 public:
  struct Options {
    double first_seconds = 0.5;
    double most_seconds = 10;
    double refused_seconds = 120;  // after a permanent refusal, which a person has to resolve
  };
  explicit Backoff(Options options) : options_(options) {}

  // Returns the next wait, between half of the current step and all of it, and doubles the step.
  // `unit_random` is in [0, 1).
  double next_seconds(double unit_random);
  // Returns the wait after a permanent refusal, with the same jitter. The step stays.
  [[nodiscard]] double refused_seconds(double unit_random) const;
  // Resets the step after a stable stream: the next wait starts from first_seconds.
  void reset() { step_seconds_ = 0; }

 private:
  Options options_;
  double step_seconds_ = 0;
};

}  // namespace railgauge::agent

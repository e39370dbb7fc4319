// How long to wait before the next dial: doubles from `first` to `most`, with jitter so that a
// thousand agents do not come back in one instant. Pure: the caller brings the random number.
#pragma once

namespace railgauge::agent {

class Backoff {
 public:
  struct Options {
    double first_seconds = 0.5;
    double most_seconds = 10;
    double refused_seconds = 120;  // after a permanent refusal: somebody has to act first
  };
  explicit Backoff(Options options) : options_(options) {}

  // The next wait: between half of the current step and all of it. `unit_random` in [0, 1).
  double next_seconds(double unit_random);
  // The wait after a permanent refusal, with the same jitter; does not move the step.
  [[nodiscard]] double refused_seconds(double unit_random) const;
  // A stream has lasted: the next wait is a first one.
  void reset() { step_seconds_ = 0; }

 private:
  Options options_;
  double step_seconds_ = 0;
};

}  // namespace railgauge::agent

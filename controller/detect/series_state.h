// One series as it grows, in bounded memory: a window of its newest runs and what was found before.
// Runs that are added one at a time give the same findings as all at once, after every run: what is
// kept depends on how many runs there were, never on how they came.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "controller/detect/changes.h"

namespace railgauge::analysis {

struct WindowSettings {
  std::size_t window = 90;  // most runs that are held
  std::size_t hop = 30;     // runs that leave when it is full
  std::size_t most = 256;   // changes, and spikes, of runs that left: the newest are remembered
};
inline constexpr WindowSettings kFleetWindow{};  // a series among millions
inline constexpr WindowSettings kFileWindow{
    .window = 2000, .hop = 1000, .most = std::numeric_limits<std::size_t>::max()};  // of one file

class SeriesState {
 public:
  explicit SeriesState(WindowSettings window = kFleetWindow) : window_(window) {}

  // NaN is a missing run. `settings` judge what leaves the window with this run, if anything does.
  void append(double value, const DetectorSettings& settings);
  void append_all(std::span<const double> values, const DetectorSettings& settings);

  // About all runs so far; indices count from the first one.
  [[nodiscard]] Findings findings(const DetectorSettings& settings) const;

  [[nodiscard]] std::size_t runs() const { return offset_ + values_.size(); }
  [[nodiscard]] std::size_t held() const { return values_.size(); }

 private:
  [[nodiscard]] Findings window_findings(const DetectorSettings& settings) const;
  void freeze(const DetectorSettings& settings);

  WindowSettings window_;
  std::vector<double> values_;
  std::size_t offset_ = 0;       // runs that left the window
  std::vector<Change> changes_;  // of runs that left, oldest first
  std::vector<Spike> spikes_;
};

}  // namespace railgauge::analysis

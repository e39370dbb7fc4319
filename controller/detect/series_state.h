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

// Bounds of the memory of one series.
struct WindowSettings {
  // Largest number of runs in the window.
  std::size_t window = 90;
  // Number of runs that leave a full window.
  std::size_t hop = 30;
  // Changes, and spikes, of runs that left: the newest are remembered.
  std::size_t most = 256;
};
// A series among millions.
inline constexpr WindowSettings kFleetWindow{};
inline constexpr WindowSettings kFileWindow{// For the one series of a file.
                                            .window = 2000,
                                            .hop = 1000,
                                            .most = std::numeric_limits<std::size_t>::max()};

// Not thread safe: one owner at a time.
class SeriesState {
 public:
  explicit SeriesState(WindowSettings window = kFleetWindow) : window_(window) {}

  // NaN is a missing run. `settings` judge what leaves the window with this run, if anything does.
  void append(double value, const DetectorSettings& settings);
  void append_all(std::span<const double> values, const DetectorSettings& settings);

  // About all runs so far; indices count from the first one.
  [[nodiscard]] Findings findings(const DetectorSettings& settings) const;

  [[nodiscard]] std::size_t runs() const { return offset_ + values_.size(); }
  // Number of runs in the window.
  [[nodiscard]] std::size_t held() const { return values_.size(); }

 private:
  [[nodiscard]] Findings window_findings(const DetectorSettings& settings) const;
  // Keeps the findings of the oldest runs and removes these runs from the window.
  void freeze(const DetectorSettings& settings);

  WindowSettings window_;
  std::vector<double> values_;
  // Runs that left the window.
  std::size_t offset_ = 0;
  // Changes in runs that left the window, oldest first.
  std::vector<Change> changes_;
  std::vector<Spike> spikes_;
};

}  // namespace railgauge::analysis

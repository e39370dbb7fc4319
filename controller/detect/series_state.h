// State of a growing series in bounded memory: a window of its newest runs, and the findings of
// older runs. Runs added one at a time and runs added together give the same findings after each
// run, since the state depends only on the number and the values of the runs.
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
  // Bound of remembered changes, and of spikes, in runs that left the window; the newest are kept.
  std::size_t most = 256;
};
// Window of a series among millions.
inline constexpr WindowSettings kFleetWindow{};
inline constexpr WindowSettings kFileWindow{// For the one series of a file.
                                            .window = 2000,
                                            .hop = 1000,
                                            .most = std::numeric_limits<std::size_t>::max()};

// The state of one series. Not thread safe.
class SeriesState {
 public:
  explicit SeriesState(WindowSettings window = kFleetWindow) : window_(window) {}

  // Appends a run; NaN is a missing run. `settings` judge the runs that leave the window, if any.
  void append(double value, const DetectorSettings& settings);
  void append_all(std::span<const double> values, const DetectorSettings& settings);

  // Returns the findings over all runs so far; indices count from the first run.
  [[nodiscard]] Findings findings(const DetectorSettings& settings) const;

  [[nodiscard]] std::size_t runs() const { return offset_ + values_.size(); }
  // Number of runs in the window.
  [[nodiscard]] std::size_t held() const { return values_.size(); }

 private:
  // Finds the changes in the window that are not among `kept`, the changes of older runs. A drift
  // that continues the newest drift of these extends it.
  [[nodiscard]] Findings window_findings(const DetectorSettings& settings,
                                         std::vector<Change>& kept) const;
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

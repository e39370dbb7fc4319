// Sizes a load so that it lasts throughout a measured run, and finds the samples that it covered.
// Pure; not thread safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace railgauge::cuda {

// A sample counts as loaded when the load lasted for this share of it. A sample with less measured
// a partly quiet link: it is repeated with more load, and the fact samples_without_load counts it.
// (Rejected: failing the task at once. A load's first guess is often short, the next run's is not.)
inline constexpr double kLeastCoverage = 0.99;

// An interval in ns after the opening.
struct Stretch {
  double begin_ns = 0;
  double end_ns = 0;
};
// Returns the share of a sample that the load covers; 1 is all of it.
double load_coverage(const Stretch& sample, const Stretch& load);

// The samples of one run that its load covers: the first ones when the load ends early, none when
// it begins late.
struct Covered {
  // Samples with kLeastCoverage or more, and the least coverage among them.
  std::size_t samples = 0;
  double least = 1;
  // The coverage of the first sample behind them; 1 when there is none.
  double lacking = 1;
};
// Counts covered samples. `marks_ns` are the samples' ends; the first begins at the opening.
Covered covered_samples(std::span<const double> marks_ns, const Stretch& load);

// Sizes a load from the last runs: its quickest copies against the slowest measured ones, because
// the run after a typical one may be quick. An odd run is forgotten after kRemembered others;
// otherwise one run blocked for a second would lengthen every later load as much.
class LoadSizing {
 public:
  static constexpr std::size_t kRemembered = 8;

  // One finished run: copies and times of the measured stream and of the load.
  struct Run {
    std::uint64_t measured_copies;
    double measured_ns;
    std::uint64_t load_copies;
    double load_ns;
  };
  LoadSizing() = default;
  // `bytes_ratio` is a measured copy's bytes over a load copy's. The first guess assumes equal
  // rates and doubles the amount.
  explicit LoadSizing(double bytes_ratio) : bytes_ratio_(bytes_ratio) {}

  // Learns from a finished run.
  void saw(const Run& run);
  // Returns the copies of the load beside `measured_copies`: 2 to `most`.
  [[nodiscard]] std::uint64_t copies_for(std::uint64_t measured_copies, std::uint64_t most) const;

 private:
  struct Speed {
    double measured_copy_ns = 0;
    double load_copy_ns = 0;
  };

  double bytes_ratio_ = 1;
  // Factor beside the fixed reserve; a load that was too short doubles it.
  double reserve_ = 1;
  std::array<Speed, kRemembered> last_{};
  std::size_t runs_ = 0;
};

}  // namespace railgauge::cuda

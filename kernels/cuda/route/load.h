// The amount of load that keeps a measured run loaded throughout, and the samples that were loaded.
// Pure; not thread safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace railgauge::cuda {

// A sample counts as loaded when its load lasted for this share of it. A sample with less measured
// a part of the quiet link: it is taken again with more load, and the fact samples_without_load
// counts it. (The alternative was to fail the task at once: a load's first guess is often short,
// and the next run's is not.)
inline constexpr double kLeastCoverage = 0.99;

// A stretch of time, in ns from the opening.
struct Stretch {
  double begin_ns = 0;
  double end_ns = 0;
};
// The share of a sample during which the load was at work; 1 is all of it.
double load_coverage(const Stretch& sample, const Stretch& load);

// The samples of one run that its load covers: a load that ends early covers the first ones, a load
// that begins late none.
struct Covered {
  // Samples with kLeastCoverage or more, and the least coverage among them.
  std::size_t samples = 0;
  double least = 1;
  // The coverage of the first sample after them; 1 where there is none.
  double lacking = 1;
};
// `marks_ns`: where each sample ended, from the opening, the first one beginning there.
Covered covered_samples(std::span<const double> marks_ns, const Stretch& load);

// Sizes one load by the last runs: by its quickest copies against the slowest measured ones, since
// the run after a typical one may be quick itself. An odd run is forgotten after kRemembered
// others; a run that was blocked for a second would else make every later load as long.
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
  // `bytes_ratio`: a measured copy's bytes over a load's; the first guess takes them for equally
  // fast and gives twice as much.
  explicit LoadSizing(double bytes_ratio) : bytes_ratio_(bytes_ratio) {}

  // Learns from a finished run.
  void saw(const Run& run);
  // Copies of the load beside `measured_copies`: 2 to `most`.
  [[nodiscard]] std::uint64_t copies_for(std::uint64_t measured_copies, std::uint64_t most) const;

 private:
  struct Speed {
    double measured_copy_ns = 0;
    double load_copy_ns = 0;
  };

  double bytes_ratio_ = 1;
  // The factor beside the fixed reserve; a load that was too short doubles it.
  double reserve_ = 1;
  std::array<Speed, kRemembered> last_{};
  std::size_t runs_ = 0;
};

}  // namespace railgauge::cuda

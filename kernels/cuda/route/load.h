// How much load a measured run needs so that it is loaded throughout, and which of its samples
// were. Pure; not thread safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace railgauge::cuda {

// A sample is one under load when its load went on for this share of it. One with less measured a
// part of the quiet link: it is not kept, but taken again with more load, and the fact
// samples_without_load counts it. (Failing the task at once was the other way: a load's first guess
// is often short, and the next run's is not.)
inline constexpr double kLeastCoverage = 0.99;

// A stretch of time, in ns from the opening.
struct Stretch {
  double begin_ns = 0;
  double end_ns = 0;
};
// The share of a sample during which the load went on: 1 is all.
double load_coverage(const Stretch& sample, const Stretch& load);

// The samples of one run, of which a load that ends covers the first ones; one that began late,
// none.
struct Covered {
  std::size_t samples = 0;  // with kLeastCoverage or more
  double least = 1;         // of those
  double lacking = 1;       // what the first one after them had; 1 where there is none
};
// `marks_ns`: where each sample ended, from the opening, the first one beginning there.
Covered covered_samples(std::span<const double> marks_ns, const Stretch& load);

// Sizes one load by the last runs: by its quickest copies against the slowest measured ones, since
// a run of which the last one was typical may be quick itself. An odd run is forgotten after
// kRemembered others, or one that stood still for a second would make every later load as long.
class LoadSizing {
 public:
  static constexpr std::size_t kRemembered = 8;

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

  void saw(const Run& run);
  // Copies of the load beside `measured_copies`: 2 to `most`.
  [[nodiscard]] std::uint64_t copies_for(std::uint64_t measured_copies, std::uint64_t most) const;

 private:
  struct Speed {
    double measured_copy_ns = 0;
    double load_copy_ns = 0;
  };

  double bytes_ratio_ = 1;
  double reserve_ = 1;  // beside the fixed one; doubled by a load that was too short
  std::array<Speed, kRemembered> last_{};
  std::size_t runs_ = 0;
};

}  // namespace railgauge::cuda

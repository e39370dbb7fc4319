// The size of a load, and its coverage of samples.
#include "kernels/cuda/route/load.h"

#include <algorithm>
#include <cmath>

namespace railgauge::cuda {
namespace {

// Load beyond the estimate.
constexpr double kReserve = 1.15;
// The largest factor by which short loads may raise the reserve: doubled eight times.
constexpr double kMostReserve = 256;
// A load of one copy has no steady part.
constexpr std::uint64_t kLeastCopies = 2;

}  // namespace

// Equal ends are compared exactly, so that a rounding error cannot reject a covered sample.
double load_coverage(const Stretch& sample, const Stretch& load) {
  const double begin_ns = std::max(sample.begin_ns, load.begin_ns);
  const double end_ns = std::min(sample.end_ns, load.end_ns);
  if (begin_ns == sample.begin_ns && end_ns == sample.end_ns) return 1;
  return std::max(0.0, end_ns - begin_ns) / (sample.end_ns - sample.begin_ns);
}

// Stops at the first sample that lacks its load: the later ones lack it too.
Covered covered_samples(std::span<const double> marks_ns, const Stretch& load) {
  Covered out;
  double begin_ns = 0;
  for (const double end_ns : marks_ns) {
    const double coverage = load_coverage({begin_ns, end_ns}, load);
    if (coverage < kLeastCoverage) {
      out.lacking = coverage;
      break;
    }
    out.least = std::min(out.least, coverage);
    ++out.samples;
    begin_ns = end_ns;
  }
  return out;
}

// A load that ended early doubles the reserve; one that lasted halves it, down to 1.
void LoadSizing::saw(const Run& run) {
  last_[runs_++ % kRemembered] = {run.measured_ns / static_cast<double>(run.measured_copies),
                                  run.load_ns / static_cast<double>(run.load_copies)};
  reserve_ = run.load_ns < run.measured_ns ? std::min(kMostReserve, 2 * reserve_)
                                           : std::max(1.0, reserve_ / 2);
}

// Without a run the two kinds of copies count as equally fast, and the load gets twice as many
// bytes.
std::uint64_t LoadSizing::copies_for(std::uint64_t measured_copies, std::uint64_t most) const {
  const auto measured = static_cast<double>(measured_copies);
  double copies = 2 * measured * bytes_ratio_;
  if (runs_ > 0) {
    double slowest_ns = 0;
    double quickest_ns = last_.front().load_copy_ns;
    for (std::size_t i = 0; i < std::min(runs_, kRemembered); ++i) {
      slowest_ns = std::max(slowest_ns, last_[i].measured_copy_ns);
      quickest_ns = std::min(quickest_ns, last_[i].load_copy_ns);
    }
    copies = kReserve * reserve_ * measured * slowest_ns / std::max(1.0, quickest_ns);
  }
  copies = std::ceil(copies) + 1;
  if (!(copies < static_cast<double>(most))) return most;
  return std::max(kLeastCopies, static_cast<std::uint64_t>(copies));
}

}  // namespace railgauge::cuda

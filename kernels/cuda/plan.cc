#include "kernels/cuda/plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/core/result.h"

namespace railgauge::cuda {
namespace {

constexpr std::uint64_t kMinBatch = 4;
constexpr std::uint64_t kRegionsPerCache = 2;  // the region's size in caches
constexpr double kLeap = 0.618;                // of the region, from one copy to the next
constexpr double kLoadReserve = 1.15;

std::uint64_t whole(double value, std::uint64_t least, std::uint64_t most) {
  if (!(value > static_cast<double>(least))) return least;  // NaN too
  if (value >= static_cast<double>(most)) return most;
  return static_cast<std::uint64_t>(std::ceil(value));
}

}  // namespace

std::uint64_t choose_repeat(double operation_ns, std::uint64_t most) {
  return whole(kSampleNs / std::max(1.0, operation_ns), 1, most);
}

std::uint64_t choose_batch(double operation_ns, std::uint64_t repeat,
                           std::uint64_t most_operations) {
  const std::uint64_t fit = std::max<std::uint64_t>(1, most_operations / repeat);
  const double sample_ns = std::max(1.0, operation_ns) * static_cast<double>(repeat);
  return whole(kGateNs / sample_ns, std::min(kMinBatch, fit), fit);
}

Rotation::Rotation(std::uint64_t size, std::uint64_t cache_bytes)
    : copy_bytes_(size), slot_bytes_(size) {
  if (size == 0 || size > cache_bytes) return;
  slot_bytes_ = (size + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
  slots_ = std::max<std::uint64_t>(2, kRegionsPerCache * cache_bytes / slot_bytes_);
  leap_ = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(kLeap * double(slots_)));
  while (std::gcd(leap_, slots_) != 1) ++leap_;
}

std::vector<double> steps_ns(std::span<const double> marks_ns) {
  std::vector<double> steps;
  steps.reserve(marks_ns.size());
  double before = 0;
  for (const double mark : marks_ns) steps.push_back(mark - std::exchange(before, mark));
  return steps;
}

double overlap_ns(std::span<const Marks> streams) {
  RG_CHECK(!streams.empty());
  double end = std::numeric_limits<double>::infinity();
  for (const Marks& stream : streams) end = std::min(end, stream.ns.back());
  return end;
}

double bytes_until(const Marks& stream, double ns) {
  double before = 0;
  double bytes = 0;
  for (const double mark : stream.ns) {
    if (mark > ns) {
      if (mark > before) bytes += stream.bytes_between * (ns - before) / (mark - before);
      break;
    }
    bytes += stream.bytes_between;
    before = mark;
  }
  return bytes;
}

double overlap_rate(std::span<const Marks> streams) {
  const double end = overlap_ns(streams);
  double bytes = 0;
  for (const Marks& stream : streams) bytes += bytes_until(stream, end);
  return bytes / (end / 1e9);
}

std::uint64_t load_copies(double measured_ns, double load_ns, std::uint64_t most) {
  return whole(kLoadReserve * measured_ns / std::max(1.0, load_ns) + 1, 2, most);
}

double load_coverage(double begin_ns, double end_ns, double load_end_ns) {
  if (load_end_ns >= end_ns) return 1;
  return std::max(0.0, load_end_ns - begin_ns) / (end_ns - begin_ns);
}

}  // namespace railgauge::cuda

// The arithmetic of samples, slots and overlaps.
#include "kernels/cuda/route/plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/core/base/result.h"

namespace railgauge::cuda {
namespace {

// Samples behind a gate, where the queue holds as many.
constexpr std::uint64_t kMinBatch = 4;
// The region's size in caches: a copy's bytes have left the cache before its slot comes again.
constexpr std::uint64_t kRegionsPerCache = 2;
// The step from one copy to the next, as a part of the region.
constexpr double kLeap = 0.618;

// Returns `value` rounded up, within [least, most]; NaN becomes `least`.
std::uint64_t whole(double value, std::uint64_t least, std::uint64_t most) {
  if (!(value > static_cast<double>(least))) return least;  // NaN too
  if (value >= static_cast<double>(most)) return most;
  return static_cast<std::uint64_t>(std::ceil(value));
}

// When the first and the last stream passed their last marks, in ns.
struct Ends {
  double first_ns = std::numeric_limits<double>::infinity();
  double last_ns = 0;
};
Ends ends_of(std::span<const Marks> streams) {
  RG_CHECK(!streams.empty());
  Ends ends;
  for (const Marks& stream : streams) {
    ends.first_ns = std::min(ends.first_ns, stream.ns.back());
    ends.last_ns = std::max(ends.last_ns, stream.ns.back());
  }
  return ends;
}

// Bytes between marks that were passed by `ns`, and the part of copies under way at that moment.
Overlap counted_until(std::span<const Marks> streams, double ns) {
  Overlap out{.ns = ns};
  for (const Marks& stream : streams) {
    const auto next = std::ranges::upper_bound(stream.ns, ns);
    out.bytes += stream.bytes_between * static_cast<double>(next - stream.ns.begin());
    if (next == stream.ns.end()) continue;
    const double before = next == stream.ns.begin() ? 0 : *std::prev(next);
    out.under_way_bytes += stream.bytes_between * (ns - before) / (*next - before);
  }
  return out;
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

// The leap is coprime to the number of slots, so that all slots are visited before one comes again.
Rotation::Rotation(std::uint64_t size, std::uint64_t cache_bytes)
    : copy_bytes_(size), slot_bytes_(size) {
  if (size == 0 || size > cache_bytes) return;
  slot_bytes_ = (size + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
  slots_ = std::max<std::uint64_t>(2, kRegionsPerCache * cache_bytes / slot_bytes_);
  leap_ = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(kLeap * double(slots_)));
  while (std::gcd(leap_, slots_) != 1) ++leap_;
}

Rotation Rotation::of_slices(std::uint64_t size, std::uint64_t count) {
  RG_CHECK(count > 0 && size % count == 0);
  Rotation slices;
  slices.slots_ = count;
  slices.copy_bytes_ = size / count;
  slices.slot_bytes_ = size / count;
  return slices;
}

std::vector<double> steps_ns(std::span<const double> marks_ns) {
  std::vector<double> steps;
  steps.reserve(marks_ns.size());
  double before = 0;
  for (const double mark : marks_ns) steps.push_back(mark - std::exchange(before, mark));
  return steps;
}

// Evaluates both rates of the header's comment and keeps the larger one.
Overlap overlap_of(std::span<const Marks> streams) {
  const Ends ends = ends_of(streams);
  Overlap best;
  for (const Marks& candidates : streams)
    for (const double ns : candidates.ns) {
      if (ns > ends.first_ns || ns < ends.first_ns / 2) continue;
      const Overlap now = counted_until(streams, ns);
      if (best.ns == 0 || now.counted_share() > best.counted_share()) best = now;
    }
  const Overlap whole = counted_until(streams, ends.last_ns);
  return whole.rate() > best.rate() ? whole : best;
}

// Large values mean that one stream ran alone for part of the time.
double ended_apart(std::span<const Marks> streams) {
  const Ends ends = ends_of(streams);
  return (ends.last_ns - ends.first_ns) / ends.last_ns;
}

std::vector<double> shares_of_rate(std::span<const double> times) {
  double sum = 0;
  for (const double time : times) sum += 1 / time;
  std::vector<double> shares;
  for (const double time : times) shares.push_back(1 / time / sum);
  return shares;
}

unsigned share_of_blocks(unsigned blocks, std::uint64_t copies) {
  const auto share = blocks / std::max<std::uint64_t>(1, copies);
  return static_cast<unsigned>(std::max<std::uint64_t>(1, share));
}

}  // namespace railgauge::cuda

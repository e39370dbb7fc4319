// The arithmetic of copy measurements: number of copies in a sample, place of each copy, and the
// bytes that count when several run at once. Pure; thread safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace railgauge::cuda {

// --- how many ---------------------------------------------------------------------------------

// Least duration of a sample, if the queue has room for its copies. Between two samples the stream
// stamps an event, for which a copy engine pauses by some us; the stamp is exact to half a pause:
// 0.05 % of this duration.
inline constexpr double kSampleNs = 8e6;
// Duration of the work behind one gate, long against opening the gate and waiting.
inline constexpr double kGateNs = 20e6;

// Returns the operations of `operation_ns` each in a sample: 1 to `most`.
std::uint64_t choose_repeat(double operation_ns, std::uint64_t most);
// Returns the samples of `repeat` operations behind one gate: at least 1, at most 4 of long
// operations, with at most `most_operations` operations in all.
std::uint64_t choose_batch(double operation_ns, std::uint64_t repeat,
                           std::uint64_t most_operations);

// --- where ------------------------------------------------------------------------------------

// Slots begin where the driver's own allocations may begin: an odd size changes the length of a
// copy, not the alignment of its addresses.
inline constexpr std::uint64_t kSlotAlignment = 256;

// A cold copy that fits in the GPU's L2 cache rotates through a buffer larger than the cache, slot
// by slot in leaps, so that no copy finds the bytes of a recent one in the cache.
class Rotation {
 public:
  Rotation() = default;
  // A `size` up to `cache_bytes` rotates; a larger one stays in place. 0: a hot copy, in place.
  Rotation(std::uint64_t size, std::uint64_t cache_bytes);
  // Divides `size` into `count` adjacent equal slices; `count` divides it.
  static Rotation of_slices(std::uint64_t size, std::uint64_t count);

  [[nodiscard]] bool rotates() const { return slots_ > 1; }
  [[nodiscard]] std::uint64_t slots() const { return slots_; }
  [[nodiscard]] std::uint64_t copy_bytes() const { return copy_bytes_; }  // at a slot's beginning
  [[nodiscard]] std::uint64_t slot_bytes() const { return slot_bytes_; }
  [[nodiscard]] std::uint64_t region_bytes() const { return slots_ * slot_bytes_; }
  // Returns the byte offset of copy number `copy` (from 0). The first slots() copies have different
  // slots.
  [[nodiscard]] std::uint64_t offset(std::uint64_t copy) const {
    return copy % slots_ * leap_ % slots_ * slot_bytes_;
  }

 private:
  std::uint64_t slots_ = 1;
  std::uint64_t copy_bytes_ = 0;
  std::uint64_t slot_bytes_ = 0;
  std::uint64_t leap_ = 1;  // coprime to slots_
};

// --- what counts ------------------------------------------------------------------------------

// The marks of one stream in ns after the gate's opening, ascending. Equal numbers of bytes move
// between neighbouring marks.
struct Marks {
  std::vector<double> ns;
  double bytes_between = 0;
};

// Returns the time between neighbouring marks, the first counted from the opening.
std::vector<double> steps_ns(std::span<const double> marks_ns);
// The copies that several streams certainly completed in an interval from the opening.
struct Overlap {
  double ns = 0;     // length of the interval
  double bytes = 0;  // between marks passed in the interval
  // Bytes of copies in flight at its end, if each stream moves evenly; not in `bytes`. Streams that
  // take turns moved fewer of them.
  double under_way_bytes = 0;

  [[nodiscard]] double rate() const { return bytes / (ns / 1e9); }  // bytes per second
  [[nodiscard]] double counted_share() const { return bytes / (bytes + under_way_bytes); }
};
// Returns a rate that never exceeds the bytes moved in the interval, whatever the streams' order
// and speeds: streams of one GPU may overlap or take turns by whole copies, and marks do not show
// which. (Interpolating between marks would count (n - 1) / 2 unmoved copies of n streams that take
// turns.) The larger of two such rates:
//   - everything, until the last stream ended, as nvbandwidth counts. Exact when the streams take
//     turns or share a bottleneck; low when some end early and leave their links unused.
//   - until the mark with the largest counted_share() in the second half of the time before the
//     first stream ended: all streams are at work. Low by the bytes in flight, less than one mark's
//     bytes of each stream but one.
// `streams` is not empty, and each has a mark.
Overlap overlap_of(std::span<const Marks> streams);
// Returns the share of the whole time between the first stream's end and the last one's.
double ended_apart(std::span<const Marks> streams);
// Returns each stream's part of the sum of their rates; the parts add up to 1. `times` are the
// streams' durations for equal numbers of bytes, above 0.
std::vector<double> shares_of_rate(std::span<const double> times);

// Returns the blocks of a copy kernel's grid when `copies` of them run on one GPU that has room for
// `blocks`. A grid that fills the GPU blocks the others: the copies would take turns.
unsigned share_of_blocks(unsigned blocks, std::uint64_t copies);

}  // namespace railgauge::cuda

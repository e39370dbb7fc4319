// The arithmetic of copy measurements: how many copies share a sample, where each of them goes, and
// what may be counted when several run at once. Pure; thread safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace railgauge::cuda {

// --- how many ---------------------------------------------------------------------------------

// Least duration of a sample, where the queue holds as many copies. Between two samples the stream
// stamps an event. A copy engine pauses for it by some us, and the stamp is exact to half of one:
// 0.05 % of this duration.
inline constexpr double kSampleNs = 8e6;
// The work behind one gate, so that opening it and waiting cost little beside it.
inline constexpr double kGateNs = 20e6;

// Operations of `operation_ns` each that share a sample: 1 to `most`.
std::uint64_t choose_repeat(double operation_ns, std::uint64_t most);
// Samples of `repeat` operations behind one gate: at least 1, at most 4 of long operations, at most
// `most_operations` operations.
std::uint64_t choose_batch(double operation_ns, std::uint64_t repeat,
                           std::uint64_t most_operations);

// --- where ------------------------------------------------------------------------------------

// A slot begins where memory of the driver's own may begin: an odd size is a copy of so many bytes,
// not one from and to an odd address.
inline constexpr std::uint64_t kSlotAlignment = 256;

// A copy that fits in the GPU's second-level cache goes through a buffer larger than it, slot by
// slot in an order that leaps, so that no copy finds the bytes of a recent one there.
class Rotation {
 public:
  Rotation() = default;
  // `size` below or equal to `cache_bytes` rotates, a larger one stays.
  Rotation(std::uint64_t size, std::uint64_t cache_bytes);
  // `size` in `count` equal slices that follow each other; `count` divides it.
  static Rotation of_slices(std::uint64_t size, std::uint64_t count);

  [[nodiscard]] bool rotates() const { return slots_ > 1; }
  [[nodiscard]] std::uint64_t slots() const { return slots_; }
  [[nodiscard]] std::uint64_t copy_bytes() const { return copy_bytes_; }  // at a slot's beginning
  [[nodiscard]] std::uint64_t slot_bytes() const { return slot_bytes_; }
  [[nodiscard]] std::uint64_t region_bytes() const { return slots_ * slot_bytes_; }
  // Byte offset of the copy number `copy` (from 0). The first slots() ones go to different slots.
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

// One stream of a gate's opening: when each mark was passed, in ns from the opening, ascending.
// Between two marks the same number of bytes moves.
struct Marks {
  std::vector<double> ns;
  double bytes_between = 0;
};

// Time between neighbouring marks, the first counted from the opening.
std::vector<double> steps_ns(std::span<const double> marks_ns);
// The copies that several streams certainly completed in a stretch that begins at the opening.
struct Overlap {
  double ns = 0;     // the stretch's length
  double bytes = 0;  // between marks that were passed in it
  // In parts of copies that were under way at its end, where each stream moves evenly; not in
  // `bytes`. Streams that take turns moved less of them.
  double under_way_bytes = 0;

  [[nodiscard]] double rate() const { return bytes / (ns / 1e9); }  // bytes per second
  [[nodiscard]] double counted_share() const { return bytes / (bytes + under_way_bytes); }
};
// The rate never exceeds the bytes moved in the stretch, whatever the streams' order and speeds:
// streams of one GPU may run together or take turns by whole copies, and marks do not show which.
// (In proportion between marks, n that take turns would count (n - 1) / 2 copies that did not
// move.) It is the larger of two such rates:
//   - until the last stream ended, of everything, as nvbandwidth counts. Exact where the streams
//     take turns or share what bounds them; low where some end early and leave their links unused.
//   - until the mark, of those in the second half of the time before the first stream ended, with
//     the largest counted_share(): all are at work. Low by what was under way, less than one mark's
//     bytes of each stream but one.
// `streams` is not empty, and each has a mark.
Overlap overlap_of(std::span<const Marks> streams);
// The share of the whole time that passed between the first stream's end and the last one's.
double ended_apart(std::span<const Marks> streams);

// Blocks of a copy kernel's grid when `copies` of them run on one GPU at once, of which `blocks`
// fit. A grid that fills the GPU lets no other begin: the copies would take turns.
unsigned share_of_blocks(unsigned blocks, std::uint64_t copies);

}  // namespace railgauge::cuda

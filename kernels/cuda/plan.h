// The arithmetic of copy measurements: how many copies share a sample, where each of them goes, and
// what may be counted when several run at once. Pure; thread safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace railgauge::cuda {

// --- how many ---------------------------------------------------------------------------------

// A sample lasts this long at least, where the queue holds as many copies. Between two samples the
// stream stamps an event, for which a copy engine pauses by some us: 0.1 % of this.
inline constexpr double kSampleNs = 4e6;
// A gate holds about this much work, so that opening it and waiting cost little beside it.
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
// When the first of the streams ended: until then all were at work. Not empty.
double overlap_ns(std::span<const Marks> streams);
// Bytes that a stream had moved `ns` after the opening; between marks in proportion.
double bytes_until(const Marks& stream, double ns);
// Bytes per second of all streams together, while all were at work.
double overlap_rate(std::span<const Marks> streams);

// Copies of a load that outlast `measured_ns`, where one takes `load_ns`: with some reserve, 2 to
// `most`.
std::uint64_t load_copies(double measured_ns, double load_ns, std::uint64_t most);
// The share of a sample from `begin_ns` to `end_ns` during which the load went on: 1 is all.
double load_coverage(double begin_ns, double end_ns, double load_end_ns);

}  // namespace railgauge::cuda

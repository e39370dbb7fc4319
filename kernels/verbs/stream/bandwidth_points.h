// From what a stream came to, to its points.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/core/sampler.h"
#include "kernels/verbs/stream/report.h"
#include "kernels/verbs/stream/stream.h"

namespace railgauge::verbs {

// One size, before it is known whether the data was right.
struct Measured {
  Sampled sampled;  // bytes per second of each window or slot
  // Messages of all samples together.
  double writes = 0;
  // Time of all samples together.
  double seconds = 0;
  // Facts of every point of the size.
  std::map<std::string, std::string> facts;
};

// `kept` are the windows of the samples, without the warm-up.
Measured measured_by_windows(const TickClock& clock, Sampled sampled, std::span<const Window> kept,
                             std::uint64_t window_writes);

// From the time slots of one or of both ranks: `counts[rank][slot]`, which are added up. Where a
// slot is too short for some completions (`group` messages each), neighbours are joined, because
// otherwise the slots would show the groups and not the link; the fact slot_ms has the resulting
// length.
struct SlotForm {
  // Length of a slot as both ranks counted it.
  double slot_seconds = 0;
  std::uint64_t message_bytes = 0;
  // Messages that one completion retires.
  std::uint64_t group = 1;
};
Measured measured_by_slots(std::span<const std::vector<std::uint32_t>> counts,
                           const SlotForm& form);

// One rank's stream in a common interval, beside the sum.
struct Direction {
  // Mean over the whole interval.
  double bytes_per_second = 0;
  // The figure that is compared with the line rate: less the messages that one look at the queue
  // can have found too late.
  double held_bytes_per_second = 0;
};
// Adds the facts NAME_bytes_per_second and NAME_smallest_slot_bytes_per_second of the stream of the
// rank that `name` says.
Direction add_direction(const std::string& name, const std::vector<std::uint32_t>& counts,
                        const SlotForm& form, std::map<std::string, std::string>& facts);

// Bandwidth and message rate. `delivered` is the share of the messages that arrived; what got lost
// is no bandwidth. kDataLoss above the line rate, in each of `directions`; the fact line_rate_check
// says whether it was looked at.
struct PointForm {
  std::uint64_t message_bytes = 0;
  // Meaning of the points, part of the series' name.
  std::string meaning;
  // Share of the messages that arrived.
  double delivered = 1;
  // 1, or 2 where the samples add up both directions.
  unsigned directions = 1;
  // Each direction by itself, where it is known; compared with the line rate as well.
  std::vector<Direction> each{};
  // The bound of each direction.
  LineRate line_rate{};
  // Relative half width for `converged`, where the sampler does not decide it.
  double precision = 0.01;
};
Result<std::vector<Point>> make_points(const Context& context, Measured measured,
                                       const PointForm& form);

}  // namespace railgauge::verbs

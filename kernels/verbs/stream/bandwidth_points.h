// Makes points from a stream's results.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/core/sampler.h"
#include "kernels/core/stats/rate.h"
#include "kernels/verbs/stream/report.h"
#include "kernels/verbs/stream/stream.h"

namespace railgauge::verbs {

inline constexpr const char* kBandwidthMetric = "bandwidth_bytes_per_second";

// The results of one size, before the data is verified.
struct Measured {
  Sampled sampled;  // bytes per second of each window or slot
  // Messages of all samples together.
  double writes = 0;
  // Time of all samples together.
  double seconds = 0;
  // Messages and time of each sample, in time order.
  std::vector<Stretch> stretches;
  // Facts of every point of the size.
  std::map<std::string, std::string> facts;
};

// Makes the results of windows. `kept` are the windows of the samples, without the warm-up.
Measured measured_by_windows(const TickClock& clock, Sampled sampled, std::span<const Window> kept,
                             std::uint64_t window_writes);

// The form of time slots. Slots that are too short for some completions (`group` messages each) are
// joined with neighbours, or they would show the groups instead of the link; the fact slot_ms has
// the resulting length. Joined slots differ by one slot at most, so that none at the end is left
// over.
struct SlotForm {
  // Length of a slot, equal on both ranks.
  double slot_seconds = 0;
  std::uint64_t message_bytes = 0;
  // Messages that one completion retires.
  std::uint64_t group = 1;
};
// Makes the results of the time slots of one or both ranks, `counts[rank][slot]`, which are added
// up.
Measured measured_by_slots(std::span<const std::vector<std::uint32_t>> counts,
                           const SlotForm& form);

// One rank's stream in a common interval, beside the sum of both.
struct Direction {
  // Mean over the whole interval.
  double bytes_per_second = 0;
  // The figure for the line-rate check: without the messages that one look at the queue may have
  // found too late.
  double held_bytes_per_second = 0;
};
// Adds the facts NAME_bytes_per_second and NAME_smallest_slot_bytes_per_second for the stream of
// the rank `name`.
Direction add_direction(const std::string& name, const std::vector<std::uint32_t>& counts,
                        const SlotForm& form, std::map<std::string, std::string>& facts);

// The form of bandwidth points.
struct PointForm {
  std::uint64_t message_bytes = 0;
  // Meaning of the points, part of the series' name.
  std::string meaning;
  // Share of the messages that arrived; lost messages are no bandwidth.
  double delivered = 1;
  // 1, or 2 when the samples are the sum of both directions.
  unsigned directions = 1;
  // Each direction alone, where known; also compared with the line rate.
  std::vector<Direction> each{};
  // The bound of each direction.
  LineRate line_rate{};
  // Relative half width for `converged`, where the sampler does not decide.
  double precision = 0.01;
};
// Makes the points of bandwidth and message rate. kDataLoss when one of `directions` exceeds the
// line rate; the fact line_rate_check reports whether the check was made.
Result<std::vector<Point>> make_points(const Context& context, Measured measured,
                                       const PointForm& form);

}  // namespace railgauge::verbs

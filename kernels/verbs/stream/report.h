// Makes points from samples, and rejects figures that cannot be true.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/core/base/clock.h"
#include "kernels/core/kernel.h"
#include "kernels/core/sampler.h"
#include "kernels/core/sampling.h"
#include "kernels/verbs/transport/device.h"
#include "kernels/verbs/transport/peer.pb.h"

namespace railgauge::verbs {

// Calls make_point of kernels/core/sampling.h and marks the point as synthetic with a fake library.
Point make_verbs_point(const PointNames& names, std::uint64_t message_bytes, const Sampled& sampled,
                       bool raw_samples);

// The bound of a figure between two ports: the smaller of both known rates. For hardware only; a
// software device merely reports a rate.
struct LineRate {
  // The smaller known rate; 0 when there is a waiver.
  double bits_per_second = 0;
  // The port with this rate, in words.
  std::string endpoint{};
  // The reason why no rate is a bound, or "" when one is.
  std::string waiver{};
};
// Returns the bound. None between a port and itself: messages turn round inside the adapter.
LineRate line_rate_between(const Device& device, const PeerAddress& mine, const PeerAddress& peer);

// Returns kDataLoss above the line rate: the time or the count is wrong. A rate of 0 is unknown and
// bounds nothing.
Status check_line_rate(std::string_view endpoint, double rate_bits_per_second,
                       double bytes_per_second);
// Checks a latency, in which the message crosses the wire, in the same way.
Status check_latency_rate(std::string_view endpoint, double rate_bits_per_second,
                          const Point& point);
// Checks a latency where a rate is a bound: kDataLoss when it would need a faster wire. Adds the
// fact line_rate_check.
Status hold_to_line_rate(const Device& device, const PeerAddress& mine, const PeerAddress& peer,
                         Point& point);
// Waits until the time since `begin_ticks` has grown by `fraction` of itself: the added cost of a
// test control.
inline void add_cost(const TickClock& clock, std::uint64_t begin_ticks, double fraction) {
  const std::uint64_t spent = clock.ticks() - begin_ticks;
  const std::uint64_t end =
      begin_ticks + spent + static_cast<std::uint64_t>(static_cast<double>(spent) * fraction);
  while (clock.ticks() < end) {
  }
}

}  // namespace railgauge::verbs

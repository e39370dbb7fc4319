// From samples to points, and what makes a figure void.
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

// make_point of kernels/core/sampling.h, marked as the loaded library is.
Point make_verbs_point(const PointNames& names, std::uint64_t message_bytes, const Sampled& sampled,
                       bool raw_samples);

// The bound of a figure between two ports: the smaller of the known rates of both. For hardware
// only; a software device merely names a rate.
struct LineRate {
  // The smaller known rate; 0 with a waiver.
  double bits_per_second = 0;
  // The port whose rate it is, in words.
  std::string endpoint{};
  // Why no rate is a bound; empty where one is.
  std::string waiver{};
};
// Between a port and itself the messages turn round inside the adapter and never see the wire.
LineRate line_rate_between(const Device& device, const PeerAddress& mine, const PeerAddress& peer);

// More than the wire can carry means that the time or the count is wrong: kDataLoss. 0 is an
// unknown rate, which bounds nothing.
Status check_line_rate(std::string_view endpoint, double rate_bits_per_second,
                       double bytes_per_second);
// The same of a latency, during which the message crosses the wire.
Status check_latency_rate(std::string_view endpoint, double rate_bits_per_second,
                          const Point& point);
// Where a rate is a bound: kDataLoss when the latency would need a faster wire than there is. Adds
// the fact line_rate_check.
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

#include "kernels/verbs/stream/report.h"

#include <fmt/format.h>

#include "kernels/core/fact_words.h"
#include "kernels/dl/verbs.h"
#include "kernels/verbs/transport/words.h"

namespace railgauge::verbs {

// A fake library marks each point as synthetic.
Point make_verbs_point(const PointNames& names, std::uint64_t message_bytes, const Sampled& sampled,
                       bool raw_samples) {
  return make_point(names, message_bytes, sampled, raw_samples, loaded_verbs().synthetic);
}

Status check_line_rate(std::string_view endpoint, double rate_bits_per_second,
                       double bytes_per_second) {
  constexpr double kTolerance = 1.01;  // a window's edges are polls, not packets
  const double measured_bits = 8 * bytes_per_second;
  if (rate_bits_per_second <= 0 || measured_bits <= kTolerance * rate_bits_per_second) return {};
  return fail(Code::kDataLoss,
              fmt::format("{}: measured {:.1f} Gb/s, above the line rate of {:.1f} Gb/s, so the "
                          "figure cannot be right",
                          endpoint, measured_bits / 1e9, rate_bits_per_second / 1e9));
}

// A whole message crosses the wire during one latency.
Status check_latency_rate(std::string_view endpoint, double rate_bits_per_second,
                          const Point& point) {
  // No time, no rate.
  if (point.median() <= 0) return {};
  return check_line_rate(endpoint, rate_bits_per_second,
                         point.message_bytes() / (point.median() / 1e9));
}

Status hold_to_line_rate(const Device& device, const PeerAddress& mine, const PeerAddress& peer,
                         Point& point) {
  const LineRate rate = line_rate_between(device, mine, peer);
  (*point.mutable_facts())["line_rate_check"] =
      rate.waiver.empty() ? "held" : "waived: " + rate.waiver;
  return check_latency_rate(rate.endpoint, rate.bits_per_second, point);
}

// The slower end bounds the pair.
LineRate line_rate_between(const Device& device, const PeerAddress& mine, const PeerAddress& peer) {
  const double here = mine.line_rate_bits_per_second();
  const double there = peer.line_rate_bits_per_second();
  if (here <= 0 && there <= 0)
    return {.waiver = device.no_bound().empty() ? "no rate is known" : device.no_bound()};
  // The same address on both ends is the same port.
  if (mine.gid() == peer.gid() && mine.lid() == peer.lid())
    return {.waiver = std::string(kBothEndsAreOnePort)};
  if (here > 0 && (there <= 0 || here <= there))
    return {.bits_per_second = here, .endpoint = mine.endpoint()};
  return {.bits_per_second = there, .endpoint = peer.endpoint() + " at the other end"};
}

}  // namespace railgauge::verbs

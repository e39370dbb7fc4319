#include "kernels/verbs/report.h"

#include <fmt/format.h>

#include "kernels/dl/verbs.h"
#include "kernels/verbs/words.h"

namespace railgauge::verbs {

Point make_verbs_point(const PointNames& names, std::uint64_t message_bytes, const Sampled& sampled,
                       bool raw_samples) {
  return make_point(names, message_bytes, sampled, raw_samples, loaded_verbs().synthetic);
}

Status check_line_rate(const Device& device, double bytes_per_second) {
  constexpr double kTolerance = 1.01;  // a window's edges are polls, not packets
  const double rate_bits = port_rate_bits_per_second(device.port_attributes());
  const double measured_bits = 8 * bytes_per_second;
  if (!device.rate_is_physical() || rate_bits <= 0 || measured_bits <= kTolerance * rate_bits)
    return {};
  return fail(Code::kDataLoss,
              fmt::format("{}: measured {:.1f} Gb/s, above the line rate of {:.1f} Gb/s, so the "
                          "figure cannot be right",
                          device.endpoint(), measured_bits / 1e9, rate_bits / 1e9));
}

}  // namespace railgauge::verbs

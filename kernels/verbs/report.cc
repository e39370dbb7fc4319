#include "kernels/verbs/report.h"

#include <fmt/format.h>

#include "kernels/core/stats.h"
#include "kernels/core/units.h"
#include "kernels/dl/verbs.h"
#include "kernels/memory/host_buffer.h"

namespace railgauge::verbs {

const TickClock& tick_clock(const Context& context) {
  const auto* clock = dynamic_cast<const TickClock*>(&context.clock);
  RG_CHECK(clock != nullptr);
  return *clock;
}

Point make_point(const PointNames& names, std::uint64_t message_bytes, const Sampled& sampled,
                 bool raw_samples) {
  Point point;
  summarize(sampled.samples, point);
  point.set_metric(names.metric);
  point.set_meaning(names.meaning);
  point.set_unit(names.unit);
  point.set_larger_is_better(names.larger_is_better);
  point.set_message_bytes(static_cast<double>(message_bytes));
  point.set_converged(sampled.converged);
  point.set_stop_reason(sampled.stop_reason);
  point.set_warmup_count(static_cast<double>(sampled.warmup_count));
  point.set_measure_ns(sampled.measure_ns);
  point.set_synthetic(loaded_verbs().synthetic);
  if (raw_samples) point.mutable_samples()->Assign(sampled.samples.begin(), sampled.samples.end());
  return point;
}

Status verify_area(std::span<const std::byte> area, std::uint64_t seed, const std::string& who) {
  const auto mismatch = find_mismatch(area, seed);
  if (!mismatch) return {};
  return fail(Code::kDataLoss,
              fmt::format("{}: verify a {} write: byte {} is 0x{:02x}, expected 0x{:02x}", who,
                          canonical_bytes(area.size()), mismatch->offset, mismatch->seen,
                          mismatch->expected));
}

std::uint64_t pattern_seed(std::size_t size_index, std::uint32_t rank) {
  return 0x7261696c67617567U + 2 * size_index + rank;
}

}  // namespace railgauge::verbs

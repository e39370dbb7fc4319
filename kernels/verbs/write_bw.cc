// RDMA WRITE bandwidth over one reliable connection. The initiator keeps `depth` writes in flight
// and asks for a completion on every `signal_every`-th; the target's CPU stays idle, so it cannot
// bend the number. Bytes count once, at the initiator, when their completion is polled.
//
// A sample is the bandwidth of a window: the writes retired between two polls that found
// completions, at least `window_writes` of them (a fact of the point, chosen so that a window lasts
// about a millisecond). The estimate is the median window; `mean` is all bytes of the kept windows
// over all their time, which is what perftest calls average. With `iterations` the first window
// begins before the first post and the last ends at the last completion, so that `mean` has
// perftest's meaning exactly.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/clock.h"
#include "kernels/core/kernel.h"
#include "kernels/core/sampler.h"
#include "kernels/verbs/agreement.h"
#include "kernels/verbs/link.h"
#include "kernels/verbs/parameters.h"
#include "kernels/verbs/report.h"
#include "kernels/verbs/words.h"
#include "kernels/verbs/write_stream.h"

namespace railgauge::verbs {
namespace {

constexpr double kWindowNs = 1e6;
constexpr std::uint64_t kProbeGroups = 8;  // completions that size the window, at most
constexpr std::uint64_t kMaxWindowWrites = 1U << 24U;
constexpr std::uint64_t kMaxGroupBytes = 8U << 20U;
constexpr std::uint64_t kWindowsInBatch = 10;
constexpr double kLineRateTolerance = 1.01;  // a window's edges are polls, not packets

class WriteBandwidth final : public Kernel {
 public:
  Status prepare(Context& context) override {
    const Params& params = context.params;
    sizes_ = params.bytes_list("sizes");
    plan_.depth = static_cast<std::uint64_t>(params.integer("depth"));
    plan_.signal_every = static_cast<std::uint64_t>(params.integer("signal_every"));
    plan_.writes = static_cast<std::uint64_t>(params.integer("iterations"));
    plan_.added_cost = params.number("added_cost_fraction");
    if (plan_.signal_every > plan_.depth)
      return fail(Code::kInvalidArgument,
                  fmt::format("parameter signal_every: {} is above depth, which is {}: the queue "
                              "would fill before the first completion",
                              plan_.signal_every, plan_.depth));
    options_ = RG_TRY(sampler_options(params));
    options_.batch = kWindowsInBatch;
    link_ = RG_TRY(Link::open(context, {.area_bytes = *std::ranges::max_element(sizes_),
                                        .send_depth = static_cast<std::uint32_t>(plan_.depth),
                                        .relaxed_ordering = params.boolean("relaxed_ordering")}));
    return {};
  }

  Status connect(Context& context, Group& group) override {
    rank_ = group.rank();
    RG_TRY_OK(link_.connect(context, group));
    link_.report_facts(context.reporter);
    return {};
  }

  Status measure(Context& context, Group& group) override {
    link_.queue().set_limits(tick_clock(context), context.deadline_monotonic_ns,
                             context.params.duration_ns("stall_timeout"));
    for (std::size_t i = 0; i < sizes_.size(); ++i) RG_TRY_OK(measure_size(context, group, i));
    return {};
  }

 private:
  // The target sleeps in the group until the initiator has measured: its CPU takes no part, and a
  // lost initiator ends it at once. What the timed writes brought is compared: in each slot that
  // was written, what stands there after the last completion. Its area is cleared before the next
  // size begins.
  Status measure_size(Context& context, Group& group, std::size_t size_index) {
    const bool verified = context.params.boolean("verify");
    Slots slots = slots_in(link_.common_area_bytes(), sizes_[size_index]);
    std::uint64_t slots_written = 0;
    std::vector<Point> points;
    Status here;
    if (rank_ == 0) here = sample_size(context, size_index, slots, points, slots_written);
    RG_TRY_OK(agree_on(group, here, slots_written, seconds_left(context)));
    if (verified) {
      if (rank_ == 1) here = compare(slots, slots_written, size_index);
      RG_TRY_OK(agree(group, here, seconds_left(context)));
    }
    for (Point& point : points) {
      point.set_verified(verified);
      context.reporter.point(std::move(point));
    }
    return {};
  }

  Status compare(Slots slots, std::uint64_t slots_written, std::size_t size_index) {
    if (slots_written == 0 || slots_written > slots.count)
      return fail(Code::kInternal,
                  fmt::format("rank 0: {} slots written, of {}", slots_written, slots.count));
    slots.count = static_cast<std::size_t>(slots_written);
    RG_TRY_OK(
        verify_slots(link_.receive_area(), slots, size_index, 0, 0, link_.device().endpoint()));
    clear_slots(link_.receive_area(), slots);
    return {};
  }

  // Of one size: a group of huge messages would not complete within the stall limit or the cap.
  [[nodiscard]] WriteStream::Plan plan_of(std::size_t size_index) const {
    WriteStream::Plan plan = plan_;
    plan.signal_every =
        std::clamp<std::uint64_t>(kMaxGroupBytes / sizes_[size_index], 1, plan.signal_every);
    return plan;
  }

  // How many writes make a window: whole groups, for about kWindowNs.
  Result<std::uint64_t> choose_window(const TickClock& clock, WriteStream& stream,
                                      std::uint64_t signal_every) {
    SendQueue& queue = link_.queue();
    if (!stream.top_up() || stream.retire() < 0 || !stream.top_up())
      return tl::unexpected(queue.failure());
    const std::uint64_t begin = clock.ticks();
    std::uint64_t writes = 0;
    double spent_ns = 0;
    while (writes < kProbeGroups * signal_every && spent_ns < kWindowNs) {
      const std::int64_t retired = stream.retire();
      if (retired < 0 || !stream.top_up()) return tl::unexpected(queue.failure());
      writes += static_cast<std::uint64_t>(retired);
      spent_ns = clock.to_ns(clock.ticks() - begin);
    }
    const double group_ns =
        std::max(1.0, spent_ns) * static_cast<double>(signal_every) / static_cast<double>(writes);
    const auto groups = static_cast<std::uint64_t>(std::ceil(kWindowNs / group_ns));
    return std::clamp(groups * signal_every, signal_every,
                      std::max(signal_every, kMaxWindowWrites));
  }

  Status sample_size(Context& context, std::size_t size_index, const Slots& slots,
                     std::vector<Point>& points, std::uint64_t& slots_written) {
    const TickClock& clock = tick_clock(context);
    const WriteStream::Plan plan = plan_of(size_index);
    const bool fixed = plan.writes != 0;
    fill_slots(link_.send_area(), slots, size_index, rank_);
    WriteStream stream(link_.queue(), clock, link_.write_request(sizes_[size_index]), plan, slots);
    const std::uint64_t window_writes =
        fixed ? plan.signal_every : RG_TRY(choose_window(clock, stream, plan.signal_every));
    WindowMeter meter(stream, clock, window_writes, fixed);
    const auto bytes = static_cast<double>(sizes_[size_index]);
    SamplerOptions options = options_;
    options.fixed_samples = (plan.writes + plan.signal_every - 1) / plan.signal_every;
    Sampler sampler(context.clock, options);
    Sampled sampled =
        RG_TRY(sampler.run([&](std::uint64_t count, std::vector<double>& out) -> Status {
          if (!link_.queue().before_deadline() || !meter.batch(count))
            return tl::unexpected(link_.queue().failure());
          for (const Window& window : meter.last(count))
            out.push_back(bytes * static_cast<double>(window.writes) /
                          (clock.to_ns(window.ticks) / 1e9));
          return {};
        }));
    if (!stream.finish()) return tl::unexpected(link_.queue().failure());
    RG_CHECK(link_.queue().in_flight() == 0);  // else the next size would count these
    slots_written = stream.slots_written();
    return make_points(context, size_index, sampled, meter.last(sampled.samples.size()),
                       window_writes, points);
  }

  Status make_points(const Context& context, std::size_t size_index, Sampled& sampled,
                     std::span<const Window> kept, std::uint64_t window_writes,
                     std::vector<Point>& points) {
    const TickClock& clock = tick_clock(context);
    double writes = 0;
    double ticks = 0;
    for (const Window& window : kept) {
      writes += static_cast<double>(window.writes);
      ticks += static_cast<double>(window.ticks);
    }
    const double seconds = ticks * clock.ns_per_tick() / 1e9;
    const auto bytes = static_cast<double>(sizes_[size_index]);
    sampled.warmup_count *= window_writes;
    Point bandwidth = make_verbs_point({.metric = "bandwidth_bytes_per_second",
                                        .meaning = "unidirectional",
                                        .unit = "bytes_per_second",
                                        .larger_is_better = true},
                                       sizes_[size_index], sampled, context.raw_samples);
    bandwidth.set_mean(bytes * writes / seconds);
    RG_TRY_OK(check_line_rate(std::min(bandwidth.mean(), bandwidth.median())));
    auto& facts = *bandwidth.mutable_facts();
    facts["clock_drift_ppm"] = fmt::format("{:.3f}", clock.drift_ppm());
    facts["signal_every"] = std::to_string(plan_of(size_index).signal_every);
    facts["window_writes"] = std::to_string(window_writes);
    facts["mean_is"] = "all bytes over all time";
    for (double& sample : sampled.samples) sample /= bytes;
    Point rate = make_verbs_point({.metric = "message_rate_per_second",
                                   .meaning = "unidirectional",
                                   .unit = "per_second",
                                   .larger_is_better = true},
                                  sizes_[size_index], sampled, context.raw_samples);
    rate.set_mean(writes / seconds);
    *rate.mutable_facts() = facts;
    points.push_back(std::move(bandwidth));
    points.push_back(std::move(rate));
    return {};
  }

  // More than the wire can carry means that the time or the count is wrong.
  [[nodiscard]] Status check_line_rate(double bytes_per_second) const {
    const Device& device = link_.device();
    const double rate_bits = port_rate_bits_per_second(device.port_attributes());
    const double measured_bits = 8 * bytes_per_second;
    if (!device.rate_is_physical() || rate_bits <= 0 ||
        measured_bits <= kLineRateTolerance * rate_bits)
      return {};
    return fail(Code::kDataLoss,
                fmt::format("{}: measured {:.1f} Gb/s, above the line rate of {:.1f} Gb/s, so the "
                            "figure cannot be right",
                            device.endpoint(), measured_bits / 1e9, rate_bits / 1e9));
  }

  std::vector<std::uint64_t> sizes_;
  SamplerOptions options_;
  WriteStream::Plan plan_;
  Link link_;
  std::uint32_t rank_ = 0;
};

KernelInfo info() {
  constexpr double kMaxDepth = 16'384;
  return InfoBuilder("verbs.write_bw", 1,
                     "RDMA WRITE bandwidth and message rate between two ports, one direction")
      .ranks(2, 2)
      .endpoint("nic")
      .metrics({"bandwidth_bytes_per_second", "message_rate_per_second"})
      .sizes("64KiB")
      .integer("depth", "writes in flight", 128, 1, kMaxDepth)
      .identity()
      .integer(
          "signal_every",
          "writes from one completion to the next, at most depth; fewer where they would be more "
          "than 8 MiB",
          32, 1, kMaxDepth)
      .identity()
      .boolean("relaxed_ordering", "register the memory for PCIe relaxed ordering", false)
      .identity()
      .sampling("writes", 30, 10'000)
      .apply([](InfoBuilder& builder) {
        add_added_cost(
            builder,
            "test control: signal_every writes at a time, each group completed before the next "
            "and made longer by this share of its own time");
      })
      .apply([](InfoBuilder& builder) { add_connection(builder, "0"); })
      .build();
}

}  // namespace
}  // namespace railgauge::verbs

namespace railgauge {
extern const KernelRow kVerbsWriteBw;
const KernelRow kVerbsWriteBw{verbs::info, []() -> std::unique_ptr<Kernel> {
                                return std::make_unique<verbs::WriteBandwidth>();
                              }};
}  // namespace railgauge

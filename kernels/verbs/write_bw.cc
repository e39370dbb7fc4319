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

namespace railgauge::verbs {
namespace {

constexpr double kWindowNs = 1e6;
constexpr std::uint64_t kProbeGroups = 8;  // completions that size the window, at most
constexpr std::uint64_t kMaxWindowWrites = 1U << 24U;
constexpr std::uint64_t kWindowsInBatch = 10;
constexpr std::size_t kCacheLineBytes = 64;
constexpr double kLineRateTolerance = 1.01;  // a window's edges are polls, not packets

struct Window {
  std::uint64_t writes = 0;
  std::uint64_t ticks = 0;
};

// The writes of one size: what is posted next and what stands in the queue. Plain values for the
// timed loop.
class Stream {
 public:
  struct Plan {
    std::uint64_t depth = 1;
    std::uint64_t signal_every = 1;
    std::uint64_t writes = 0;  // in all; 0 has no end
    double added_cost = 0;
  };
  Stream(SendQueue& queue, const TickClock& clock, WriteRequest request, const Plan& plan,
         std::size_t area_bytes)
      : queue_(queue), clock_(clock), request_(request), plan_(plan) {
    // Small messages move through the area's page, as perftest's do: all writes to one cache line
    // would measure that line.
    const std::size_t stride =
        (request.sge.length + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
    stride_ = 2 * stride <= area_bytes ? stride : 0;
    laps_ = stride_ == 0 ? 1 : area_bytes / stride_;
    // The control posts a group when the one before has completed and its cost is paid.
    if (plan_.added_cost > 0) plan_.depth = plan_.signal_every;
  }

  // Fills the queue.
  bool top_up() {
    if (plan_.added_cost > 0) {
      if (queue_.in_flight() > 0) return true;
      group_began_ = clock_.ticks();
    }
    while (queue_.in_flight() < plan_.depth && !all_posted()) {
      ++posted_;
      const bool signalled = posted_ % plan_.signal_every == 0 || all_posted();
      if (!queue_.post(request_, signalled)) return false;
      next_address();
    }
    return true;
  }

  // Waits for completions: writes retired, negative on failure.
  std::int64_t retire() {
    const std::int64_t retired = queue_.poll_or_wait();
    if (plan_.added_cost > 0 && retired > 0) add_cost(clock_, group_began_, plan_.added_cost);
    return retired;
  }

  // What completed while nobody looked: writes retired, negative on failure.
  std::int64_t drain() {
    std::int64_t all = 0;
    for (std::int64_t retired = queue_.poll(); retired != 0; retired = queue_.poll()) {
      if (retired < 0) return retired;
      all += retired;
    }
    return all;
  }

 private:
  [[nodiscard]] bool all_posted() const { return plan_.writes != 0 && posted_ >= plan_.writes; }

  void next_address() {
    if (stride_ == 0) return;
    const bool last = ++lap_ == laps_;
    const std::uint64_t step = last ? 0 - (laps_ - 1) * stride_ : stride_;
    if (last) lap_ = 0;
    request_.sge.addr += step;
    request_.wr.wr.rdma.remote_addr += step;
  }

  SendQueue& queue_;
  const TickClock& clock_;
  WriteRequest request_;
  Plan plan_;
  std::size_t stride_ = 0;
  std::size_t laps_ = 1;
  std::size_t lap_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t group_began_ = 0;
};

// One size being measured: turns the stream's completions into windows.
class WindowMeter {
 public:
  WindowMeter(Stream& stream, const TickClock& clock, std::uint64_t window_writes, bool fixed)
      : stream_(stream), clock_(clock), window_writes_(window_writes), fixed_(fixed) {}

  // Makes `count` more windows. False when the queue failed.
  bool batch(std::uint64_t count) {
    taken_ += count;
    make_room(taken_ + SendQueue::kPollBatch);
    if (!begin()) return false;
    while (all_.size() < taken_) {
      const std::int64_t retired = stream_.retire();
      if (retired < 0) return false;
      writes_ += static_cast<std::uint64_t>(retired);
      const std::uint64_t now = clock_.ticks();
      if (const std::uint64_t whole = windows_in(writes_); whole > 0) close(whole, now);
      if (!stream_.top_up()) return false;
    }
    return true;
  }

  // The last `count` windows that were asked for.
  [[nodiscard]] std::span<const Window> last(std::uint64_t count) const {
    return std::span(all_).first(taken_).last(count);
  }

 private:
  // Sets the first window's beginning. Fixed: before the first post. Else at a completion with the
  // queue full: what completed between two batches is nobody's. Where nothing did, the queue never
  // ran low and the window goes on.
  bool begin() {
    if (fixed_ && !running_) {
      running_ = true;
      since_ = clock_.ticks();
      return stream_.top_up();
    }
    if (fixed_) return true;
    const std::int64_t missed = stream_.drain();
    if (missed < 0) return false;
    if (running_ && missed == 0) return true;
    running_ = true;
    if (!stream_.top_up() || stream_.retire() < 0) return false;
    writes_ = 0;
    since_ = clock_.ticks();
    return stream_.top_up();
  }

  // Outside the timed part: closing a window allocates nothing.
  void make_room(std::uint64_t count) {
    if (all_.capacity() < count) all_.reserve(std::max(count, 2 * all_.capacity()));
  }

  // Windows that one poll closed share its writes and its time: nothing tells them apart.
  void close(std::uint64_t windows, std::uint64_t now) {
    for (std::uint64_t left = windows; left > 0; --left) {
      const Window window{writes_ / left, std::max<std::uint64_t>(1, (now - since_) / left)};
      all_.push_back(window);
      writes_ -= window.writes;
      since_ += (now - since_) / left;
    }
  }

  [[nodiscard]] std::uint64_t windows_in(std::uint64_t writes) const {
    // The last group of a fixed number can be short.
    return fixed_ ? (writes + window_writes_ - 1) / window_writes_ : writes / window_writes_;
  }

  Stream& stream_;
  const TickClock& clock_;
  std::uint64_t window_writes_;
  bool fixed_;
  bool running_ = false;
  std::uint64_t writes_ = 0;
  std::uint64_t since_ = 0;
  std::uint64_t taken_ = 0;  // windows asked for
  std::vector<Window> all_;  // a poll can close more than were asked for
};

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
    options_.fixed_samples = (plan_.writes + plan_.signal_every - 1) / plan_.signal_every;
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
  // The target sleeps in the group until the initiator has measured and sent its pattern: its CPU
  // takes no part, and a lost initiator ends it at once.
  Status measure_size(Context& context, Group& group, std::size_t size_index) {
    const bool verified = context.params.boolean("verify");
    std::vector<Point> points;
    Status here;
    if (rank_ == 0) {
      here = sample_size(context, size_index, points);
      if (here && verified) here = send_pattern(size_index);
    }
    RG_TRY_OK(agree(group, here, seconds_left(context)));
    if (verified) {
      if (rank_ == 1)
        here = verify_area(link_.receive_area().first(sizes_[size_index]),
                           pattern_seed(size_index, 0), link_.device().endpoint());
      RG_TRY_OK(agree(group, here, seconds_left(context)));
    }
    for (Point& point : points) {
      point.set_verified(verified);
      context.reporter.point(std::move(point));
    }
    return {};
  }

  Status send_pattern(std::size_t size_index) {
    SendQueue& queue = link_.queue();
    fill_pattern(link_.send_area().first(sizes_[size_index]), pattern_seed(size_index, 0));
    WriteRequest request = link_.write_request(sizes_[size_index]);
    // Its completion retires whatever the measurement left in the queue. Make room for it first.
    while (queue.in_flight() >= plan_.depth)
      if (queue.poll_or_wait() < 0) return tl::unexpected(queue.failure());
    if (!queue.post(request, true) || !queue.wait_retired()) return tl::unexpected(queue.failure());
    return {};
  }

  Stream make_stream(const TickClock& clock, std::size_t size_index, std::uint64_t writes) {
    Stream::Plan plan = plan_;
    plan.writes = writes;
    return {link_.queue(), clock, link_.write_request(sizes_[size_index]), plan,
            std::min<std::size_t>(link_.send_area().size(), page_bytes())};
  }

  // How many writes make a window: whole groups, for about kWindowNs.
  Result<std::uint64_t> choose_window(const TickClock& clock, Stream& stream) {
    SendQueue& queue = link_.queue();
    if (!stream.top_up() || stream.retire() < 0 || !stream.top_up())
      return tl::unexpected(queue.failure());
    const std::uint64_t begin = clock.ticks();
    std::uint64_t writes = 0;
    double spent_ns = 0;
    while (writes < kProbeGroups * plan_.signal_every && spent_ns < kWindowNs) {
      const std::int64_t retired = stream.retire();
      if (retired < 0 || !stream.top_up()) return tl::unexpected(queue.failure());
      writes += static_cast<std::uint64_t>(retired);
      spent_ns = clock.to_ns(clock.ticks() - begin);
    }
    const double group_ns = std::max(1.0, spent_ns) * static_cast<double>(plan_.signal_every) /
                            static_cast<double>(writes);
    const auto groups = static_cast<std::uint64_t>(std::ceil(kWindowNs / group_ns));
    return std::clamp(groups * plan_.signal_every, plan_.signal_every,
                      std::max(plan_.signal_every, kMaxWindowWrites));
  }

  Status sample_size(Context& context, std::size_t size_index, std::vector<Point>& points) {
    const TickClock& clock = tick_clock(context);
    const bool fixed = plan_.writes != 0;
    Stream stream = make_stream(clock, size_index, plan_.writes);
    const std::uint64_t window_writes =
        fixed ? plan_.signal_every : RG_TRY(choose_window(clock, stream));
    WindowMeter meter(stream, clock, window_writes, fixed);
    const auto bytes = static_cast<double>(sizes_[size_index]);
    Sampler sampler(context.clock, options_);
    Sampled sampled =
        RG_TRY(sampler.run([&](std::uint64_t count, std::vector<double>& out) -> Status {
          if (!link_.queue().before_deadline() || !meter.batch(count))
            return tl::unexpected(link_.queue().failure());
          for (const Window& window : meter.last(count))
            out.push_back(bytes * static_cast<double>(window.writes) /
                          (clock.to_ns(window.ticks) / 1e9));
          return {};
        }));
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
    Point bandwidth = make_point({.metric = "bandwidth_bytes_per_second",
                                  .meaning = "unidirectional",
                                  .unit = "bytes_per_second",
                                  .larger_is_better = true},
                                 sizes_[size_index], sampled, context.raw_samples);
    bandwidth.set_mean(bytes * writes / seconds);
    RG_TRY_OK(check_line_rate(std::min(bandwidth.mean(), bandwidth.median())));
    auto& facts = *bandwidth.mutable_facts();
    facts["clock_drift_ppm"] = fmt::format("{:.3f}", clock.drift_ppm());
    facts["window_writes"] = std::to_string(window_writes);
    facts["mean_is"] = "all bytes over all time";
    for (double& sample : sampled.samples) sample /= bytes;
    Point rate = make_point({.metric = "message_rate_per_second",
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
  Stream::Plan plan_;
  Link link_;
  std::uint32_t rank_ = 0;
};

KernelInfo info() {
  constexpr double kMaxDepth = 16'384;
  return InfoBuilder("verbs.write_bw", 1,
                     "RDMA WRITE bandwidth and message rate between two ports, one direction")
      .metrics({"bandwidth_bytes_per_second", "message_rate_per_second"})
      .sizes("64KiB")
      .integer("depth", "writes in flight", 128, 1, kMaxDepth)
      .identity()
      .integer("signal_every", "writes from one completion to the next, at most depth", 32, 1,
               kMaxDepth)
      .identity()
      .boolean("relaxed_ordering", "register the memory for PCIe relaxed ordering", false)
      .identity()
      .sampling("writes",
                "test control: signal_every writes at a time, each group completed before the next "
                "and made longer by this share of its own time",
                30, 10'000)
      .connection("0")
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

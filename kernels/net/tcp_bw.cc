// TCP bandwidth, the floor that RDMA must beat: each stream has a thread that sends messages and
// one on the other side that takes them. What counts is what the other side's kernel has
// acknowledged, as TCP itself counts it (tcpi_bytes_acked), read for all streams at the ends of
// each window: what stands in this side's socket buffers is no bandwidth. The threads that move
// data are never asked anything meanwhile. A window lasts 10 ms, and as long as nothing was
// acknowledged in it: a pause is one slow window, not many of rate 0, which no statistic of ratios
// could hold.
//
// In direction both rank 0 also adds what arrived from the other side (tcpi_bytes_received), so
// that one clock and one interval hold for both.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/agreement.h"
#include "kernels/core/sampling.h"
#include "kernels/net/account.h"
#include "kernels/net/parameters.h"
#include "kernels/net/streams.h"
#include "kernels/net/tcp_link.h"

namespace railgauge::net {
namespace {

constexpr double kWindowNs = 10e6;
constexpr std::uint64_t kWindowsInBatch = 5;

class TcpBandwidth final : public Kernel {
 public:
  Status prepare(Context& context) override {
    sizes_ = context.params.bytes_list("sizes");
    both_ = context.params.text("direction") == "both";
    options_ = RG_TRY(sampler_options(context.params));
    options_.batch = kWindowsInBatch;
    link_ = RG_TRY(TcpLink::open(
        context, {.streams = static_cast<std::uint32_t>(context.params.integer("streams"))}));
    return {};
  }

  Status connect(Context& context, Group& group) override {
    rank_ = group.rank();
    RG_TRY_OK(link_->connect(context, group));
    link_->report_facts(context.reporter);
    for (const Pipe& pipe : link_->pipes()) inward_.push_back(RG_TRY(pipe.twin()));
    return {};
  }

  Status measure(Context& context, Group& group) override {
    for (std::size_t i = 0; i < sizes_.size(); ++i) RG_TRY_OK(measure_size(context, group, i));
    return {};
  }

 private:
  // One size on this rank.
  struct Part {
    std::unique_ptr<Receivers> receivers;
    std::unique_ptr<Senders> senders;  // stopped first
    std::optional<Sampled> sampled;
    double window_bytes = 0;
    double window_ns = 0;
    double own_cpu_ns = 0;
  };

  [[nodiscard]] bool sends() const { return both_ || rank_ == 0; }
  [[nodiscard]] bool receives() const { return both_ || rank_ == 1; }

  Status measure_size(Context& context, Group& group, std::size_t size_index) {
    AccountBook book(*link_);
    Part part;
    Status here = begin(book, part, size_index);
    RG_TRY(agree_on(group, here, NetStatus{}, seconds_left(context)));
    here = run(context, part, size_index);
    // Rank 1 waits here while rank 0 samples.
    const auto sampled = agree_on(group, here, NetStatus{}, seconds_left(context));
    if (!sampled) return tl::unexpected(own_words(part, sampled.error()));
    if (part.senders) part.senders->stop();
    NetStatus told;
    for (std::size_t i = 0; part.senders && i < part.senders->work().size(); ++i)
      told.add_sent_bytes(part.senders->work()[i]->bytes);
    const auto sent = RG_TRY(agree_on(group, failure_of(part), told, seconds_left(context)));
    NetStatus closing;
    here = end(context, book, part, size_index, sent[1 - rank_], closing);
    const auto closed = RG_TRY(agree_on(group, here, closing, seconds_left(context)));
    return rank_ == 0 ? report(context, part, size_index, closed) : Status{};
  }

  // Both sides, before the first message.
  Status begin(AccountBook& book, Part& part, std::size_t size_index) {
    RG_TRY_OK(book.open());
    if (receives()) part.receivers = RG_TRY(Receivers::start(inward_, sizes_[size_index]));
    return {};
  }

  Status run(Context& context, Part& part, std::size_t size_index) {
    if (!sends()) return {};
    part.senders = RG_TRY(Senders::start(link_->pipes(), sizes_[size_index], size_index, rank_));
    return rank_ == 0 ? sample(context, part) : Status{};
  }

  // Bytes that count until now.
  [[nodiscard]] Result<double> moved() const {
    const StreamTotals totals = RG_TRY(link_->totals());
    return static_cast<double>(totals.acknowledged_bytes) +
           (both_ ? static_cast<double>(totals.received_bytes) : 0);
  }

  Status sample(Context& context, Part& part) {
    const double began_cpu_ns = thread_cpu_ns();
    Sampler sampler(context.clock, options_);
    part.sampled = RG_TRY(sampler.run([&](std::uint64_t count, std::vector<double>& out) {
      if (out.empty()) part.window_bytes = part.window_ns = 0;  // what was before warmed up
      return add_windows(context, part, count, out);
    }));
    part.own_cpu_ns = thread_cpu_ns() - began_cpu_ns;
    return {};
  }

  Status add_windows(Context& context, Part& part, std::uint64_t count, std::vector<double>& out) {
    const TickClock& clock = tick_clock(context);
    std::uint64_t since = clock.ticks();
    double before = RG_TRY(moved());
    while (count > 0) {
      std::this_thread::sleep_for(std::chrono::duration<double, std::nano>(kWindowNs));
      RG_TRY_OK(failure_of(part));
      if (monotonic_now_ns() >= context.deadline_monotonic_ns)
        return fail(Code::kDeadlineExceeded, link_->words() + ": the task's deadline has come");
      const double after = RG_TRY(moved());
      const std::uint64_t now = clock.ticks();
      const double window_ns = clock.to_ns(now - since);
      if (after <= before) {
        RG_TRY_OK(check_stall(window_ns));
        continue;
      }
      out.push_back((after - before) / (window_ns / 1e9));
      part.window_bytes += after - before;
      part.window_ns += window_ns;
      since = now;
      before = after;
      --count;
    }
    return {};
  }

  [[nodiscard]] Status check_stall(double still_ns) const {
    if (still_ns < link_->limits().stall_ns) return {};
    return fail(Code::kUnavailable,
                fmt::format("{}: nothing moved for {:.3g} s: the other side acknowledges nothing",
                            link_->words(), still_ns / 1e9));
  }

  // Only a pipe whose thread has ended is read.
  [[nodiscard]] Status failure_of(const Part& part) const {
    if (part.senders)
      if (const auto number = part.senders->failed_stream())
        return tl::unexpected(link_->pipes()[*number].failure());
    if (part.receivers)
      if (const auto number = part.receivers->failed_stream())
        return tl::unexpected(inward_[*number].failure());
    return {};
  }
  // The error found here is more exact than the other side's view of it.
  [[nodiscard]] Error own_words(const Part& part, const Error& theirs) const {
    const Status here = failure_of(part);
    return here ? theirs : here.error();
  }

  Status end(Context& context, const AccountBook& book, Part& part, std::size_t size_index,
             const NetStatus& peer, NetStatus& closing) {
    const std::vector<std::uint64_t> sent(peer.sent_bytes().begin(), peer.sent_bytes().end());
    if (part.receivers) {
      RG_TRY_OK(part.receivers->finish(sent));
      if (context.params.boolean("verify"))
        RG_TRY_OK(part.receivers->verify(size_index, 1 - rank_, link_->words()));
    }
    double cpu_ns = part.own_cpu_ns;
    double bytes = 0;
    const auto add = [&](const auto& threads, bool counts) {
      for (const auto& work : threads->work()) {
        cpu_ns += work->cpu_ns;
        if (counts) bytes += static_cast<double>(work->bytes);
      }
    };
    if (part.senders) add(part.senders, true);
    if (part.receivers) add(part.receivers, !sends());
    *closing.add_accounts() =
        RG_TRY(book.close(cpu_ns, bytes / static_cast<double>(sizes_[size_index])));
    return {};
  }

  Status report(Context& context, Part& part, std::size_t size_index,
                const std::vector<NetStatus>& closed) {
    Point point = make_point({.metric = "bandwidth_bytes_per_second",
                              .meaning = both_ ? "bidirectional_sum" : "unidirectional",
                              .unit = "bytes_per_second",
                              .larger_is_better = true},
                             sizes_[size_index], *part.sampled, context.raw_samples, false);
    point.set_mean(part.window_bytes / (part.window_ns / 1e9));
    point.set_verified(context.params.boolean("verify"));
    auto& facts = *point.mutable_facts();
    facts["mean_is"] = "all bytes over all time";
    facts["window_ms"] = fmt::format("{:.0f}", kWindowNs / 1e6);
    facts["clock_drift_ppm"] = fmt::format("{:.3f}", tick_clock(context).drift_ppm());
    for (std::size_t rank = 0; rank < closed.size(); ++rank) {
      const std::string prefix = rank == 0 ? "" : "peer_";
      for (const Account& account : closed[rank].accounts()) {
        add_bandwidth_cost({account.cpu_ns(), account.messages()}, point.message_bytes(), prefix,
                           facts);
        add_counters(account, prefix, facts);
      }
    }
    const LineRate rate = link_->line_rate();
    facts["line_rate_check"] = rate.waiver.empty() ? "held" : "waived: " + rate.waiver;
    RG_TRY_OK(check_line_rate(rate, std::min(point.mean(), point.median()) / (both_ ? 2 : 1)));
    context.reporter.point(std::move(point));
    return {};
  }

  std::vector<std::uint64_t> sizes_;
  SamplerOptions options_;
  bool both_ = false;
  std::unique_ptr<TcpLink> link_;
  std::vector<Pipe> inward_;  // the same streams, for the threads that receive
  std::uint32_t rank_ = 0;
};

KernelInfo info() {
  constexpr double kMaxStreams = 256;
  return InfoBuilder("net.tcp_bw", 1, "TCP bandwidth between two ports over one or more streams")
      .ranks(2, 2)
      .endpoint("nic")
      .metrics({"bandwidth_bytes_per_second"})
      .sizes("64KiB")
      .integer("streams", "TCP connections, each with a thread of its own on both sides", 1, 1,
               kMaxStreams)
      .identity()
      .choice("direction", "",
              "one_way: rank 0 sends; both: both do, and what counts is the sum in one interval",
              {"one_way", "both"})
      .identity()
      .sampling("windows of 10 ms", 30, 10'000)
      .apply(add_connection)
      .build();
}

}  // namespace
}  // namespace railgauge::net

namespace railgauge {
extern const KernelRow kNetTcpBw;
const KernelRow kNetTcpBw{
    net::info, []() -> std::unique_ptr<Kernel> { return std::make_unique<net::TcpBandwidth>(); }};
}  // namespace railgauge

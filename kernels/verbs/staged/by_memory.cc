#include "kernels/verbs/staged/by_memory.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/agreement.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/sampler.h"
#include "kernels/verbs/link/memory_choice.h"
#include "kernels/verbs/staged/curve_report.h"
#include "kernels/verbs/staged/staging.h"
#include "kernels/verbs/stream/bandwidth_points.h"
#include "kernels/verbs/stream/link_kernel.h"

namespace railgauge::verbs {
namespace {

// The twin stages the sides that the direct transfer reaches on a GPU.
MemoryKind staged_twin_of(MemoryKind kind) {
  return kind == MemoryKind::kCuda ? MemoryKind::kStaged : kind;
}

// One of the two, and where its points go.
struct Part {
  std::unique_ptr<Kernel> kernel;
  std::unique_ptr<CurveReporter> reporter;

  // Runs one step of the kernel, with the reporter that keeps its curve.
  template <class Step>
  Status take(Context& context, Step step) {
    if (reporter == nullptr) return {};
    Context own{context.params,
                *reporter,
                context.clock,
                context.endpoint,
                context.deadline_monotonic_ns,
                context.raw_samples,
                context.rank};
    return step(*kernel, own);
  }
};

// Refuses the choices that a staging's stream does not have.
Status check_staged(const Params& params) {
  const bool limits = params.number("rate_limit") > 0;
  if (!limits && params.text("post") == "request" && params.integer("threads") == 1) return {};
  return invalid(
      "parameter {}: not of staged transfers; take memory host or cuda without "
      "staged_twin, or leave it out",
      limits                              ? "rate_limit"
      : params.text("post") == "extended" ? "post"
                                          : "threads");
}

// Runs the direct transfer, the staged one, or both in turn, over the same group.
class ByMemory final : public Kernel {
 public:
  ByMemory(MakeKernel direct, Verb verb, StagedFigure figure)
      : direct_(std::move(direct)), verb_(verb), figure_(figure) {}

  // kInvalidArgument where the parameters name a combination that has no meaning.
  Status prepare(Context& context) override {
    const MemoryChoice choice = memory_choice(context.params);
    const bool has_twin = context.params.boolean("staged_twin");
    const bool stages = choice.is(MemoryKind::kStaged) || has_twin;
    if (stages && figure_ == StagedFigure::kBandwidth && !context.params.text("devices").empty())
      return fail(Code::kInvalidArgument,
                  "parameter devices: several are not measured staged; take memory host or cuda "
                  "without staged_twin, or name one device a task");
    if (stages && figure_ == StagedFigure::kBandwidth) RG_TRY_OK(check_staged(context.params));
    main_.kernel = choice.is(MemoryKind::kStaged)
                       ? make_staged(verb_, figure_, choice, StagedPart::kAlone)
                       : direct_(context.params);
    main_.reporter = std::make_unique<CurveReporter>(context.reporter, "");
    if (has_twin) {
      if (choice.is(MemoryKind::kStaged) || !choice.is(MemoryKind::kCuda))
        return fail(Code::kInvalidArgument,
                    "parameter staged_twin: excludes memory cuda; leave it out");
      twin_.kernel = make_staged(verb_, figure_,
                                 {staged_twin_of(choice.initiator), staged_twin_of(choice.target)},
                                 StagedPart::kTwin);
      twin_.reporter = std::make_unique<CurveReporter>(context.reporter, "staged");
    }
    return both(context, [](Kernel& kernel, Context& own) { return kernel.prepare(own); });
  }
  Status connect(Context& context, Group& group) override {
    return both(context, [&](Kernel& kernel, Context& own) { return kernel.connect(own, group); });
  }
  // Both parts measure one after the other, so that they never share the wire. Rank 0 adds the
  // conclusions over all sizes.
  Status measure(Context& context, Group& group) override {
    RG_TRY_OK(
        both(context, [&](Kernel& kernel, Context& own) { return kernel.measure(own, group); }));
    if (context.rank != 0) return {};
    for (const std::string& words : knees_in_words(main_.reporter->curve()))
      context.reporter.note("info", words);
    if (!twin_.reporter) return {};
    const Curve direct = main_.reporter->curve();
    const Curve staged = twin_.reporter->curve();
    if (const auto words = crossing_in_words(direct, staged)) context.reporter.note("info", *words);
    if (const auto words = looks_staged(direct, staged)) context.reporter.note("warning", *words);
    return {};
  }

 private:
  // One step of the main part, then of the twin where there is one.
  template <class Step>
  Status both(Context& context, Step step) {
    RG_TRY_OK(main_.take(context, step));
    return twin_.take(context, step);
  }

  MakeKernel direct_;
  Verb verb_;
  StagedFigure figure_;
  Part main_;
  Part twin_;
};

}  // namespace

std::unique_ptr<Kernel> by_memory(MakeKernel direct, Verb verb, StagedFigure figure) {
  return std::make_unique<ByMemory>(std::move(direct), verb, figure);
}

namespace {

// Length of a window of a stream.
constexpr double kWindowNs = 1e6;
// Messages that size the window.
constexpr std::uint64_t kProbeMessages = 8;
// Windows of a fixed number of messages.
constexpr std::uint64_t kFixedWindows = 32;
constexpr std::uint64_t kWindowsInBatch = 10;
// Rounds without progress between two looks at the limits.
constexpr unsigned kIdleBetweenLooks = 64;
constexpr std::uint64_t kMostSlots = 512;  // of a ring, each of a chunk: 128 MiB with the defaults

// A parameter that staging cannot honour with another value than `only` (empty: with none).
struct Fixed {
  const char* name;
  const char* only;
  const char* why = "";
  // Beside the direct transfer, whose parameter it is, another value is only noted.
  bool is_chunks = false;
};
// A staging has one queue pair, one direction and a number of messages. Relaxed ordering is not
// allowed: a count that reports a chunk must not pass it. The last ones are properties of each
// chunk: a completion of its own, its bytes in the ring, a receive of its slot.
constexpr std::array kFixed{
    Fixed{"qps", "1"},
    Fixed{"post_list", "1"},
    Fixed{"direction", "one_way"},
    Fixed{"buffer", "hot"},
    Fixed{"poll", "busy"},
    Fixed{"srq", "false"},
    Fixed{"relaxed_ordering", "off"},
    Fixed{"duration", "0s"},
    Fixed{"added_cost_fraction", "0"},
    Fixed{"signal_every", "1", ", where each chunk completes by itself", true},
    Fixed{"inline_bytes", "0", ", whose chunks lie in the ring", true},
    Fixed{"receive_depth", "", ", where stage_depth receives wait", true}};

// "parameter qps: 4 is not for staged memory; leave it out or say 1".
Status check_fixed(const Params& params, StagedPart part, Reporter& reporter) {
  for (const Fixed& fixed : kFixed) {
    const auto found = params.effective().find(fixed.name);
    if (found == params.effective().end() || params.is_default(fixed.name)) continue;
    if (fixed.is_chunks && found->second == fixed.only) continue;
    if (!fixed.is_chunks || part == StagedPart::kAlone)
      return fail(
          Code::kInvalidArgument,
          fmt::format("parameter {}: {} is not for staged memory{}; leave it out{}{}", fixed.name,
                      found->second, fixed.why, *fixed.only == '\0' ? "" : " or say ", fixed.only));
    reporter.note("info", fmt::format("staged_twin: {} {} holds for the direct transfer alone",
                                      fixed.name, found->second));
  }
  return {};
}

// One queue pair, one thread per rank; copies and the wire overlap inside Staging::progress().
class StagedTransfer final : public LinkKernel {
 public:
  StagedTransfer(Verb verb, StagedFigure figure, const MemoryChoice& choice, StagedPart part)
      : verb_(verb), figure_(figure), choice_(choice), part_(part) {}

  // Plans the ring for the largest size and the depth for the smallest, then opens link, control
  // channel and staging in that order.
  Status prepare(Context& context) override {
    const Params& params = context.params;
    RG_TRY_OK(check_fixed(params, part_, context.reporter));
    Link::Options options = RG_TRY(read(context, verb_));
    if (is_bandwidth()) {
      options_.batch = kWindowsInBatch;
      depth_ = static_cast<std::uint64_t>(params.integer("depth"));
    }
    total_ = static_cast<std::uint64_t>(params.integer("iterations"));
    Staging::Form form{.memory = choice_,
                       .sizes = sizes_,
                       .chunk_bytes = std::max<std::uint64_t>(1, params.bytes("stage_chunk")),
                       .depth = static_cast<std::uint32_t>(params.integer("stage_depth"))};
    // The bytes that the default chunks keep under way, kept for shorter messages too.
    form.bytes_on_way = form.depth * form.chunk_bytes;
    if (is_bandwidth()) form.depth = Staging::slots_for(form, std::min(depth_, kMostSlots));
    RG_TRY_OK(Staging::plan(context, form, options));
    RG_TRY_OK(open(context, options, true));
    staging_.emplace(RG_TRY(Staging::open(context, form, *link_)));
    return {};
  }

  Status connect(Context& context, Group& group) override {
    RG_TRY_OK(LinkKernel::connect(context, group));
    staging_->report_facts(context.reporter);
    return {};
  }

 private:
  [[nodiscard]] bool is_bandwidth() const { return figure_ == StagedFigure::kBandwidth; }

  // Receives are given out once for all sizes: the slots of the ring do not change.
  Status begin(Context& context, Group& group) override {
    return agree<PeerStatus>(group, staging_->give_out_receives(), seconds_left(context));
  }

  // Rank 0 leads, rank 1 follows, then both verify what they received.
  Status measure_size(Context& context, Group& group, std::size_t size_index) override {
    std::vector<Point> points;
    return take_steps(context, group, staging_->begin_size(size_index, rank_),
                      {.run =
                           [&](PeerStatus& mine) {
                             Status here = rank_ == 0 ? lead(context, size_index, points)
                                                      : follow(size_index);
                             mine.set_posted(staging_->allowed());
                             return here;
                           },
                       .verify = [&](const Told& told) -> Status {
                         if (rank_ == 0 && is_bandwidth()) return {};  // it took nothing
                         const std::uint32_t other = 1 - rank_;
                         return staging_->verify(size_index, other, told[other].posted());
                       },
                       .report = [&](const Told&, const Told& closed) -> Status {
                         double bytes_per_second = 0;
                         for (Point& point : points) {
                           if (point.metric() == kBandwidthMetric) bytes_per_second = point.rate();
                           report(context, size_index, closed, point);
                         }
                         report_host_cost(context, closed, sizes_[size_index], bytes_per_second);
                         return {};
                       }},
                      Proving{.size_index = size_index, .both = !is_bandwidth()});
  }
  Result<Proved> prove_by(Context& context, const LinkProof& proof) override {
    return prove_staged(*staging_, *link_, *control_, tick_clock(context), proof);
  }

  void report(Context& context, std::size_t size_index, const Told& closed, Point& point) const {
    point.set_verified(context.params.boolean("verify"));
    if (staging_->is_synthetic()) point.set_synthetic(true);
    auto& facts = *point.mutable_facts();
    const Chunks& chunks = staging_->chunks();
    facts["chunks_in_message"] = std::to_string(chunks.in_message);
    if (!is_bandwidth()) {
      add_latency_accounts(closed, facts);
    } else {
      facts["bytes_in_flight"] = std::to_string(
          std::min(staging_->chunks_on_way() * chunks.chunk_bytes, depth_ * chunks.message_bytes));
      add_bandwidth_accounts(closed, sizes_[size_index], facts);
    }
    add_proof(point);
    context.reporter.point(std::move(point));
  }

  // Moves things on until `done`.
  template <class Done>
  Status run_until(Done done) {
    std::uint64_t since = 0;
    for (unsigned idle = 0; !done();) {
      if (RG_TRY(staging_->progress())) {
        since = 0;
        idle = 0;
      } else if (++idle % kIdleBetweenLooks == 0 && !link_->waiting().may_continue(since)) {
        return failure();
      }
    }
    return {};
  }

  // Rank 0: the samples, then the end.
  Status lead(Context& context, std::size_t size_index, std::vector<Point>& points) {
    RG_TRY_OK(is_bandwidth() ? stream(context, size_index, points)
                             : ping_pong(context, size_index, points));
    RG_TRY_OK(run_until([this] { return staging_->delivered() == staging_->allowed(); }));
    if (!control_->send(ControlWord::of(Order::kDone, staging_->allowed()))) return failure();
    return {};
  }

  // Runs rank 1: receives and, in a ping-pong, sends each answer and renews what it sends, until
  // rank 0 has sent the number of messages.
  Status follow(std::size_t size_index) {
    const auto answer = [this] {
      if (!is_bandwidth() && staging_->received() > staging_->allowed())
        staging_->allow(staging_->received() - staging_->allowed());
    };
    host_cost_.start();  // with the warm-up, whose end this rank does not see
    book_.begin_work();
    ControlWord word;
    for (;;) {
      RG_TRY_OK(run_until([&] {
        answer();
        return control_->has_word();
      }));
      if (!control_->receive(word)) return failure();
      if (word.order != Order::kRenew) break;
      RG_TRY_OK(staging_->renew(size_index, rank_));
      if (!control_->send({.order = Order::kReady})) return failure();
    }
    RG_TRY_OK(run_until([&] {
      answer();
      return staging_->received() == word.value() && staging_->delivered() == staging_->allowed();
    }));
    book_.end_work(static_cast<double>(staging_->received()));
    return {};
  }

  // Half the time from one allowed message to the arrival of its answer.
  Status ping_pong(Context& context, std::size_t size_index, std::vector<Point>& points) {
    const TickClock& clock = tick_clock(context);
    Sampler sampler(context.clock, options_);
    const auto batch = [&](std::uint64_t count, std::vector<double>& out) -> Status {
      RG_CHECK(count < stamps_.size());
      if (!link_->waiting().before_deadline()) return failure();
      stamps_[0] = clock.ticks();
      for (std::uint64_t i = 0; i < count; ++i) {
        staging_->allow(1);
        RG_TRY_OK(run_until([this] { return staging_->received() == staging_->allowed(); }));
        stamps_[i + 1] = clock.ticks();
      }
      for (std::uint64_t i = 0; i < count; ++i)
        out.push_back(clock.to_ns(stamps_[i + 1] - stamps_[i]) / 2);
      return {};
    };
    // Each message was answered, so that nothing is read from either side's source.
    const auto renew = [&]() -> Status {
      ControlWord answer;
      if (!control_->send({.order = Order::kRenew}) || !control_->receive(answer)) return failure();
      return staging_->renew(size_index, rank_);
    };
    book_.begin_work();
    const Sampled sampled = RG_TRY(sampler.run(batch, renew));
    book_.end_work(static_cast<double>(staging_->received()));
    points.push_back(RG_TRY(latency_point(context, "half_rtt", size_index, sampled)));
    return {};
  }

  // As many on their way as fill the rings, however small the messages are; `depth` at most.
  void keep_full() {
    const std::uint64_t chunks = 2 * staging_->chunks_on_way();
    const std::uint64_t ahead = std::min(depth_, chunks / staging_->chunks().in_message + 2);
    const std::uint64_t open = staging_->allowed() - staging_->delivered();
    std::uint64_t more = ahead - std::min(ahead, open);
    if (total_ != 0) more = std::min(more, total_ - staging_->allowed());
    staging_->allow(more);
  }

  // Keeps the ring full until so many messages of this size are in the peer's memory.
  Status wait_delivered(std::uint64_t messages) {
    return run_until([&] {
      keep_full();
      return staging_->delivered() >= messages;
    });
  }

  // Also the warm-up of copy engines and queue.
  Result<std::uint64_t> choose_window(const TickClock& clock) {
    if (total_ != 0) return std::max<std::uint64_t>(1, total_ / kFixedWindows);
    RG_TRY_OK(wait_delivered(1));
    // The faster of two probes: a pause in one must not make windows short.
    double each_ns = std::numeric_limits<double>::infinity();
    for (int probe = 0; probe < 2; ++probe) {
      const std::uint64_t begin = clock.ticks();
      const std::uint64_t before = staging_->delivered();
      RG_TRY_OK(wait_delivered(before + kProbeMessages));
      each_ns = std::min(each_ns, clock.to_ns(clock.ticks() - begin) /
                                      static_cast<double>(staging_->delivered() - before));
    }
    return std::max<std::uint64_t>(1,
                                   static_cast<std::uint64_t>(kWindowNs / std::max(1.0, each_ns)));
  }

  // Windows of delivered messages: a message counts when its last chunk is in the target's memory.
  Status stream(Context& context, std::size_t size_index, std::vector<Point>& points) {
    const TickClock& clock = tick_clock(context);
    const std::uint64_t window = RG_TRY(choose_window(clock));
    SamplerOptions options = options_;
    options.fixed_samples = (total_ + window - 1) / window;
    // Touched now: neither room nor a page is made within a window.
    windows_.resize(std::max(options.max_samples, options.fixed_samples) + options.batch);
    windows_.clear();
    last_ticks_ = clock.ticks();
    last_delivered_ = 0;
    const std::uint64_t delivered_before = staging_->delivered();
    const auto bytes = static_cast<double>(sizes_[size_index]);
    Sampler sampler(context.clock, options);
    book_.begin_work();
    Sampled sampled = RG_TRY(sampler.run(
        [&](std::uint64_t count, std::vector<double>& out) {
          return batch(clock, window, count, bytes, out);
        },
        [&]() -> Status {
          windows_.clear();
          RG_TRY_OK(run_until([this] { return staging_->delivered() == staging_->allowed(); }));
          RG_TRY_OK(staging_->renew(size_index, rank_));
          host_cost_.start();
          return {};
        }));
    book_.end_work(static_cast<double>(staging_->delivered() - delivered_before));
    const auto kept = std::span(windows_).last(sampled.samples.size());
    PointForm form{.message_bytes = sizes_[size_index],
                   .meaning = "unidirectional",
                   .line_rate = line_rate_between(link_->device(), link_->mine(), link_->peer()),
                   .precision = options_.relative_half_width};
    points = RG_TRY(
        make_points(context, measured_by_windows(clock, std::move(sampled), kept, window), form));
    return {};
  }

  // Takes `count` windows. Deliveries between two batches belong to no window, except with a fixed
  // number.
  Status batch(const TickClock& clock, std::uint64_t window, std::uint64_t count, double bytes,
               std::vector<double>& out) {
    if (!link_->waiting().before_deadline()) return failure();
    // Room is made between batches; a long warm-up, or windows shorter than expected, fill it.
    if (windows_.size() + count > windows_.capacity())
      windows_.reserve(2 * windows_.capacity() + count);
    // A batch begins at a delivery, so that its first window is a whole one.
    if (total_ == 0) {
      const std::uint64_t waits_since = clock.ticks();
      RG_TRY_OK(wait_delivered(staging_->delivered() + 1));
      const std::size_t known = windows_.size();
      last_ticks_ = window_begin(
          waits_since, clock.ticks(),
          known < 2 ? 0 : std::min(windows_[known - 1].ticks, windows_[known - 2].ticks));
      last_delivered_ = staging_->delivered();
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      if (last_delivered_ == staging_->delivered() || total_ == 0)
        RG_TRY_OK(wait_delivered(next_end(window)));
      // Windows that one look closed share its messages and its time.
      const std::uint64_t now = clock.ticks();
      const std::uint64_t arrived = staging_->delivered() - last_delivered_;
      // With a fixed number the windows that one look closed divide what arrived.
      const std::uint64_t shared =
          total_ == 0 ? 1 : std::max<std::uint64_t>(1, (arrived + window - 1) / window);
      const Window one{arrived / shared, std::max<std::uint64_t>(1, (now - last_ticks_) / shared)};
      windows_.push_back(one);
      out.push_back(bytes * static_cast<double>(one.writes) / (clock.to_ns(one.ticks) / 1e9));
      last_delivered_ += one.writes;
      last_ticks_ += one.ticks;
    }
    return {};
  }

  // The last window of a fixed number may be short.
  [[nodiscard]] std::uint64_t next_end(std::uint64_t window) const {
    const std::uint64_t end = last_delivered_ + window;
    return total_ == 0 ? end : std::min(total_, end);
  }

  Verb verb_;
  StagedFigure figure_;
  MemoryChoice choice_;
  StagedPart part_;
  std::uint64_t total_ = 0;  // messages of a size, where it is fixed
  std::uint64_t depth_ = 1;  // messages on their way, at most
  std::vector<Window> windows_;
  // End of the last window, in ticks and in delivered messages.
  std::uint64_t last_ticks_ = 0;
  std::uint64_t last_delivered_ = 0;
  std::optional<Staging> staging_;  // goes before the link, whose domain it is registered in
};

}  // namespace

std::unique_ptr<Kernel> make_staged(Verb verb, StagedFigure figure, const MemoryChoice& choice,
                                    StagedPart part) {
  return std::make_unique<StagedTransfer>(verb, figure, choice, part);
}

}  // namespace railgauge::verbs

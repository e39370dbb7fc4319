// TCP bandwidth, the floor that RDMA must beat: each stream has a thread that sends messages and
// one on the other side that receives them. Bytes count once the other side's kernel has
// acknowledged them, by TCP's own count (tcpi_bytes_acked), read for all streams at the ends of
// each window: bytes in this side's socket buffers are no bandwidth. Each sending thread reads its
// own stream between two messages, since another thread would wait for the socket's lock: on 16
// cores four busy streams made windows of more than 100 ms so. A window lasts 10 ms, and longer
// while nothing is acknowledged in it: a pause is one slow window instead of many of rate 0, which
// no statistic of ratios could hold.
//
// In direction both, rank 0 also adds the bytes that arrived from the other side
// (tcpi_bytes_received), so that one clock and one interval cover both.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/agreement.h"
#include "kernels/core/cpu/thread_cpu.h"
#include "kernels/core/sampling.h"
#include "kernels/core/stats/rate.h"
#include "kernels/host_cost/host_cost.h"
#include "kernels/memory/host_buffer.h"
#include "kernels/net/devmem.h"
#include "kernels/net/pattern.h"
#include "kernels/net/pipe.h"
#include "kernels/net/proof.h"
#include "kernels/net/sockets.h"
#include "kernels/net/tcp_link.h"

namespace railgauge::net {
namespace {

// TCP's counts of a stream and the clock's ticks when they were read.
struct Reading {
  Result<StreamTotals> totals;
  std::uint64_t ticks = 0;
};

// The result of one thread; the owner reads it after the join, except `failed` and the reading.
struct Work {
  // Bytes that the thread moved, and those of them with the content of kept samples.
  std::uint64_t bytes = 0;
  std::uint64_t kept_bytes = 0;
  // CPU time of the thread, which it reads itself at its end.
  double cpu_ns = 0;
  // Set by the thread, read by the sampler while it runs.
  std::atomic<bool> failed{false};
  // A sender's: the number of the last ask() that it answered, and its answer, which it writes
  // before that number and leaves alone until the next ask().
  std::atomic<std::uint64_t> answered{0};
  Reading reading;
};

// The threads of a bandwidth measurement in one direction: one a stream, each in a loop of whole
// messages over a buffer of its own. They are joined before their streams go.
class Movers {
 public:
  Movers(const Movers&) = delete;
  Movers& operator=(const Movers&) = delete;

  // The first stream whose thread ended by a failure; the pipe of that stream has the error.
  [[nodiscard]] std::optional<std::size_t> failed_stream() const {
    const auto found =
        std::ranges::find_if(work_, [](const auto& work) { return work->failed.load(); });
    if (found == work_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - work_.begin());
  }
  [[nodiscard]] const std::vector<std::unique_ptr<Work>>& work() const { return work_; }

 protected:
  // The pipes outlive it.
  Movers(std::span<Pipe> pipes, std::uint64_t message_bytes)
      : pipes_(pipes), message_bytes_(message_bytes) {}
  ~Movers() = default;

  [[nodiscard]] std::span<std::byte> message(std::size_t number) const {
    return messages_[number].span().first(message_bytes_);
  }
  Status allocate() {
    for (std::size_t number = 0; number < pipes_.size(); ++number) {
      messages_.push_back(RG_TRY(HostBuffer::allocate(message_bytes_)));
      work_.push_back(std::make_unique<Work>());
    }
    return {};
  }
  // Runs `run(number)` in a thread for each stream. The owner's destructor joins the started ones.
  template <class Run>
  Status start_threads(Run run) {
    try {
      for (std::size_t number = 0; number < pipes_.size(); ++number)
        threads_.emplace_back([run, number] { run(number); });
    } catch (const std::system_error& error) {
      return fail(Code::kResourceExhausted, fmt::format("net: start a thread for stream {}: {}",
                                                        threads_.size(), error.what()));
    }
    return {};
  }
  // Leaves no thread, so a second call does nothing.
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  std::span<Pipe> pipes_;
  std::uint64_t message_bytes_;
  std::vector<HostBuffer> messages_;
  std::vector<std::unique_ptr<Work>> work_;
  std::vector<std::thread> threads_;
};

// Sends one pattern over and over on each stream, from freshen() on another one.
class Senders : public Movers {
 public:
  // Each stream has a pattern of its own, so that mixed-up streams show. `stop` of the limits does
  // not stop them: stop() does.
  static Result<std::unique_ptr<Senders>> start(TcpLink& link, const TickClock& clock,
                                                std::uint64_t message_bytes, std::size_t size_index,
                                                std::uint32_t rank) {
    const std::span<Pipe> pipes = link.pipes();
    std::unique_ptr<Senders> made(new Senders(link, clock, message_bytes));
    RG_TRY_OK(made->allocate());
    for (std::size_t number = 0; number < pipes.size(); ++number) {
      const Sender sender{size_index, rank, number};
      made->kept_.push_back(RG_TRY(HostBuffer::allocate(message_bytes)));
      fill_pattern(made->message(number), sender.seed(kWarmUpMessage));
      fill_pattern(made->kept_message(number), sender.seed(kKeptMessage));
    }
    RG_TRY_OK(made->start_threads([self = made.get()](std::size_t number) { self->run(number); }));
    return made;
  }
  ~Senders() { stop(); }

  // Each changes its pattern at its next message, so that what arrives later was sent later.
  void freshen() {
    if (state_ == State::kWarmsUp) state_ = State::kKept;
  }
  // Asks each thread to read its stream after the message that it sends.
  void ask() { ++asked_; }
  // The stream's answer to the last ask(); nullptr before its thread gave it.
  [[nodiscard]] const Reading* answer(std::size_t number) const {
    const Work& work = *work_[number];
    return work.answered.load(std::memory_order_acquire) == asked_ ? &work.reading : nullptr;
  }
  // Each ends with its message; joins.
  void stop() {
    state_ = State::kStopped;
    join();
  }

 private:
  Senders(TcpLink& link, const TickClock& clock, std::uint64_t message_bytes)
      : Movers(link.pipes(), message_bytes), link_(&link), clock_(&clock) {}
  // Reads the stream where that was asked since the last answer.
  void answer_if_asked(std::size_t number, Work& work) {
    const std::uint64_t asked = asked_.load(std::memory_order_relaxed);
    if (asked == work.answered.load(std::memory_order_relaxed)) return;
    work.reading = {link_->totals_of(number), clock_->ticks()};
    work.answered.store(asked, std::memory_order_release);
  }
  // The loop of one stream: whole messages until stop() or a failure.
  void run(std::size_t number) {
    Pipe& pipe = pipes_[number];
    Work& work = *work_[number];
    std::uint64_t bytes = 0;
    std::uint64_t kept_bytes = 0;
    const auto send_while = [&](State state, std::span<const std::byte> sent,
                                std::uint64_t& counted) {
      while (state_.load(std::memory_order_relaxed) == state) {
        if (!pipe.send_all(sent)) {
          work.failed = true;
          return;
        }
        counted += sent.size();
        answer_if_asked(number, work);
      }
    };
    send_while(State::kWarmsUp, message(number), bytes);
    if (!work.failed) send_while(State::kKept, kept_message(number), kept_bytes);
    if (!work.failed && !pipe.settle()) work.failed = true;  // the messages go with their owner
    work.bytes = bytes + kept_bytes;
    work.kept_bytes = kept_bytes;
    work.cpu_ns = thread_cpu_ns();
  }
  [[nodiscard]] std::span<std::byte> kept_message(std::size_t number) const {
    return kept_[number].span().first(message_bytes_);
  }

  enum class State : std::uint8_t { kWarmsUp, kKept, kStopped };
  const TcpLink* link_;
  const TickClock* clock_;
  std::atomic<State> state_{State::kWarmsUp};
  std::atomic<std::uint64_t> asked_{0};
  std::vector<HostBuffer> kept_;  // one a stream
};

// Receives each stream's bytes into a buffer of one message, over and over, so that the last
// message is there in the end.
class Receivers : public Movers {
 public:
  static Result<std::unique_ptr<Receivers>> start(std::span<Pipe> pipes,
                                                  std::uint64_t message_bytes) {
    std::unique_ptr<Receivers> made(new Receivers(pipes, message_bytes));
    RG_TRY_OK(made->allocate());
    RG_TRY_OK(made->start_threads([self = made.get()](std::size_t number) { self->run(number); }));
    return made;
  }
  // Shuts the streams down, which ends every wait.
  ~Receivers() {
    if (threads_.empty()) return;
    for (const Pipe& pipe : pipes_) pipe.shut_down();
    join();
  }

  // Waits until each stream has received all bytes that the other side sent; joins. kInternal when
  // the other side used another number of streams, kDataLoss when a stream received another number
  // of bytes.
  Status finish(std::span<const std::uint64_t> sent_bytes) {
    if (sent_bytes.size() != work_.size())
      return fail(Code::kInternal, fmt::format("net: the other side sent on {} streams, not on {}",
                                               sent_bytes.size(), work_.size()));
    expected_.assign(sent_bytes.begin(), sent_bytes.end());
    knows_expected_ = true;
    join();
    for (std::size_t number = 0; number < work_.size(); ++number) {
      if (work_[number]->failed) return tl::unexpected(pipes_[number].failure());
      if (work_[number]->bytes != expected_[number])
        return fail(Code::kDataLoss, fmt::format("net: stream {} brought {} bytes, expected {}",
                                                 number, work_[number]->bytes, expected_[number]));
    }
    return {};
  }
  // Compares the last message of each stream, by the bytes that the other side sent with the
  // content of kept samples. A stream that carried nothing has nothing to compare: in the smallest
  // runs another stream had it all.
  [[nodiscard]] Status verify(std::span<const std::uint64_t> kept_bytes, std::size_t size_index,
                              std::uint32_t from_rank, const std::string& who) const {
    for (std::size_t number = 0; number < messages_.size(); ++number) {
      const bool kept = number < kept_bytes.size() && kept_bytes[number] != 0;
      if (work_[number]->bytes != 0)
        RG_TRY_OK(verify_message(message(number), {size_index, from_rank, number},
                                 kept ? kKeptMessage : kWarmUpMessage, who));
    }
    return {};
  }

 private:
  using Movers::Movers;
  // The loop of one stream. It ends when as many bytes came as the sender reports, which it learns
  // only after the sender has stopped.
  void run(std::size_t number) {
    Pipe& pipe = pipes_[number];
    Work& work = *work_[number];
    const std::span<std::byte> buffer = message(number);
    std::uint64_t bytes = 0;
    std::uint64_t at = 0;  // in the message
    double since_ns = 0;
    for (;;) {
      if (knows_expected_ && bytes >= expected_[number]) break;
      const std::ptrdiff_t got = pipe.receive_some(buffer.subspan(at), since_ns);
      if (got < 0) {
        work.failed = true;
        pipe.shut_down();  // the sender need not fill the socket first
        break;
      }
      bytes += static_cast<std::uint64_t>(got);
      at += static_cast<std::uint64_t>(got);
      if (at == message_bytes_) at = 0;
    }
    work.bytes = bytes;
    work.cpu_ns = thread_cpu_ns();
  }

  // Bytes of each stream; written before knows_expected_ is set, read after it is seen.
  std::vector<std::uint64_t> expected_;
  std::atomic<bool> knows_expected_{false};
};

// Long against the read of TCP_INFO, short enough for many windows a second.
constexpr double kWindowNs = 10e6;
// The sampler reads a stream itself whose thread is so long within a message: it sleeps there, or
// its message is large, and either leaves the socket's lock.
constexpr double kAnswerNs = 20e6;
constexpr std::chrono::microseconds kAnswerNap{50};
// Windows between two looks at the stop rule.
constexpr std::uint64_t kWindowsInBatch = 5;

// Rank 0 samples; all data moves in the threads of Senders and Receivers.
class TcpBandwidth final : public Kernel {
 public:
  Status prepare(Context& context) override {
    sizes_ = context.params.bytes_list("sizes");
    both_ = context.params.text("direction") == "both";
    options_ = RG_TRY(sampler_options(context.params));
    options_.batch = kWindowsInBatch;
    verify_ = context.params.boolean("verify");
    proof_time_ns_ = context.params.duration_ns("proof_time");
    host_cost_.emplace(wants_host_cost(context.params));
    sending_ = sending_of(context.params.text("send"));
    link_ = RG_TRY(TcpLink::open(
        context, {.streams = static_cast<std::uint32_t>(context.params.integer("streams"))}));
    return check_memory(context.params, link_->netdev());
  }

  Status connect(Context& context, Group& group) override {
    rank_ = group.rank();
    RG_TRY_OK(link_->connect(context, group));
    link_->report_facts(context.reporter);
    for (const Pipe& pipe : link_->pipes()) inward_.push_back(RG_TRY(pipe.twin()));
    Status opened;
    for (Pipe& pipe : link_->pipes())
      if (opened) opened = pipe.send_by(sending_);
    RG_TRY_OK(agree<NetStatus>(group, opened, seconds_left(context)));
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
    std::vector<Stretch> windows;  // in bytes
    double own_cpu_ns = 0;
    // Whether all ranks know the error of run().
    bool is_told = false;
    std::uint64_t proved_messages = 0;  // on both ranks
  };

  // GPU memory over TCP without a copy by the host: queues of the NIC are the host's to set up, see
  // decision 183.
  [[nodiscard]] static Status check_memory(const Params& params, const std::string& netdev) {
    if (params.text("memory") == "host") return {};
    return fail(Code::kUnimplemented,
                "net.tcp_bw: memory gpu: it needs devmem TCP (Linux 6.12, a NIC with header split "
                "and flow steering): {}; verbs kernels move GPU memory",
                devmem_lack(netdev));
  }

  // The sends without a copy of all streams so far.
  [[nodiscard]] ZeroCopyCount zero_copies() const {
    ZeroCopyCount all;
    for (const Pipe& pipe : link_->pipes()) {
      all.sends += pipe.zero_copies().sends;
      all.copied += pipe.zero_copies().copied;
    }
    return all;
  }
  // Those of the size: the kernel may copy all the same.
  template <class Facts>
  void add_zero_copies(Facts& facts) const {
    const ZeroCopyCount now = zero_copies();
    const std::uint64_t sends = now.sends - copies_before_.sends;
    const std::uint64_t copied = now.copied - copies_before_.copied;
    if (sends > 0)
      facts["sends_without_copy"] =
          fmt::format("{} of {}; the kernel copied the others all the same", sends - copied, sends);
  }

  [[nodiscard]] bool sends() const { return both_ || rank_ == 0; }
  [[nodiscard]] bool receives() const { return both_ || rank_ == 1; }

  // Threads start between agreements, so no message comes before its receiver; the counts of sent
  // bytes let the receivers end.
  Status measure_size(Context& context, Group& group, std::size_t size_index) {
    AccountBook book(*link_);
    Part part;
    copies_before_ = zero_copies();
    host_cost_->look_before();
    Status here = begin(book, part, size_index);
    RG_TRY_OK(agree<NetStatus>(group, here, seconds_left(context)));
    here = run(context, group, part, size_index);
    // Rank 1 waits here while rank 0 samples.
    const Status sampled =
        part.is_told ? here : agree<NetStatus>(group, here, seconds_left(context));
    const HostCostWords cost = host_cost_->stop();
    if (!sampled) return tl::unexpected(own_words(part, sampled.error()));
    if (part.senders) part.senders->stop();
    NetStatus told;
    for (std::size_t i = 0; part.senders && i < part.senders->work().size(); ++i)
      told.add_sent_bytes(part.senders->work()[i]->bytes);
    for (std::size_t i = 0; part.senders && i < part.senders->work().size(); ++i)
      told.add_kept_bytes(part.senders->work()[i]->kept_bytes);
    const auto sent = RG_TRY(agree_on(group, failure_of(part), told, seconds_left(context)));
    NetStatus closing;
    *closing.mutable_host_cost() = cost;
    here = end(book, part, size_index, sent[1 - rank_], closing);
    const auto closed = RG_TRY(agree_on(group, here, closing, seconds_left(context)));
    if (verify_) part.proved_messages = RG_TRY(prove(context, group, size_index));
    return rank_ == 0 ? report(context, part, size_index, closed) : Status{};
  }

  // Both sides, before the first message.
  Status begin(AccountBook& book, Part& part, std::size_t size_index) {
    RG_TRY_OK(book.open());
    if (receives()) part.receivers = RG_TRY(Receivers::start(inward_, sizes_[size_index]));
    return {};
  }

  // Starts the senders; rank 0 samples while they run.
  Status run(Context& context, Group& group, Part& part, std::size_t size_index) {
    Status here;
    if (sends()) {
      auto started =
          Senders::start(*link_, tick_clock(context), sizes_[size_index], size_index, rank_);
      if (!started) return told_freshness(context, group, part, tl::unexpected(started.error()));
      part.senders = std::move(*started);
    }
    return rank_ == 0 ? sample(context, group, part) : told_freshness(context, group, part, {});
  }

  // Both sides change what they send at once, between warm-up and first kept sample. An error here
  // is all ranks' error.
  Status told_freshness(Context& context, Group& group, Part& part, const Status& mine) {
    Status all = agree<NetStatus>(group, mine, seconds_left(context));
    if (!all)
      part.is_told = true;
    else if (part.senders)
      part.senders->freshen();
    if (all) host_cost_->start();
    return all;
  }

  // Bytes of all streams that count, and the mean of the times when they were read.
  struct Moved {
    double bytes = 0;
    std::uint64_t ticks = 0;
  };
  [[nodiscard]] Result<Moved> moved(Context& context, Part& part) const {
    const std::uint64_t began = tick_clock(context).ticks();
    const double until_ns = monotonic_now_ns() + kAnswerNs;
    const std::size_t streams = link_->pipes().size();
    double offsets = 0;
    Moved all;
    part.senders->ask();
    for (std::size_t number = 0; number < streams; ++number) {
      const Reading* own = part.senders->answer(number);
      for (; own == nullptr && monotonic_now_ns() < until_ns; own = part.senders->answer(number))
        std::this_thread::sleep_for(kAnswerNap);
      const Reading here =
          own != nullptr ? *own : Reading{link_->totals_of(number), tick_clock(context).ticks()};
      const StreamTotals totals = RG_TRY(here.totals);
      all.bytes += static_cast<double>(totals.acknowledged_bytes) +
                   (both_ ? static_cast<double>(totals.received_bytes) : 0);
      offsets += static_cast<double>(here.ticks - began);
    }
    all.ticks = began + static_cast<std::uint64_t>(offsets / static_cast<double>(streams));
    return all;
  }

  // Bytes and time of the warm-up are dropped.
  Status sample(Context& context, Group& group, Part& part) {
    const double began_cpu_ns = thread_cpu_ns();
    Sampler sampler(context.clock, options_);
    part.sampled = RG_TRY(sampler.run(
        [&](std::uint64_t count, std::vector<double>& out) {
          if (out.empty()) part.windows.clear();  // what was before warmed up
          return add_windows(context, part, count, out);
        },
        [&] { return told_freshness(context, group, part, {}); }));
    part.own_cpu_ns = thread_cpu_ns() - began_cpu_ns;
    return {};
  }

  // Sleeps between two reads of the counters, so that sampling costs the streams no CPU.
  Status add_windows(Context& context, Part& part, std::uint64_t count, std::vector<double>& out) {
    Moved before = RG_TRY(moved(context, part));
    while (count > 0) {
      std::this_thread::sleep_for(std::chrono::duration<double, std::nano>(kWindowNs));
      RG_TRY_OK(failure_of(part));
      if (monotonic_now_ns() >= context.deadline_monotonic_ns)
        return fail(Code::kDeadlineExceeded, link_->words() + ": the task's deadline has come");
      const Moved after = RG_TRY(moved(context, part));
      const double window_ns = tick_clock(context).to_ns(after.ticks - before.ticks);
      // The window stays open until something is acknowledged.
      if (after.bytes <= before.bytes) {
        RG_TRY_OK(check_stall(window_ns));
        continue;
      }
      out.push_back((after.bytes - before.bytes) / (window_ns / 1e9));
      part.windows.push_back({after.bytes - before.bytes, window_ns});
      before = after;
      --count;
    }
    return {};
  }

  // kUnavailable when nothing was acknowledged for the stall limit.
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

  // Joins the receivers, verifies, and closes the account of this rank.
  Status end(const AccountBook& book, Part& part, std::size_t size_index, const NetStatus& peer,
             NetStatus& closing) {
    const std::vector<std::uint64_t> sent(peer.sent_bytes().begin(), peer.sent_bytes().end());
    if (part.receivers) {
      RG_TRY_OK(part.receivers->finish(sent));
      const std::vector<std::uint64_t> kept(peer.kept_bytes().begin(), peer.kept_bytes().end());
      if (verify_) RG_TRY_OK(part.receivers->verify(kept, size_index, 1 - rank_, link_->words()));
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

  // The proof of one size on both ranks; the messages that both proved.
  Result<std::uint64_t> prove(Context& context, Group& group, std::size_t size_index) {
    std::vector<Pipe>& outward = link_->pipes();
    // Streams work at the same time, so that each has the size's whole time.
    const std::size_t parts = sizes_.size() * outward.size() * (both_ ? 2 : 1);
    StreamProof proof{.message_bytes = sizes_[size_index],
                      .size_index = size_index,
                      .rank = rank_,
                      .share = {.messages = proof_share(proof_time_ns_, parts).messages,
                                .time_ns = proof_share(proof_time_ns_, sizes_.size()).time_ns},
                      .deadline_monotonic_ns = context.deadline_monotonic_ns,
                      .who = link_->words()};
    if (sends()) proof.outward = outward;
    if (receives()) proof.inward = inward_;
    const auto proved = prove_streams(proof);
    NetStatus told;
    told.set_proved_messages(proved.value_or(0));
    const auto all = agree_on(group, proved ? Status{} : Status(tl::unexpected(proved.error())),
                              told, seconds_left(context));
    if (all) return (*all)[0].proved_messages() + (*all)[1].proved_messages();
    // Nobody knows why the streams were closed.
    Error error = all.error();
    if (error.code == Code::kAborted) error.code = Code::kUnavailable;
    return tl::unexpected(std::move(error));
  }

  // The point of one size, on rank 0. kDataLoss above the line rate.
  Status report(Context& context, Part& part, std::size_t size_index,
                const std::vector<NetStatus>& closed) {
    Point point = make_point({.metric = "bandwidth_bytes_per_second",
                              .meaning = both_ ? "bidirectional_sum" : "unidirectional",
                              .unit = "bytes_per_second",
                              .larger_is_better = true},
                             sizes_[size_index], *part.sampled, context.raw_samples, false);
    const RateFigures figures = rate_figures(part.windows, part.sampled->allowed_ns());
    point.set_mean(figures.per_second);
    set_rate(figures, part.sampled->precision, point);
    point.set_verified(verify_);
    auto& facts = *point.mutable_facts();
    if (verify_) add_proved(part.proved_messages, sizes_[size_index], facts);
    facts["mean_is"] = "all bytes over all time";
    add_zero_copies(facts);
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
    const double per_second = point.rate();
    context.reporter.point(std::move(point));
    if (!host_cost_->is_wanted()) return {};
    std::vector<HostCostWords> costs;
    costs.reserve(closed.size());
    for (const NetStatus& end : closed) costs.push_back(end.host_cost());
    report_host_costs(context.reporter, link_->words(), costs,
                      {.bytes_per_second = per_second, .message_bytes = sizes_[size_index]});
    return {};
  }

  std::vector<std::uint64_t> sizes_;
  SamplerOptions options_;
  bool both_ = false;
  bool verify_ = true;
  double proof_time_ns_ = 0;
  std::optional<HostCostMeter> host_cost_;  // since prepare()
  Sending sending_ = Sending::kCopy;
  ZeroCopyCount copies_before_;  // the measured size
  std::unique_ptr<TcpLink> link_;
  std::vector<Pipe> inward_;  // the same streams, for the threads that receive
  std::uint32_t rank_ = 0;
};

// A thread per stream and direction bounds the number of streams.
KernelInfo info() {
  constexpr double kMaxStreams = 256;
  return InfoBuilder("net.tcp_bw", 2, "TCP bandwidth between two ports over one or more streams")
      .ranks(2, 2)
      .endpoint("nic")
      .metrics({"bandwidth_bytes_per_second", kHostCostMetric})
      .sizes("64KiB")
      .integer("streams", "TCP connections, each with a thread of its own on both sides", 1, 1,
               kMaxStreams)
      .identity()
      .choice("direction", "",
              "one_way: rank 0 sends; both: both do, and what counts is the sum in one interval",
              {"one_way", "both"})
      .identity()
      .choice("send", "",
              "copy: send(2); zerocopy: with MSG_ZEROCOPY; io_uring: one send in flight; "
              "io_uring_zerocopy: the same without a copy",
              sending_names())
      .identity()
      .choice("memory", "", "where messages are; gpu needs devmem TCP", {"host", "gpu"})
      .identity()
      .sampling("windows of 10 ms", 30, 10'000)
      .least_time("2s")
      .proof_time()
      .apply(add_host_cost)
      .apply(add_connection)
      .build();
}

}  // namespace
}  // namespace railgauge::net

namespace railgauge {
extern const KernelRow kNetTcpBw{
    net::info, []() -> std::unique_ptr<Kernel> { return std::make_unique<net::TcpBandwidth>(); }};
}  // namespace railgauge

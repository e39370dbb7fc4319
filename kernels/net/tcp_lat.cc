// TCP latency, the floor that RDMA must beat: a ping-pong of whole messages on one stream with
// Nagle off, half a round trip. A sample is half the time from before one send to before the next,
// so that it holds what an application pays: both system calls on both sides, the wake-ups where
// the ranks sleep, and the wire.
//
// The number of round trips in a batch travels in the stream itself, in front of the batch and
// outside its timed part.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/agreement.h"
#include "kernels/core/sampling.h"
#include "kernels/memory/host_buffer.h"
#include "kernels/net/pattern.h"
#include "kernels/net/proof.h"
#include "kernels/net/tcp_link.h"

namespace railgauge::net {
namespace {

// The first word of an order; a magic number, so that stray bytes make no order.
enum class Order : std::uint32_t {
  kPlay = 0x52470001,
  kReady,
  kVerify,
  kVerified,
  kMismatch,
  kDone,
  kFresh,
  kProve
};

// One order in the stream, in host byte order: both ends are of one architecture.
struct Word {
  Order order = Order::kDone;
  std::uint32_t size_index = 0;
  std::uint64_t count = 0;
};
static_assert(sizeof(Word) == 16);

// Rank 0 orders batches and takes the time; rank 1 answers until it reads kDone.
class TcpLatency final : public Kernel {
 public:
  // Buffers for the largest size, touched before anything is timed.
  Status prepare(Context& context) override {
    sizes_ = context.params.bytes_list("sizes");
    options_ = RG_TRY(sampler_options(context.params));
    stamps_.resize(options_.batch + 1);
    const std::uint64_t largest = *std::ranges::max_element(sizes_);
    out_ = RG_TRY(HostBuffer::allocate(largest));
    in_ = RG_TRY(HostBuffer::allocate(largest));
    verify_ = context.params.boolean("verify");
    proof_time_ns_ = context.params.duration_ns("proof_time");
    if (verify_) {
      proof_out_ = RG_TRY(ProofRing::allocate(sizes_));
      proof_in_ = RG_TRY(ProofRing::allocate(sizes_));
    }
    link_ = RG_TRY(TcpLink::open(context, {.spins = context.params.text("wait") == "spin"}));
    return {};
  }

  Status connect(Context& context, Group& group) override {
    rank_ = group.rank();
    RG_TRY_OK(link_->connect(context, group));
    link_->report_facts(context.reporter);
    return {};
  }

  Status measure(Context& context, Group& group) override {
    const Status here = rank_ == 0 ? measure_all(context) : serve_all();
    // Whatever the other side waits for will not come; where the bytes are wrong, the end can.
    const bool ended = !here && rank_ == 0 && here.error().code == Code::kDataLoss &&
                       !pipe().failed() && tell(Order::kDone);
    if (!here && !ended) pipe().shut_down();
    NetStatus told;
    told.mutable_accounts()->Assign(accounts_.begin(), accounts_.end());
    // The other rank is at most one wait behind.
    const double patience = link_->limits().stall_ns / 1e9 + kTellSeconds;
    const auto all = agree_on(group, here, told, std::min(seconds_left(context), patience));
    report(context, all ? (*all)[1 - rank_] : NetStatus{});
    if (!all) return tl::unexpected(all.error());
    return {};
  }

 private:
  [[nodiscard]] Pipe& pipe() { return link_->pipes().front(); }
  [[nodiscard]] tl::unexpected<Error> failure() { return tl::unexpected(pipe().failure()); }
  [[nodiscard]] std::span<std::byte> outgoing(std::size_t size_index) const {
    return out_.span().first(sizes_[size_index]);
  }
  [[nodiscard]] std::span<std::byte> incoming(std::size_t size_index) const {
    return in_.span().first(sizes_[size_index]);
  }

  // Sends an order. False when the stream failed.
  [[nodiscard]] bool tell(Order order, std::size_t size_index = 0, std::uint64_t count = 0) {
    const Word word{order, static_cast<std::uint32_t>(size_index), count};
    return pipe().send_all(std::as_bytes(std::span(&word, 1)));
  }
  // Receives the next order. False when the stream failed.
  [[nodiscard]] bool hear(Word& word) {
    return pipe().receive_all(std::as_writable_bytes(std::span(&word, 1)));
  }
  // kInternal: the other side runs another version, or bytes were lost.
  [[nodiscard]] tl::unexpected<Error> nonsense() const {
    return fail(Code::kInternal, link_->words() + ": the other side's order makes no sense");
  }

  // The pattern of message `number` to send, and zeros where the peer's arrives.
  void set_up(std::size_t size_index, std::uint64_t number) {
    fill_pattern(outgoing(size_index), Sender{size_index, rank_}.seed(number));
    std::ranges::fill(incoming(size_index), std::byte{0});
  }
  // The last message that came here, one of the kept samples. kDataLoss.
  [[nodiscard]] Status compare(std::size_t size_index) const {
    return verify_message(incoming(size_index), {size_index, 1 - rank_}, kKeptMessage,
                          link_->words());
  }

  // The timed loop: `count` round trips, count + 1 stamps.
  bool play(const TickClock& clock, std::size_t size_index, std::uint64_t count) {
    Pipe& stream = pipe();
    const auto message = outgoing(size_index);
    const auto answer = incoming(size_index);
    for (std::uint64_t i = 0; i < count; ++i) {
      stamps_[i] = clock.ticks();
      if (!stream.send_all(message) || !stream.receive_all(answer)) return false;
    }
    stamps_[count] = clock.ticks();
    return true;
  }

  // All sizes on rank 0, then kDone.
  Status measure_all(Context& context) {
    for (std::size_t i = 0; i < sizes_.size() && !peer_found_mismatch_; ++i)
      RG_TRY_OK(measure_size(context, i));
    // After a mismatch the other side has left already.
    if (!peer_found_mismatch_ && !tell(Order::kDone)) return failure();
    return {};
  }

  // One size on rank 0. The point is kept until the peer's account is known.
  Status measure_size(Context& context, std::size_t size_index) {
    const TickClock& clock = tick_clock(context);
    set_up(size_index, kWarmUpMessage);
    AccountBook book(*link_);
    RG_TRY_OK(book.open());
    Sampler sampler(context.clock, options_);
    const double cpu_ns = thread_cpu_ns();
    const Sampled sampled = RG_TRY(
        sampler.run([&](std::uint64_t count,
                        std::vector<double>& out) { return batch(clock, size_index, count, out); },
                    [&] { return freshen(size_index); }));
    accounts_.push_back(
        RG_TRY(book.close(thread_cpu_ns() - cpu_ns,
                          static_cast<double>(sampled.warmup_count + sampled.samples.size()))));
    if (verify_) RG_TRY_OK(verify(size_index));
    std::uint64_t proved = 0;
    if (verify_ && !peer_found_mismatch_) proved = RG_TRY(prove(size_index));
    if (peer_found_mismatch_) return {};
    Point point = make_point({.metric = "latency_ns", .meaning = "half_rtt", .unit = "ns"},
                             sizes_[size_index], sampled, context.raw_samples, false);
    point.set_verified(verify_);
    auto& facts = *point.mutable_facts();
    if (verify_) add_proved(proved, sizes_[size_index], facts);
    facts["clock_drift_ppm"] = fmt::format("{:.3f}", clock.drift_ppm());
    const LineRate rate = link_->line_rate();
    facts["line_rate_check"] = rate.waiver.empty() ? "held" : "waived: " + rate.waiver;
    if (point.median() > 0)
      RG_TRY_OK(check_line_rate(rate, point.message_bytes() / (point.median() / 1e9)));
    points_.push_back(std::move(point));
    return {};
  }

  // Orders one batch, plays it and makes its samples.
  Status batch(const TickClock& clock, std::size_t size_index, std::uint64_t count,
               std::vector<double>& out) {
    RG_CHECK(count < stamps_.size());
    Word ready;
    if (!tell(Order::kPlay, size_index, count) || !hear(ready)) return failure();
    if (ready.order != Order::kReady) return nonsense();
    if (!play(clock, size_index, count)) return failure();
    for (std::uint64_t i = 0; i < count; ++i)
      out.push_back(clock.to_ns(stamps_[i + 1] - stamps_[i]) / 2);
    // A fast peer never makes a wait look at the clock.
    if (monotonic_now_ns() < link_->limits().deadline_monotonic_ns) return {};
    return fail(Code::kDeadlineExceeded, link_->words() + ": the task's deadline has come");
  }

  // Both sides send another pattern from here on: what proves the result came in kept samples.
  Status freshen(std::size_t size_index) {
    Word word;
    if (!tell(Order::kFresh, size_index) || !hear(word)) return failure();
    if (word.order != Order::kReady) return nonsense();
    set_up(size_index, kKeptMessage);
    return {};
  }

  // The size's proof on rank 0; returns the number of messages that both ranks found right.
  Result<std::uint64_t> prove(std::size_t size_index) {
    const ProofShare share = proof_share(proof_time_ns_, sizes_.size());
    const double began_ns = monotonic_now_ns();
    double now_ns = began_ns;
    std::uint64_t proved = 0;
    ProofRound round;
    for (std::uint64_t rounds = 0; share.wants_round(rounds, proved, now_ns - began_ns); ++rounds) {
      begin_round(size_index, round);
      Word word;
      if (!tell(Order::kProve, size_index, round.first) || !hear(word)) return failure();
      if (word.order != Order::kReady) return nonsense();
      for (std::uint64_t k = 0; k < round.slots; ++k)
        if (!pipe().send_all(proof_out_.slot(k)) || !pipe().receive_all(proof_in_.slot(k)))
          return stopped_at(size_index, round.first + k);
      if (!hear(word)) return failure();
      peer_found_mismatch_ = word.order == Order::kMismatch;
      if (peer_found_mismatch_) return proved;
      if (word.order != Order::kVerified) return nonsense();
      RG_TRY_OK(compare_round(size_index, round));
      proved += 2 * round.slots;
      round.first += round.slots;
      now_ns = monotonic_now_ns();
      if (now_ns >= link_->limits().deadline_monotonic_ns)
        return fail(Code::kDeadlineExceeded, link_->words() + ": the task's deadline has come");
    }
    return proved;
  }

  // A round on rank 1: answers each message by its own of the same number.
  Status serve_round(std::size_t size_index, std::uint64_t first) {
    ProofRound round{.first = first};
    begin_round(size_index, round);
    if (!tell(Order::kReady)) return failure();
    for (std::uint64_t k = 0; k < round.slots; ++k)
      if (!pipe().receive_all(proof_in_.slot(k)) || !pipe().send_all(proof_out_.slot(k)))
        return stopped_at(size_index, round.first + k);
    Status compared = compare_round(size_index, round);
    if (!tell(compared ? Order::kVerified : Order::kMismatch)) return failure();
    return compared;
  }

  void begin_round(std::size_t size_index, ProofRound& round) {
    for (ProofRing* ring : {&proof_out_, &proof_in_}) ring->begin(sizes_[size_index]);
    round.slots = proof_out_.slots();
    proof_out_.fill({size_index, rank_}, round);
    proof_in_.clear();
  }
  [[nodiscard]] Status compare_round(std::size_t size_index, const ProofRound& round) const {
    return proof_in_.compare({size_index, 1 - rank_}, round, link_->words());
  }
  // The stream failed while it carried this message or its answer.
  [[nodiscard]] tl::unexpected<Error> stopped_at(std::size_t size_index, std::uint64_t number) {
    Error error = pipe().failure();
    error.message += fmt::format("; message {} of {} or its answer did not come", number,
                                 canonical_bytes(sizes_[size_index]));
    return tl::unexpected(std::move(error));
  }

  // Has the last message compared that went there, and compares the last one that came here.
  Status verify(std::size_t size_index) {
    Word word;
    if (!tell(Order::kVerify, size_index) || !hear(word)) return failure();
    peer_found_mismatch_ = word.order == Order::kMismatch;  // its own words come at the end
    if (peer_found_mismatch_) return {};
    return word.order == Order::kVerified ? compare(size_index) : nonsense();
  }

  // Runs the target: performs the initiator's orders until kDone.
  Status serve_all() {
    AccountBook book(*link_);
    std::optional<std::size_t> current;
    double cpu_ns = 0;
    double answered = 0;
    const auto close = [&]() -> Status {
      if (current) accounts_.push_back(RG_TRY(book.close(cpu_ns, answered)));
      current.reset();
      return {};
    };
    for (;;) {
      Word word;
      if (!hear(word)) return failure();
      if (word.order == Order::kDone) return close();
      if (word.size_index >= sizes_.size()) return nonsense();
      // The account is of the timed part alone.
      if (word.order == Order::kVerify || word.order == Order::kProve) {
        RG_TRY_OK(close());
        RG_TRY_OK(word.order == Order::kVerify ? serve_verify(word.size_index)
                                               : serve_round(word.size_index, word.count));
        continue;
      }
      if (word.order != Order::kPlay && word.order != Order::kFresh) return nonsense();
      // The first order of a size closes the account of the one before.
      if (current != word.size_index) {
        RG_TRY_OK(close());
        RG_TRY_OK(book.open());
        set_up(word.size_index, kWarmUpMessage);
        cpu_ns = answered = 0;
        current = word.size_index;
      }
      if (word.order == Order::kFresh) set_up(word.size_index, kKeptMessage);
      if (!tell(Order::kReady)) return failure();
      if (word.order == Order::kFresh) continue;
      const double began_ns = thread_cpu_ns();
      if (!answer(word.size_index, word.count)) return failure();
      cpu_ns += thread_cpu_ns() - began_ns;
      answered += static_cast<double>(word.count);
    }
  }

  // The target's timed loop.
  bool answer(std::size_t size_index, std::uint64_t count) {
    Pipe& stream = pipe();
    const auto question = incoming(size_index);
    const auto message = outgoing(size_index);
    for (std::uint64_t i = 0; i < count; ++i)
      if (!stream.receive_all(question) || !stream.send_all(message)) return false;
    return true;
  }

  // Reports the comparison's result to rank 0; the error itself comes through the group.
  Status serve_verify(std::size_t size_index) {
    Status compared = compare(size_index);
    if (!tell(compared ? Order::kVerified : Order::kMismatch)) return failure();
    return compared;
  }

  // Samples before a failure count too.
  void report(const Context& context, const NetStatus& peer) {
    for (std::size_t i = 0; i < points_.size(); ++i) {
      auto& facts = *points_[i].mutable_facts();
      const auto add = [&facts](const Account& account, const std::string& prefix) {
        add_latency_cost({account.cpu_ns(), account.messages()}, prefix, facts);
        add_counters(account, prefix, facts);
      };
      add(accounts_[i], "");
      if (static_cast<int>(i) < peer.accounts_size())
        add(peer.accounts(static_cast<int>(i)), "peer_");
      context.reporter.point(std::move(points_[i]));
    }
  }

  std::vector<std::uint64_t> sizes_;
  SamplerOptions options_;
  std::vector<std::uint64_t> stamps_;
  HostBuffer out_;
  HostBuffer in_;
  bool verify_ = true;
  double proof_time_ns_ = 0;
  ProofRing proof_out_;
  ProofRing proof_in_;
  std::unique_ptr<TcpLink> link_;
  std::vector<Account> accounts_;  // one a size
  std::vector<Point> points_;      // one a size, on rank 0
  std::uint32_t rank_ = 0;
  bool peer_found_mismatch_ = false;
};

// One stream: latency over several is a different question.
KernelInfo info() {
  return InfoBuilder("net.tcp_lat", 2,
                     "TCP latency between two ports, half a round trip, by ping-pong")
      .ranks(2, 2)
      .endpoint("nic")
      .metrics({"latency_ns"})
      .sizes("8,4KiB")
      .choice("wait", "",
              "sleep: a rank sleeps until its message comes, as most applications do; spin: it "
              "asks without rest",
              {"sleep", "spin"})
      .identity()
      .sampling("round trips", kLatencySamples, 100'000)
      .proof_time()
      .apply(add_connection)
      .build();
}

}  // namespace
}  // namespace railgauge::net

namespace railgauge {
extern const KernelRow kNetTcpLat{
    net::info, []() -> std::unique_ptr<Kernel> { return std::make_unique<net::TcpLatency>(); }};
}  // namespace railgauge

#include "kernels/mpi/bench.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/core/base/failpoint.h"
#include "kernels/core/text/units.h"
#include "kernels/mpi/data.h"
#include "kernels/mpi/parts.h"

namespace railgauge::mpi {
namespace {

constexpr std::uint64_t kLargeAboveBytes = 8U << 10U;

}  // namespace

Share Bench::share_of(std::size_t size_index) const {
  return {.bytes = operation_.sized ? sizes_[size_index] : 0,
          .rank = rank_,
          .ranks = ranks_,
          .root = root_,
          .window = window_};
}

void Bench::tell(Act act, std::size_t size_index, std::uint64_t count) {
  Order order{act, static_cast<std::uint32_t>(size_index), count};
  mpi_->broadcast(&order, sizeof order, 0);
}

// The data to send, and what is received made wrong, so that only what comes from now on proves
// anything. No rank goes on before all have done so.
void Bench::begin(std::size_t size_index) {
  const Share share = share_of(size_index);
  for (const Segment& segment : operation_.sent(share))
    fill_segment(send_.view(), segment, size_index, operation_.reduces);
  send_.push(0, operation_.send_bytes(share));
  const std::uint64_t received = operation_.receive_bytes(share);
  std::ranges::fill(receive_.view().first(received), std::byte{0xa5});
  receive_.push(0, received);
  send_.forget_host_copy();
  floats_of_rank_ = floats_of_ranks(share);
  mpi_->sync();
  mpi_->barrier();
}

void Bench::play(const TickClock& clock, std::size_t size_index, std::uint64_t count) {
  ticks_.assign(count, 0);
  Work work{*mpi_, clock, share_of(size_index), send_, receive_, floats_of_rank_, target_staged_};
  mpi_->barrier();
  operation_.play(work, ticks_);
  if (operation_.timed == Timed::kFirst) return;
  own_ns_.clear();
  for (const std::uint64_t ticks : ticks_) own_ns_.push_back(clock.to_ns(ticks));
  all_ns_.resize(rank_ == 0 ? count * ranks_ : 0);
  mpi_->gather(own_ns_.data(), count * sizeof(double), all_ns_.data(), 0);
}

// What this rank received. All ranks learn whether one found something wrong.
Status Bench::verify(std::size_t size_index) {
  const Share share = share_of(size_index);
  mpi_->barrier();
  mpi_->sync();
  receive_.pull(0, operation_.receive_bytes(share));
  Status found = send_.status();
  if (found) found = receive_.status();
  for (const Segment& segment : operation_.received(share)) {
    if (!found || !verify_) break;
    const auto wrong = wrong_in(receive_.view(), segment, size_index, operation_.reduces, ranks_);
    if (wrong)
      found =
          fail(Code::kDataLoss, fmt::format("rank {}: verify {} received from rank {}: {}", rank_,
                                            canonical_bytes(segment.bytes), segment.rank, *wrong));
  }
  const std::uint32_t bad = found ? 0 : 1;
  std::vector<std::uint32_t> all(ranks_);
  mpi_->all_gather(&bad, sizeof bad, all.data());
  stopped_ = std::ranges::find(all, 1U) != all.end();
  return found;
}

// What one rank found is told by all, so that it counts before "measured nothing".
Status Bench::share(Group& group, const Status& mine) const {
  std::string told;
  if (!mine) told = fmt::format("{} {}", static_cast<int>(mine.error().code), mine.error().message);
  for (const std::string& said : RG_TRY(group.exchange(std::move(told), kExchangeSeconds))) {
    const std::size_t space = said.find(' ');
    if (space == std::string::npos) continue;
    const auto code = parse_integer(said.substr(0, space));
    return fail(code ? static_cast<Code>(*code) : Code::kUnknown, said.substr(space + 1));
  }
  return {};
}

Status Bench::measure(Context& context, Group& group) {
  const Share largest =
      share_of(static_cast<std::size_t>(std::ranges::max_element(sizes_) - sizes_.begin()));
  Status ended;
  if (operation_.exposed == Exposed::kReceive)
    ended = mpi_->expose(receive_.data(), operation_.receive_bytes(largest));
  if (operation_.exposed == Exposed::kSend)
    ended = mpi_->expose(send_.data(), operation_.send_bytes(largest));
  if (ended) ended = rank_ == 0 ? lead(context) : follow(context);
  mpi_->unexpose();
  return share(group, ended);
}

Status Bench::lead(Context& context) {
  Status ended;
  for (std::size_t i = 0; i < sizes_.size() && ended && !stopped_; ++i)
    ended = lead_size(context, i);
  tell(Act::kDone);
  return ended;
}

Status Bench::follow(Context& context) {
  const TickClock& clock = tick_clock(context);
  Status ended;
  for (;;) {
    Order order;
    mpi_->broadcast(&order, sizeof order, 0);
    if (order.act == Act::kDone) return ended;
    if (order.act == Act::kBegin) begin(order.size_index);
    if (order.act == Act::kPlay) failpoint("mpi_follower");
    if (order.act == Act::kPlay) play(clock, order.size_index, order.count);
    if (order.act == Act::kVerify)
      if (Status found = verify(order.size_index); !found) ended = std::move(found);
  }
}

Status Bench::lead_size(Context& context, std::size_t size_index) {
  const auto start = [&]() -> Status {
    tell(Act::kBegin, size_index);
    begin(size_index);
    by_rank_ns_.assign(ranks_, {});
    return {};
  };
  RG_TRY_OK(start());
  SamplerOptions options = options_;
  auto skipped = static_cast<std::uint64_t>(context.params.integer("skip"));
  if (operation_.sized && sizes_[size_index] > kLargeAboveBytes && options.fixed_samples != 0)
    if (const auto large = context.params.integer("large_iterations"); large != 0) {
      options.fixed_samples = static_cast<std::uint64_t>(large);
      skipped = static_cast<std::uint64_t>(context.params.integer("large_skip"));
    }
  if (options.fixed_samples == 0) skipped = 0;  // the sampler warms up by itself
  std::vector<double> unused;
  if (skipped > 0) RG_TRY_OK(batch(context, size_index, skipped, unused));
  Sampler sampler(context.clock, options);
  const Sampled sampled = RG_TRY(
      sampler.run([&](std::uint64_t count,
                      std::vector<double>& out) { return batch(context, size_index, count, out); },
                  start));
  tell(Act::kVerify, size_index);
  RG_TRY_OK(verify(size_index));
  if (stopped_) return {};  // the rank that found it says what
  report(context, size_index, sampled, skipped);
  return {};
}

bool Bench::counts(std::uint32_t rank) const {
  return operation_.timed == Timed::kAll || rank < ranks_ / 2;
}

double Bench::value(double ns, std::size_t size_index) const {
  if (operation_.figure == Figure::kLatency) return ns / operation_.divisor;
  const double messages = static_cast<double>(window_) * operation_.ways;
  const double seconds = ns / 1e9;
  if (operation_.figure == Figure::kRate) return messages * (ranks_ / 2) / seconds;
  return messages * static_cast<double>(sizes_[size_index]) / seconds;
}

Status Bench::batch(Context& context, std::size_t size_index, std::uint64_t count,
                    std::vector<double>& out) {
  if (monotonic_now_ns() >= context.deadline_monotonic_ns)
    return fail(Code::kDeadlineExceeded,
                fmt::format("{}: the task's deadline has come", operation_.name));
  const TickClock& clock = tick_clock(context);
  tell(Act::kPlay, size_index, count);
  play(clock, size_index, count);
  for (std::uint64_t i = 0; i < count; ++i) {
    double ns = clock.to_ns(ticks_[i]);
    if (operation_.timed != Timed::kFirst)
      for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
        const double its_ns = all_ns_[rank * count + i];
        if (!counts(rank)) continue;
        ns = std::max(ns, its_ns);
        by_rank_ns_[rank].push_back(its_ns);
      }
    out.push_back(value(ns, size_index));
  }
  return {};
}

}  // namespace railgauge::mpi

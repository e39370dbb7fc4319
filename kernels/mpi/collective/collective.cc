// The timed loop of collectives. The arguments are made before the time begins.
#include "kernels/mpi/collective/collective.h"

#include <algorithm>
#include <numeric>

namespace railgauge::mpi {
namespace {

// Ranks without a result of their own have nothing to be in place in.
bool is_in_place(const Work& work) {
  return work.in_place && (!work.operation.rooted || is_root(work.share));
}

// A part of the input and its place in the receive buffer.
struct Laid {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t bytes = 0;
};
// The part of this rank's input that the standard wants in the receive buffer.
Laid laid_in_place(const Work& work) {
  const Operation& operation = work.operation;
  const Share& share = work.share;
  if (operation.in_place == InPlace::kWhole) return {.bytes = operation.send_bytes(share)};
  if (operation.in_place == InPlace::kOwnBlock)
    for (const Segment& own : operation.received(share))
      if (own.rank == share.rank) return {.to = own.offset, .bytes = own.bytes};
  if (operation.in_place == InPlace::kRootsBlock)
    for (const Segment& own : operation.sent(share))
      if (own.block == share.rank) return {.from = own.offset, .bytes = own.bytes};
  return {};
}
// Puts the input into the receive buffer, where the call finds it and replaces it.
void lay(Work& work, const Laid& laid) {
  std::ranges::copy(work.send.view().subspan(laid.from, laid.bytes),
                    work.receive.view().begin() + static_cast<std::ptrdiff_t>(laid.to));
  work.receive.push(laid.to, laid.bytes);
}

// The arguments stay equal over all samples of hot memory. MPI_Bcast has one buffer: the root's is
// the send buffer, the others' the receive buffer.
CollectiveCall arguments_of(const Work& work) {
  const Operation& operation = work.operation;
  CollectiveCall call{.what = operation.what,
                      .send = work.send.data(),
                      .receive = work.receive.data(),
                      .count = operation.count(work.share),
                      .root = work.share.root,
                      .parts = &work.parts};
  if (operation.what == Collective::kBroadcast && is_root(work.share))
    call.receive = work.send.data();
  call.in_place = is_in_place(work);
  return call;
}

// Computes beside a collective: looks at the clock, and calls MPI_Test at equal distances, which
// gives the library its chance of progress. Returns the ticks of the computation alone: the time in
// MPI_Test is the library's.
std::uint64_t compute(Work& work) {
  const std::uint64_t began = work.clock.ticks();
  const std::uint64_t step = work.compute_ticks / (work.polls + 1);
  std::uint64_t in_library = 0;
  std::uint64_t polled = 0;
  for (;;) {
    const std::uint64_t now = work.clock.ticks();
    const std::uint64_t computed = now - began - in_library;
    if (computed >= work.compute_ticks) return computed;
    if (polled == work.polls || computed < (polled + 1) * step) continue;
    work.mpi.poll();
    ++polled;
    in_library += work.clock.ticks() - now;
  }
}

// One loop for each form, so that no form is chosen within the time.
template <Form kForm>
void play_form(Work& work, std::span<std::uint64_t> ticks) {
  const std::uint64_t sent = work.operation.send_bytes(work.share);
  const std::uint64_t received = work.operation.receive_bytes(work.share);
  const Laid laid = is_in_place(work) ? laid_in_place(work) : Laid{};
  if constexpr (kForm == Form::kPersistent) work.mpi.make(arguments_of(work));
  for (std::uint64_t& tick : ticks) {
    work.begin_sample();
    const CollectiveCall call = arguments_of(work);
    if (laid.bytes > 0) lay(work, laid);
    work.mpi.barrier();
    const std::uint64_t began = work.clock.ticks();
    work.send.stage_out(0, sent);
    if constexpr (kForm == Form::kBlocking) work.mpi.call(call);
    if constexpr (kForm == Form::kPersistent) work.mpi.start_made();
    // Beside a computation a sample is the rest of the time, which it did not hide.
    std::uint64_t computed = 0;
    if constexpr (kForm == Form::kNonBlocking) {
      work.mpi.begin(call);
      if (work.compute_ticks > 0) computed = compute(work);
      work.computed_ticks += computed;
    }
    if constexpr (kForm != Form::kBlocking) work.mpi.finish();
    work.receive.stage_in(0, received);
    tick = work.clock.ticks() - began - computed;
  }
  if constexpr (kForm == Form::kPersistent) work.mpi.free_call();
}

// `ours` is the sender of each block, or its receiver.
std::vector<Segment> blocks(const Share& share, std::span<const std::uint32_t> ranks, bool sends,
                            bool for_all) {
  std::vector<Segment> all;
  std::uint64_t offset = 0;
  for (const std::uint32_t other : ranks) {
    const std::uint32_t from = sends ? share.rank : other;
    const std::uint32_t to = sends ? other : share.rank;
    const std::uint64_t bytes = for_all ? block_bytes(share, from) : block_bytes(share, from, to);
    all.push_back({.offset = offset, .bytes = bytes, .rank = from, .block = for_all ? 0U : to});
    offset += bytes;
  }
  return all;
}

void add_parts(const std::vector<Segment>& segments, std::vector<int>& counts,
               std::vector<int>& places) {
  for (const Segment& one : segments) {
    counts.push_back(static_cast<int>(one.bytes));
    places.push_back(static_cast<int>(one.offset));
  }
}

}  // namespace

void play_collective(Work& work, std::span<std::uint64_t> ticks) {
  switch (work.form) {
    case Form::kBlocking:
      return play_form<Form::kBlocking>(work, ticks);
    case Form::kNonBlocking:
      return play_form<Form::kNonBlocking>(work, ticks);
    case Form::kPersistent:
      return play_form<Form::kPersistent>(work, ticks);
  }
}

std::vector<Segment> blocks_from(const Share& share, std::span<const std::uint32_t> ranks,
                                 bool for_all) {
  return blocks(share, ranks, false, for_all);
}

std::vector<Segment> blocks_to(const Share& share, std::span<const std::uint32_t> ranks,
                               bool for_all) {
  return blocks(share, ranks, true, for_all);
}

std::vector<std::uint32_t> all_ranks(const Share& share) {
  std::vector<std::uint32_t> ranks(share.ranks);
  std::iota(ranks.begin(), ranks.end(), 0U);
  return ranks;
}

std::uint64_t length_of(const std::vector<Segment>& segments) {
  return std::accumulate(
      segments.begin(), segments.end(), std::uint64_t{0},
      [](std::uint64_t sum, const Segment& segment) { return sum + segment.bytes; });
}

CollectiveParts parts_of_segments(const Operation& operation, const Share& share) {
  CollectiveParts parts;
  add_parts(operation.sent(share), parts.send_counts, parts.send_places);
  add_parts(operation.received(share), parts.receive_counts, parts.receive_places);
  return parts;
}

}  // namespace railgauge::mpi

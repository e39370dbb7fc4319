// Rank 0 changes the exposed memory of rank 1, which only waits: it adds to it, or exchanges a
// value. A sample is one call and the flush that confirms it at the target. Both sides prove the
// data: rank 1's memory has the effect of every call since its beginning, and where a call fetches,
// rank 0 has what was there before the last one.
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "kernels/mpi/data.h"

namespace railgauge::mpi {
namespace {

constexpr std::uint64_t kNumber = sizeof(std::uint64_t);

// One call a sample; `call` has the offset of the target's place. The flush is inside the time: an
// accumulate that returns has only taken its arguments.
// `check` looks behind the time at what the call fetched: a call that is lost and one that comes
// twice leave the same memory in the end.
template <class Call, class Check>
void play_each(Work& work, std::span<std::uint64_t> ticks, Call call, Check check) {
  if (work.share.rank != 0) return;
  std::uint64_t made = work.next_sample;
  for (std::uint64_t& tick : ticks) {
    work.begin_sample();
    const std::uint64_t began = work.clock.ticks();
    call(made, work.send.place());
    work.mpi.flush(1);
    tick = work.clock.ticks() - began;
    check(made++);
  }
}

// The number at `offset` of the host's view of an area.
template <class Number>
Number number_in(const Area& area, std::size_t offset = 0) {
  Number number = 0;
  std::memcpy(&number, area.view().data() + offset, sizeof number);
  return number;
}

// A number of memory that nothing has reached.
template <class Number>
Number untouched() {
  Number number = 0;
  std::memset(&number, static_cast<int>(kNotReceived), sizeof number);
  return number;
}

// Compares the first number that call `made` fetched with the expected one.
template <class Number>
void compare_fetched(Work& work, std::uint64_t made, Number expected) {
  if (work.wrong_fetch == nullptr || !work.wrong_fetch->empty()) return;
  work.receive.pull(0, sizeof expected);
  const auto seen = number_in<Number>(work.receive);
  if (seen == expected) return;
  *work.wrong_fetch =
      fmt::format("verify call {}: it fetched {:#x}, expected {:#x}", made, seen, expected);
}
// The sum of the calls before number `made`.
template <class Number>
Number sum_before(const Work& work, std::uint64_t made) {
  return static_cast<Number>(untouched<Number>() +
                             static_cast<Number>(made) * number_in<Number>(work.send));
}

// Nothing is fetched, so nothing can be compared behind a call: the proof has this kernel's calls
// one by one, and the memory at the end has the sum of all.
void play_accumulate(Work& work, std::span<std::uint64_t> ticks) {
  play_each(
      work, ticks,
      [&](std::uint64_t, std::uint64_t at) {
        work.mpi.accumulate(work.send.data(), work.share.bytes, 1, at);
      },
      [](std::uint64_t) {});
}
// The first number of the fetched ones is compared each time, and all numbers of the last call.
void play_get_accumulate(Work& work, std::span<std::uint64_t> ticks) {
  play_each(
      work, ticks,
      [&](std::uint64_t, std::uint64_t at) {
        work.mpi.get_accumulate(work.send.data(), work.receive.data(), work.share.bytes, 1, at);
      },
      [&](std::uint64_t made) {
        if (work.share.bytes > 0)
          compare_fetched(work, made, sum_before<std::uint32_t>(work, made));
      });
}
// The sum wraps at 2^64.
void play_fetch_and_add(Work& work, std::span<std::uint64_t> ticks) {
  play_each(
      work, ticks,
      [&](std::uint64_t, std::uint64_t at) {
        work.mpi.fetch_and_add(work.send.data(), work.receive.data(), 1, at);
      },
      [&](std::uint64_t made) {
        compare_fetched(work, made, sum_before<std::uint64_t>(work, made));
      });
}
// The send buffer has the target's first value and another one: calls exchange them in turn, so
// that each call's comparison holds.
void play_compare_and_swap(Work& work, std::span<std::uint64_t> ticks) {
  play_each(
      work, ticks,
      [&](std::uint64_t made, std::uint64_t at) {
        const std::byte* first = work.send.data();
        const std::byte* second = first + kNumber;
        if (made % 2 != 0) std::swap(first, second);
        work.mpi.compare_and_swap(second, first, work.receive.data(), 1, at);
      },
      [&](std::uint64_t made) {
        compare_fetched(work, made, number_in<std::uint64_t>(work.send, made % 2 * kNumber));
      });
}

// Lengths of the buffers: rank 0's operand, and the memory of rank 1 that it changes.
std::uint64_t message_of_first(const Share& share) { return share.rank == 0 ? share.bytes : 0; }
std::uint64_t message_of_second(const Share& share) { return share.rank == 1 ? share.bytes : 0; }
std::uint64_t a_number(const Share&) { return kNumber; }
std::uint64_t two_numbers_of_first(const Share& share) { return share.rank == 0 ? 2 * kNumber : 0; }
// The operand, equal for all calls of a size.
std::vector<Segment> sent_by_first(const Share& share) {
  return share.rank == 0 ? own_message(share) : nothing(share);
}
// Rank 1's own memory after the calls.
std::vector<Segment> at_target(const Share& share) {
  if (share.rank != 1) return {};
  return {{.bytes = share.bytes, .rank = 0}};
}
// And what rank 0 fetched: the memory before the last one.
std::vector<Segment> at_both(const Share& share) {
  return {{.bytes = share.bytes,
           .rank = 0,
           .state = share.rank == 1 ? Segment::State::kAfter : Segment::State::kBefore}};
}

// Completes the declaration of calls that change one memory.
constexpr Operation changing(Operation own) {
  own.exposed = Exposed::kReceive;
  own.stages = false;
  return own;
}
// Calls on one 64-bit number, whatever the task's sizes: it has none.
constexpr Operation of_a_number(Operation own) {
  own.number = true;
  own.receive_bytes = a_number;
  own.received = at_both;
  own.sizes = "8";
  return changing(own);
}

constexpr Operation kAccumulateLat = changing(
    {.name = "mpi.accumulate_lat",
     .summary = "MPI_Accumulate latency: 32-bit sums, until the flush says they are done there",
     .effect = Effect::kAddsWords,
     .send_bytes = message_of_first,
     .receive_bytes = message_of_second,
     .sent = sent_by_first,
     .received = at_target,
     .play = play_accumulate});
constexpr Operation kGetAccumulateLat =
    changing({.name = "mpi.get_accumulate_lat",
              .summary = "MPI_Get_accumulate latency: 32-bit sums, and the numbers before are here",
              .effect = Effect::kAddsWords,
              .send_bytes = message_of_first,
              .sent = sent_by_first,
              .received = at_both,
              .play = play_get_accumulate});
constexpr Operation kFetchAndAddLat =
    of_a_number({.name = "mpi.fetch_and_add_lat",
                 .summary = "MPI_Fetch_and_op latency: a 64-bit sum, and the number before is here",
                 .effect = Effect::kAddsNumbers,
                 .send_bytes = message_of_first,
                 .sent = sent_by_first,
                 .play = play_fetch_and_add});
constexpr Operation kCompareAndSwapLat = of_a_number(
    {.name = "mpi.compare_and_swap_lat",
     .summary = "MPI_Compare_and_swap latency of a 64-bit number, which each call exchanges",
     .effect = Effect::kSwaps,
     .send_bytes = two_numbers_of_first,
     .sent = [](const Share& share) -> std::vector<Segment> {
       if (share.rank != 0) return {};
       return {{.bytes = kNumber, .state = Segment::State::kUntouched},
               {.offset = kNumber, .bytes = kNumber}};
     },
     .play = play_compare_and_swap});

}  // namespace
}  // namespace railgauge::mpi

namespace railgauge {
extern const KernelRow kMpiAccumulateLat{mpi::kRowOf<mpi::kAccumulateLat>};
extern const KernelRow kMpiCompareAndSwapLat{mpi::kRowOf<mpi::kCompareAndSwapLat>};
extern const KernelRow kMpiFetchAndAddLat{mpi::kRowOf<mpi::kFetchAndAddLat>};
extern const KernelRow kMpiGetAccumulateLat{mpi::kRowOf<mpi::kGetAccumulateLat>};
}  // namespace railgauge

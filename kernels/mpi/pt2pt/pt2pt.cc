// Sends and receives between pairs of ranks: a ping-pong, and windows of messages in flight.
#include "kernels/mpi/operation.h"

namespace railgauge::mpi {
namespace {

// The pairs: rank r of the first half sends, rank r + n/2 receives. With two ranks, rank 0 sends.
bool sends(const Share& share) { return share.rank < share.ranks / 2; }
std::uint32_t peer(const Share& share) {
  return sends(share) ? share.rank + share.ranks / 2 : share.rank - share.ranks / 2;
}

// The clock is read once a round trip, so that reading it is not counted twice.
void ping_pong(Work& work, std::span<std::uint64_t> ticks) {
  const std::uint64_t bytes = work.share.bytes;
  const auto send = [&] {
    work.send.stage_out(0, bytes);
    work.mpi.send(work.send.data(), bytes, 1 - work.share.rank);
  };
  const auto receive = [&] {
    work.mpi.receive(work.receive.data(), bytes, 1 - work.share.rank);
    work.receive.stage_in(0, bytes);
  };
  if (work.share.rank != 0) {
    for (std::size_t i = 0; i < ticks.size(); ++i) {
      work.begin_sample();
      receive();
      send();
    }
    return;
  }
  std::uint64_t last = work.clock.ticks();
  for (std::uint64_t& tick : ticks) {
    work.begin_sample();
    send();
    receive();
    const std::uint64_t now = work.clock.ticks();
    tick = now - last;
    last = now;
  }
}

// Blocking sends and receives. A sample is half the time from before one send to before the next.
constexpr Operation kLat{
    .name = "mpi.lat",
    .summary = "MPI latency between two ranks, half a round trip, by ping-pong",
    .meaning = "half_rtt",
    .divisor = 2,
    .received = [](const Share& share) -> std::vector<Segment> {
      return {{.bytes = share.bytes, .rank = 1 - share.rank}};
    },
    .play = ping_pong};

// Begins and ends the requests of one window. Receives are posted first, so that a message that is
// on its way finds its buffer.
template <bool kBothWays>
void one_window(Work& work, bool first, std::uint32_t other) {
  const Share& share = work.share;
  std::size_t slot = 0;
  if (kBothWays || !first)
    for (std::uint64_t i = 0; i < share.window; ++i)
      work.mpi.begin_receive(slot++, work.receive.data() + share.place(i), share.bytes, other);
  if (kBothWays || first)
    for (std::uint64_t i = 0; i < share.window; ++i) {
      work.send.stage_out(share.place(i), share.bytes);
      work.mpi.begin_send(slot++, work.send.data() + share.place(i), share.bytes, other);
    }
  work.mpi.wait_all(slot);
  if (!kBothWays && first) return;
  for (std::uint64_t i = 0; i < share.window; ++i)
    work.receive.stage_in(share.place(i), share.bytes);
}

// The timed loop of the kernels with a window of messages in flight. The sender's window ends at
// the receiver's one-byte answer, as in OSU's programs: the completion of a send only means that
// its buffer is free. Transfers in both directions need no answer. kTogether starts each window of
// all pairs together, by a barrier outside of its time.
template <bool kBothWays, bool kTogether = false>
void play_windows(Work& work, std::span<std::uint64_t> ticks) {
  const bool first = sends(work.share);
  const std::uint32_t other = peer(work.share);
  char answer = 0;
  std::uint64_t last = work.clock.ticks();
  for (std::uint64_t& tick : ticks) {
    work.begin_sample();
    if constexpr (kTogether) {
      work.mpi.barrier();
      last = work.clock.ticks();
    }
    one_window<kBothWays>(work, first, other);
    if (!kBothWays && first) work.mpi.receive(&answer, sizeof answer, other);
    if (!kBothWays && !first) work.mpi.send(&answer, sizeof answer, other);
    const std::uint64_t now = work.clock.ticks();
    tick = now - last;
    last = now;
  }
}

// Both ranks send and receive a window at once. A sample is a window of rank 0 and counts both
// ways.
constexpr Operation kBibw{
    .name = "mpi.bibw",
    .summary = "MPI bandwidth between two ranks, both ways at once",
    .figure = Figure::kBandwidth,
    .meaning = "bidirectional_sum",
    .ways = 2,
    .windowed = true,
    .sizes = "64KiB,4MiB",
    .send_bytes = a_window,
    .receive_bytes = a_window,
    .sent = own_window,
    .received = [](const Share& share) { return window_of(share, peer(share)); },
    .play = play_windows<true>};

// Completes the declaration of a kernel whose windows go one way.
constexpr Operation one_way(Operation own) {
  own.meaning = "unidirectional";
  own.windowed = true;
  own.send_bytes = [](const Share& share) { return sends(share) ? a_window(share) : 0; };
  own.receive_bytes = [](const Share& share) { return sends(share) ? 0 : a_window(share); };
  own.sent = [](const Share& share) { return sends(share) ? own_window(share) : nothing(share); };
  own.received = [](const Share& share) {
    return sends(share) ? nothing(share) : window_of(share, peer(share));
  };
  own.play = play_windows<false>;
  return own;
}

// Windows of sends that do not wait, each answered by one byte whose way back is inside the time,
// as in OSU's measurement. A sample is a window.
constexpr Operation kBw =
    one_way({.name = "mpi.bw",
             .summary = "MPI bandwidth between two ranks, one way, windows of non-blocking sends",
             .figure = Figure::kBandwidth,
             .sizes = "64KiB,4MiB"});

// Several pairs at once. A sample is the mean of the pairs' times of a window and counts all pairs'
// messages, so that the rate over all samples is that of osu_mbw_mr: all messages over the mean of
// the pairs' whole times. Pairs start each window together, as there.
constexpr Operation kRate = [] {
  Operation own = one_way(
      {.name = "mpi.rate",
       .summary = "MPI messages per second of half of the ranks to the other half, all at once",
       .figure = Figure::kRate,
       .timed = Timed::kFirstHalf,
       .pair = false});
  own.play = play_windows<false, true>;
  return own;
}();

}  // namespace
}  // namespace railgauge::mpi

namespace railgauge {
extern const KernelRow kMpiBibw{mpi::kRowOf<mpi::kBibw>};
extern const KernelRow kMpiBw{mpi::kRowOf<mpi::kBw>};
extern const KernelRow kMpiLat{mpi::kRowOf<mpi::kLat>};
extern const KernelRow kMpiRate{mpi::kRowOf<mpi::kRate>};
}  // namespace railgauge

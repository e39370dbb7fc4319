// A rank writes to or reads from the exposed memory of another one, which only waits. Each sample
// is `calls` calls and the flush that confirms them at the target. A staged one-sided call reaches
// only the target's host memory, so an empty message makes the target copy, and another one
// answers.
#include "kernels/mpi/pairs.h"

namespace railgauge::mpi {
namespace {

// A staged target's part of each sample.
template <bool kPut>
void serve_staged(Work& work, std::size_t samples) {
  const Share& share = work.share;
  const std::uint32_t other = partner(share);
  char notice = 0;
  for (std::size_t sample = 0; sample < samples; ++sample) {
    work.begin_sample();
    work.mpi.receive(&notice, 0, other);
    if constexpr (kPut) work.mpi.sync();
    for (std::uint64_t i = 0; i < share.window; ++i)
      if constexpr (kPut)
        work.receive.stage_in(share.place(i), share.bytes);
      else
        work.send.stage_out(share.place(i), share.bytes);
    if constexpr (!kPut) work.mpi.sync();
    work.mpi.send(&notice, 0, other);
  }
}

// Asks a staged target to copy and waits for its answer; nothing where the target is not staged.
void have_target_copy(Work& work) {
  char notice = 0;
  if (!work.target_staged) return;
  work.mpi.send(&notice, 0, partner(work.share));
  work.mpi.receive(&notice, 0, partner(work.share));
}

// Opens and closes an epoch on the rank that calls.
void open_epoch(Work& work, std::uint32_t other) {
  if (work.sync == Sync::kFence) return work.mpi.fence();
  if (work.sync == Sync::kLock) return work.mpi.lock(other);
  work.mpi.start_access(other);
}
void close_epoch(Work& work, std::uint32_t other) {
  if (work.sync == Sync::kFence) return work.mpi.fence();
  if (work.sync == Sync::kLock) return work.mpi.unlock(other);
  work.mpi.complete_access();
}
// The other rank's part of the samples' epochs; a lock needs none.
void serve_epochs(Work& work, std::uint32_t other, std::size_t samples) {
  for (std::size_t sample = 0; sample < samples; ++sample) {
    work.begin_sample();
    if (work.sync == Sync::kPostStart) {
      work.mpi.grant(other);
      work.mpi.await_granted();
    } else if (work.sync == Sync::kFence) {
      work.mpi.fence();
      work.mpi.fence();
    }
  }
}
// Each sample is an epoch of its own: from before its opening until its end, which confirms the
// calls. The target opens its side meanwhile, within the time where the calling rank waits for it.
template <bool kPut>
void play_epochs(Work& work, std::span<std::uint64_t> ticks) {
  const Share& share = work.share;
  const std::uint32_t other = partner(share);
  if (!is_first_half(share)) return serve_epochs(work, other, ticks.size());
  std::uint64_t last = work.clock.ticks();
  for (std::uint64_t& tick : ticks) {
    work.begin_sample();
    const std::uint64_t target = (kPut ? work.send : work.receive).place();
    open_epoch(work, other);
    for (std::uint64_t i = 0; i < share.window; ++i) {
      const std::uint64_t at = share.place(i);
      if constexpr (kPut)
        work.mpi.put(work.send.data() + at, share.bytes, other, target + at);
      else
        work.mpi.get(work.receive.data() + at, share.bytes, other, target + at);
    }
    close_epoch(work, other);
    const std::uint64_t now = work.clock.ticks();
    tick = now - last;
    last = now;
  }
}

template <bool kPut>
void play_one_sided(Work& work, std::span<std::uint64_t> ticks) {
  if (work.sync != Sync::kFlush) return play_epochs<kPut>(work, ticks);
  const Share& share = work.share;
  const std::uint32_t other = partner(share);
  if (!is_first_half(share)) {
    if (work.target_staged) serve_staged<kPut>(work, ticks.size());
    return;
  }
  std::uint64_t last = work.clock.ticks();
  for (std::uint64_t& tick : ticks) {
    work.begin_sample();
    const std::uint64_t target = (kPut ? work.send : work.receive).place();
    if constexpr (!kPut) have_target_copy(work);
    for (std::uint64_t i = 0; i < share.window; ++i) {
      const std::uint64_t at = share.place(i);
      if constexpr (kPut) {
        work.send.stage_out(at, share.bytes);
        work.mpi.put(work.send.data() + at, share.bytes, other, target + at);
      } else {
        work.mpi.get(work.receive.data() + at, share.bytes, other, target + at);
      }
    }
    work.mpi.flush(other);
    if constexpr (kPut)
      have_target_copy(work);
    else
      for (std::uint64_t i = 0; i < share.window; ++i)
        work.receive.stage_in(share.place(i), share.bytes);
    const std::uint64_t now = work.clock.ticks();
    tick = now - last;
    last = now;
  }
}

// Buffers and contents by the direction: the first half has the data (kFirstHas), the other half
// gets it, or the other way round.
template <bool kFirstHas>
bool has_data(const Share& share) {
  return is_first_half(share) == kFirstHas;
}
// A window's memory on the side that has the data; nothing on the other one.
template <bool kFirstHas>
std::uint64_t bytes_of(const Share& share) {
  return has_data<kFirstHas>(share) ? a_window(share) : 0;
}
template <bool kFirstHas>
std::vector<Segment> sent_of(const Share& share) {
  return has_data<kFirstHas>(share) ? own_window(share) : nothing(share);
}
template <bool kFirstHas>
std::vector<Segment> received_from(const Share& share) {
  return has_data<kFirstHas>(share) ? nothing(share) : window_of(share, partner(share));
}

// A kernel of put or get. Windowed: many calls and one flush, for bandwidth; else one call and its
// flush, the cost until the data is at its place.
template <bool kPut>
constexpr Operation one_sided_operation(std::string_view name, std::string_view summary,
                                        bool windowed, bool pairs = false) {
  Operation own{.name = name,
                .summary = summary,
                .figure = windowed ? Figure::kBandwidth : Figure::kLatency,
                .meaning = windowed ? "unidirectional" : "completion",
                .windowed = windowed,
                .exposed = kPut ? Exposed::kReceive : Exposed::kSend,
                .sizes = windowed ? "64KiB,4MiB" : "8,4KiB",
                .send_bytes = bytes_of<kPut>,
                .receive_bytes = bytes_of<!kPut>,
                .sent = sent_of<kPut>,
                .received = received_from<kPut>,
                .play = play_one_sided<kPut>};
  own.syncs = !pairs;
  if (!pairs) own.revision = 2;
  if (!pairs) return own;
  // A sample is the mean of the pairs' times.
  own.timed = Timed::kFirstHalf;
  own.pair = false;
  if (windowed) own.many = pairs_of;
  if (windowed) own.meaning = "sum_of_pairs";
  return own;
}

// Two directions, each once for latency and once for bandwidth; gets also of all pairs at once.
constexpr Operation kGetBw = one_sided_operation<false>(
    "mpi.get_bw", "MPI_Get bandwidth: windows of calls, each ended by a flush", true);
constexpr Operation kGetLat = one_sided_operation<false>(
    "mpi.get_lat", "MPI_Get latency: one call and the flush that says the data is here", false);
constexpr Operation kGetMultiBw = one_sided_operation<false>(
    "mpi.get_multi_bw", "MPI_Get bandwidth of half of the ranks from the other half, all at once",
    true, true);
constexpr Operation kGetMultiLat = one_sided_operation<false>(
    "mpi.get_multi_lat", "MPI_Get latency of half of the ranks to the other half, all at once",
    false, true);
constexpr Operation kPutBw = one_sided_operation<true>(
    "mpi.put_bw", "MPI_Put bandwidth: windows of calls, each ended by a flush", true);
constexpr Operation kPutLat = one_sided_operation<true>(
    "mpi.put_lat", "MPI_Put latency: one call and the flush that says it is done there", false);

// Both ranks put at once. Windows begin together, and one is over for a rank when its own messages
// are complete at the other one; a sample is that of the slower rank and counts both ways.
void play_both(Work& work, std::span<std::uint64_t> ticks) {
  const Share& share = work.share;
  const std::uint32_t other = partner(share);
  for (std::uint64_t& tick : ticks) {
    work.begin_sample();
    work.mpi.barrier();
    const std::uint64_t began = work.clock.ticks();
    // Both ranks grant and have access at once.
    if (work.sync == Sync::kPostStart) work.mpi.grant(other);
    if (work.sync != Sync::kFlush) open_epoch(work, other);
    for (std::uint64_t i = 0; i < share.window; ++i) {
      const std::uint64_t at = share.place(i);
      work.mpi.put(work.send.data() + at, share.bytes, other, work.send.place() + at);
    }
    if (work.sync == Sync::kFlush)
      work.mpi.flush(other);
    else
      close_epoch(work, other);
    if (work.sync == Sync::kPostStart) work.mpi.await_granted();
    tick = work.clock.ticks() - began;
  }
}
constexpr Operation kPutBibw{
    .name = "mpi.put_bibw",
    .summary = "MPI_Put bandwidth between two ranks, both ways at once",
    .figure = Figure::kBandwidth,
    .meaning = "bidirectional_sum",
    .timed = Timed::kAll,
    .ways = 2,
    .windowed = true,
    .exposed = Exposed::kReceive,
    .stages = false,
    .syncs = true,
    .sizes = "64KiB,4MiB",
    .send_bytes = a_window,
    .receive_bytes = a_window,
    .sent = own_window,
    .received = [](const Share& share) { return window_of(share, partner(share)); },
    .play = play_both};

}  // namespace
}  // namespace railgauge::mpi

namespace railgauge {
extern const KernelRow kMpiGetBw{mpi::kRowOf<mpi::kGetBw>};
extern const KernelRow kMpiGetLat{mpi::kRowOf<mpi::kGetLat>};
extern const KernelRow kMpiGetMultiBw{mpi::kRowOf<mpi::kGetMultiBw>};
extern const KernelRow kMpiGetMultiLat{mpi::kRowOf<mpi::kGetMultiLat>};
extern const KernelRow kMpiPutBibw{mpi::kRowOf<mpi::kPutBibw>};
extern const KernelRow kMpiPutBw{mpi::kRowOf<mpi::kPutBw>};
extern const KernelRow kMpiPutLat{mpi::kRowOf<mpi::kPutLat>};
}  // namespace railgauge

// Rank 0 writes to or reads from the exposed memory of rank 1, which only waits. Each sample is
// `calls` calls and the flush that confirms them at the target. A staged one-sided call reaches
// only the target's host memory, so an empty message makes the target copy, and another one
// answers.
#include "kernels/mpi/operation.h"

namespace railgauge::mpi {
namespace {

// A staged target's part of each sample.
template <bool kPut>
void serve_staged(Work& work, std::size_t samples) {
  const Share& share = work.share;
  char notice = 0;
  for (std::size_t sample = 0; sample < samples; ++sample) {
    work.begin_sample();
    work.mpi.receive(&notice, 0, 0);
    if constexpr (kPut) work.mpi.sync();
    for (std::uint64_t i = 0; i < share.window; ++i)
      if constexpr (kPut)
        work.receive.stage_in(share.place(i), share.bytes);
      else
        work.send.stage_out(share.place(i), share.bytes);
    if constexpr (!kPut) work.mpi.sync();
    work.mpi.send(&notice, 0, 0);
  }
}

// Asks a staged target to copy and waits for its answer; nothing where the target is not staged.
void have_target_copy(Work& work) {
  char notice = 0;
  if (!work.target_staged) return;
  work.mpi.send(&notice, 0, 1);
  work.mpi.receive(&notice, 0, 1);
}

template <bool kPut>
void play_one_sided(Work& work, std::span<std::uint64_t> ticks) {
  const Share& share = work.share;
  if (share.rank != 0) {
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
        work.mpi.put(work.send.data() + at, share.bytes, 1, target + at);
      } else {
        work.mpi.get(work.receive.data() + at, share.bytes, 1, target + at);
      }
    }
    work.mpi.flush(1);
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

// Buffers and contents by the direction: rank kFrom has the data, the other one gets it.
template <std::uint32_t kFrom>
std::uint64_t bytes_of(const Share& share) {
  return share.rank == kFrom ? a_window(share) : 0;
}
template <std::uint32_t kFrom>
std::vector<Segment> sent_of(const Share& share) {
  return share.rank == kFrom ? own_window(share) : nothing(share);
}
template <std::uint32_t kFrom>
std::vector<Segment> received_from(const Share& share) {
  return share.rank == 1 - kFrom ? window_of(share, kFrom) : nothing(share);
}

// A kernel of put or get. Windowed: many calls and one flush, for bandwidth; else one call and its
// flush, the cost until the data is at its place.
template <bool kPut>
constexpr Operation one_sided_operation(std::string_view name, std::string_view summary,
                                        bool windowed) {
  constexpr std::uint32_t kFrom = kPut ? 0 : 1;
  return {.name = name,
          .summary = summary,
          .figure = windowed ? Figure::kBandwidth : Figure::kLatency,
          .meaning = windowed ? "unidirectional" : "completion",
          .windowed = windowed,
          .exposed = kPut ? Exposed::kReceive : Exposed::kSend,
          .sizes = windowed ? "64KiB,4MiB" : "8,4KiB",
          .send_bytes = bytes_of<kFrom>,
          .receive_bytes = bytes_of<1 - kFrom>,
          .sent = sent_of<kFrom>,
          .received = received_from<kFrom>,
          .play = play_one_sided<kPut>};
}

// The four kernels: two directions, each once for latency and once for bandwidth.
constexpr Operation kGetBw = one_sided_operation<false>(
    "mpi.get_bw", "MPI_Get bandwidth: windows of calls, each ended by a flush", true);
constexpr Operation kGetLat = one_sided_operation<false>(
    "mpi.get_lat", "MPI_Get latency: one call and the flush that says the data is here", false);
constexpr Operation kPutBw = one_sided_operation<true>(
    "mpi.put_bw", "MPI_Put bandwidth: windows of calls, each ended by a flush", true);
constexpr Operation kPutLat = one_sided_operation<true>(
    "mpi.put_lat", "MPI_Put latency: one call and the flush that says it is done there", false);

}  // namespace
}  // namespace railgauge::mpi

namespace railgauge {
extern const KernelRow kMpiGetBw{mpi::kRowOf<mpi::kGetBw>};
extern const KernelRow kMpiGetLat{mpi::kRowOf<mpi::kGetLat>};
extern const KernelRow kMpiPutBw{mpi::kRowOf<mpi::kPutBw>};
extern const KernelRow kMpiPutLat{mpi::kRowOf<mpi::kPutLat>};
}  // namespace railgauge

// Rank 0 writes to or reads from rank 1's exposed memory, which only waits. Each sample is `calls`
// calls and the flush that says they are done at the target.
#pragma once

#include "kernels/mpi/operation.h"

namespace railgauge::mpi {

template <bool kPut>
void play_one_sided(Work& work, std::span<std::uint64_t> ticks) {
  const Share& share = work.share;
  if (share.rank != 0) return;
  std::uint64_t last = work.clock.ticks();
  for (std::uint64_t& tick : ticks) {
    for (std::uint64_t i = 0; i < share.window; ++i) {
      const std::uint64_t at = share.place(i);
      if constexpr (kPut) {
        work.send.stage_out(at, share.bytes);
        work.mpi.put(work.send.data() + at, share.bytes, 1, at);
      } else {
        work.mpi.get(work.receive.data() + at, share.bytes, 1, at);
      }
    }
    work.mpi.flush(1);
    if constexpr (!kPut)
      for (std::uint64_t i = 0; i < share.window; ++i)
        work.receive.stage_in(share.place(i), share.bytes);
    const std::uint64_t now = work.clock.ticks();
    tick = now - last;
    last = now;
  }
}

// Put brings rank 0's window to rank 1, get rank 1's to rank 0.
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

}  // namespace railgauge::mpi

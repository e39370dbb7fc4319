// Windows of messages between pairs: many in flight, then one short answer that says they came.
#pragma once

#include "kernels/mpi/operation.h"

namespace railgauge::mpi {

// `sends`, `receives`: the calls of this rank with `peer`. In a pair, the rank that only sends
// receives the answer alone.
struct WindowRole {
  std::uint32_t peer = 0;
  bool sends = false;
  bool receives = false;
};
void play_windows(Work& work, const WindowRole& role, std::span<std::uint64_t> ticks);

}  // namespace railgauge::mpi

// Windows of messages between pairs: many in flight, then one short answer that says they came.
#pragma once

#include "kernels/mpi/operation.h"

namespace railgauge::mpi {

// One rank's part of a window: the other rank, and whether this one sends, receives, or does both.
struct WindowRole {
  std::uint32_t peer = 0;
  bool sends = false;
  bool receives = false;
};
// One tick count for each window: from before its first call to after the answer.
void play_windows(Work& work, const WindowRole& role, std::span<std::uint64_t> ticks);

}  // namespace railgauge::mpi

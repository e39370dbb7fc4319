// Windows of messages between pairs: many in flight, then one short answer that says they came.
#pragma once

#include "kernels/mpi/operation.h"

namespace railgauge::mpi {

// `sends`, `receives`: what this rank does with `peer`. Of a pair the one that sends only gets the
// answer.
struct WindowRole {
  std::uint32_t peer = 0;
  bool sends = false;
  bool receives = false;
};
void play_windows(Work& work, const WindowRole& role, std::span<std::uint64_t> ticks);

}  // namespace railgauge::mpi

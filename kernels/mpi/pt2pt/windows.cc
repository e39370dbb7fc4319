// The timed loop of all kernels that keep a window of messages in flight.
#include "kernels/mpi/pt2pt/windows.h"

namespace railgauge::mpi {
namespace {

// Begins and ends the requests of one window. Receives are posted first, so that a message that is
// on its way finds its buffer.
void one_window(Work& work, const WindowRole& role) {
  const Share& share = work.share;
  std::size_t slot = 0;
  if (role.receives)
    for (std::uint64_t i = 0; i < share.window; ++i)
      work.mpi.begin_receive(slot++, work.receive.data() + share.place(i), share.bytes, role.peer);
  if (role.sends)
    for (std::uint64_t i = 0; i < share.window; ++i) {
      work.send.stage_out(share.place(i), share.bytes);
      work.mpi.begin_send(slot++, work.send.data() + share.place(i), share.bytes, role.peer);
    }
  work.mpi.wait_all(slot);
  if (!role.receives) return;
  for (std::uint64_t i = 0; i < share.window; ++i)
    work.receive.stage_in(share.place(i), share.bytes);
}

}  // namespace

// A window ends for its sender when the receiver's answer of one byte is there, as OSU's programs
// have it: the completion of a send says only that its buffer is free. Both ways at once need no
// answer.
void play_windows(Work& work, const WindowRole& role, std::span<std::uint64_t> ticks) {
  char answer = 0;
  std::uint64_t last = work.clock.ticks();
  for (std::uint64_t& tick : ticks) {
    one_window(work, role);
    if (!role.receives) work.mpi.receive(&answer, sizeof answer, role.peer);
    if (!role.sends) work.mpi.send(&answer, sizeof answer, role.peer);
    const std::uint64_t now = work.clock.ticks();
    tick = now - last;
    last = now;
  }
}

}  // namespace railgauge::mpi

// Latency of blocking sends and receives: a ping-pong, half a round trip. A sample is half the time
// from before one send to before the next.
#include "kernels/mpi/operation.h"

namespace railgauge::mpi {
namespace {

// The clock is read once a round trip, so that reading it is not counted twice.
void play(Work& work, std::span<std::uint64_t> ticks) {
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
      receive();
      send();
    }
    return;
  }
  std::uint64_t last = work.clock.ticks();
  for (std::uint64_t& tick : ticks) {
    send();
    receive();
    const std::uint64_t now = work.clock.ticks();
    tick = now - last;
    last = now;
  }
}

constexpr Operation kOperation{
    .name = "mpi.lat",
    .summary = "MPI latency between two ranks, half a round trip, by ping-pong",
    .meaning = "half_rtt",
    .divisor = 2,
    .send_bytes = one_message,
    .receive_bytes = one_message,
    .sent = own_message,
    .received = [](const Share& share) -> std::vector<Segment> {
      return {{.bytes = share.bytes, .rank = 1 - share.rank}};
    },
    .play = play};

}  // namespace
}  // namespace railgauge::mpi

namespace railgauge {
extern const KernelRow kMpiLat;
const KernelRow kMpiLat{[] { return mpi::info_of(mpi::kOperation); },
                        [] { return mpi::make_kernel(mpi::kOperation); }};
}  // namespace railgauge

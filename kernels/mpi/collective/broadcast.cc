// The root's message to all; the slowest rank's time counts.
#include "kernels/mpi/operation.h"

namespace railgauge::mpi {
namespace {

// The root's buffer is the send buffer, the others' the receive buffer: MPI_Bcast has one argument.
constexpr Operation kOperation{
    .name = "mpi.broadcast",
    .summary = "MPI_Bcast: every rank gets the message of one",
    .meaning = "completion",
    .timed = Timed::kAll,
    .rooted = true,
    .pair = false,
    .sizes = "8,64KiB,1MiB",
    .send_bytes = [](const Share& share) { return share.rank == share.root ? share.bytes : 0; },
    .receive_bytes = [](const Share& share) { return share.rank == share.root ? 0 : share.bytes; },
    .sent = [](const Share& share) -> std::vector<Segment> {
      return share.rank == share.root ? own_message(share) : nothing(share);
    },
    .received = [](const Share& share) -> std::vector<Segment> {
      if (share.rank == share.root) return {};
      return {{.bytes = share.bytes, .rank = share.root}};
    },
    .play =
        [](Work& work, std::span<std::uint64_t> ticks) {
          const Share& share = work.share;
          const bool sends = share.rank == share.root;
          play_collective(work, ticks, [&] {
            if (sends) work.send.stage_out(0, share.bytes);
            work.mpi.broadcast(sends ? work.send.data() : work.receive.data(), share.bytes,
                               share.root);
            if (!sends) work.receive.stage_in(0, share.bytes);
          });
        }};

}  // namespace
}  // namespace railgauge::mpi

namespace railgauge {
extern const KernelRow kMpiBroadcast;
const KernelRow kMpiBroadcast{[] { return mpi::info_of(mpi::kOperation); },
                              [] { return mpi::make_kernel(mpi::kOperation); }};
}  // namespace railgauge

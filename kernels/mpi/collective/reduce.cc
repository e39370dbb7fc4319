// The sum of all ranks' messages at the root.
#include "kernels/mpi/operation.h"

namespace railgauge::mpi {
namespace {

// The receive buffer counts at the root alone (MPI 3.1, section 5.9).
constexpr Operation kOperation{
    .name = "mpi.reduce",
    .summary = "MPI_Reduce: one rank gets the sum of all, 32-bit floats",
    .meaning = "completion",
    .timed = Timed::kAll,
    .rooted = true,
    .reduces = true,
    .pair = false,
    .sizes = "8,64KiB,1MiB",
    .send_bytes = one_message,
    .receive_bytes = [](const Share& share) { return share.rank == share.root ? share.bytes : 0; },
    .sent = own_message,
    .received = [](const Share& share) -> std::vector<Segment> {
      return share.rank == share.root ? own_message(share) : nothing(share);
    },
    .play =
        [](Work& work, std::span<std::uint64_t> ticks) {
          const Share& share = work.share;
          play_collective(work, ticks, [&] {
            work.send.stage_out(0, share.bytes);
            work.mpi.reduce(work.send.data(), work.receive.data(), share.floats(), share.root);
            if (share.rank == share.root) work.receive.stage_in(0, share.bytes);
          });
        }};

}  // namespace
}  // namespace railgauge::mpi

namespace railgauge {
extern const KernelRow kMpiReduce;
const KernelRow kMpiReduce{[] { return mpi::info_of(mpi::kOperation); },
                           [] { return mpi::make_kernel(mpi::kOperation); }};
}  // namespace railgauge

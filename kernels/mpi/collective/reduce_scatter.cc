// The sum of all ranks' messages, a part of it at each; the size is one whole message.
#include "kernels/mpi/parts.h"

namespace railgauge::mpi {
namespace {

// Parts may differ by one element where the ranks do not divide the message (parts.h).
constexpr Operation kOperation{
    .name = "mpi.reduce_scatter",
    .summary = "MPI_Reduce_scatter: every rank gets its part of the sum, 32-bit floats",
    .meaning = "completion",
    .timed = Timed::kAll,
    .reduces = true,
    .pair = false,
    .sizes = "8,64KiB,1MiB",
    .send_bytes = one_message,
    .receive_bytes = [](const Share& share) { return part_of(share).bytes; },
    .sent = own_message,
    .received = [](const Share& share) -> std::vector<Segment> {
      const Part part = part_of(share);
      return {{.bytes = part.bytes, .rank = share.rank, .block = part.first_float}};
    },
    .play =
        [](Work& work, std::span<std::uint64_t> ticks) {
          const Share& share = work.share;
          const std::uint64_t mine = part_of(share).bytes;
          play_collective(work, ticks, [&] {
            work.send.stage_out(0, share.bytes);
            work.mpi.reduce_scatter(work.send.data(), work.receive.data(), work.floats_of_rank);
            work.receive.stage_in(0, mine);
          });
        }};

}  // namespace
}  // namespace railgauge::mpi

namespace railgauge {
extern const KernelRow kMpiReduceScatter;
const KernelRow kMpiReduceScatter{[] { return mpi::info_of(mpi::kOperation); },
                                  [] { return mpi::make_kernel(mpi::kOperation); }};
}  // namespace railgauge

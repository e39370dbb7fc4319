// Every rank's message to all; the size is one rank's message.
#include "kernels/mpi/operation.h"

namespace railgauge::mpi {
namespace {

// The receive buffer has one message of each rank, in rank order (MPI 3.1, section 5.7).
constexpr Operation kOperation{
    .name = "mpi.all_gather",
    .summary = "MPI_Allgather: every rank gets the messages of all",
    .meaning = "completion",
    .timed = Timed::kAll,

    .pair = false,
    .sizes = "8,64KiB,1MiB",
    .send_bytes = one_message,
    .receive_bytes = a_message_for_each,
    .sent = own_message,
    .received = [](const Share& share) -> std::vector<Segment> {
      std::vector<Segment> all;
      for (std::uint32_t rank = 0; rank < share.ranks; ++rank)
        all.push_back({.offset = rank * share.bytes, .bytes = share.bytes, .rank = rank});
      return all;
    },
    .play =
        [](Work& work, std::span<std::uint64_t> ticks) {
          const Share& share = work.share;
          play_collective(work, ticks, [&] {
            work.send.stage_out(0, share.bytes);
            work.mpi.all_gather(work.send.data(), share.bytes, work.receive.data());
            work.receive.stage_in(0, share.bytes * share.ranks);
          });
        }};

}  // namespace
}  // namespace railgauge::mpi

namespace railgauge {
extern const KernelRow kMpiAllGather;
const KernelRow kMpiAllGather{[] { return mpi::info_of(mpi::kOperation); },
                              [] { return mpi::make_kernel(mpi::kOperation); }};
}  // namespace railgauge

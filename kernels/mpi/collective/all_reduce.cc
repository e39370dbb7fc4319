// The sum of all ranks' messages at every rank.
#include "kernels/mpi/operation.h"

namespace railgauge::mpi {
namespace {

// MPI_SUM of floats; contents are chosen so that every order of adding is exact (data.cc).
constexpr Operation kOperation{
    .name = "mpi.all_reduce",
    .summary = "MPI_Allreduce: every rank gets the sum of all, 32-bit floats",
    .meaning = "completion",
    .timed = Timed::kAll,
    .reduces = true,
    .pair = false,
    .sizes = "8,64KiB,1MiB",
    .send_bytes = one_message,
    .receive_bytes = one_message,
    .sent = own_message,
    .received = own_message,
    .play = [](Work& work, std::span<std::uint64_t> ticks) {
      const Share& share = work.share;
      play_collective(work, ticks, [&] {
        work.send.stage_out(0, share.bytes);
        work.mpi.all_reduce(work.send.data(), work.receive.data(), share.floats());
        work.receive.stage_in(0, share.bytes);
      });
    }};

}  // namespace
}  // namespace railgauge::mpi

namespace railgauge {
extern const KernelRow kMpiAllReduce;
const KernelRow kMpiAllReduce{[] { return mpi::info_of(mpi::kOperation); },
                              [] { return mpi::make_kernel(mpi::kOperation); }};
}  // namespace railgauge

// A barrier, from behind another one: the slowest rank's time counts.
#include "kernels/mpi/operation.h"

namespace railgauge::mpi {
namespace {

// The barrier in front of each sample starts the ranks together; the second one is measured.
constexpr Operation kOperation{.name = "mpi.barrier",
                               .summary = "MPI_Barrier of all ranks",
                               .meaning = "completion",
                               .timed = Timed::kAll,
                               .sized = false,
                               .pair = false,
                               .sizes = "",
                               .send_bytes = no_bytes,
                               .receive_bytes = no_bytes,
                               .sent = nothing,
                               .received = nothing,
                               .play = [](Work& work, std::span<std::uint64_t> ticks) {
                                 play_collective(work, ticks, [&] { work.mpi.barrier(); });
                               }};

}  // namespace
}  // namespace railgauge::mpi

namespace railgauge {
extern const KernelRow kMpiBarrier;
const KernelRow kMpiBarrier{[] { return mpi::info_of(mpi::kOperation); },
                            [] { return mpi::make_kernel(mpi::kOperation); }};
}  // namespace railgauge

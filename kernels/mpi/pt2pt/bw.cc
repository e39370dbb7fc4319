// Bandwidth one way: windows of sends that do not wait, each answered by one byte whose way back is
// inside the time, as in OSU's measurement. A sample is a window.
#include "kernels/mpi/pt2pt/windows.h"

namespace railgauge::mpi {
namespace {

constexpr Operation kOperation{
    .name = "mpi.bw",
    .summary = "MPI bandwidth between two ranks, one way, windows of non-blocking sends",
    .figure = Figure::kBandwidth,
    .meaning = "unidirectional",
    .windowed = true,
    .sizes = "64KiB,4MiB",
    .send_bytes = [](const Share& share) { return share.rank == 0 ? a_window(share) : 0; },
    .receive_bytes = [](const Share& share) { return share.rank == 1 ? a_window(share) : 0; },
    .sent = [](const Share& share) -> std::vector<Segment> {
      return share.rank == 0 ? own_window(share) : nothing(share);
    },
    .received = [](const Share& share) -> std::vector<Segment> {
      return share.rank == 1 ? window_of(share, 0) : nothing(share);
    },
    .play =
        [](Work& work, std::span<std::uint64_t> ticks) {
          const bool sends = work.share.rank == 0;
          play_windows(work, {.peer = 1 - work.share.rank, .sends = sends, .receives = !sends},
                       ticks);
        }};

}  // namespace
}  // namespace railgauge::mpi

namespace railgauge {
extern const KernelRow kMpiBw;
const KernelRow kMpiBw{[] { return mpi::info_of(mpi::kOperation); },
                       [] { return mpi::make_kernel(mpi::kOperation); }};
}  // namespace railgauge

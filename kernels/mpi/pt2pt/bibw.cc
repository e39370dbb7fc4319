// Bandwidth both ways at once: both ranks send and receive a window. A sample is a window of rank 0
// and counts both ways.
#include "kernels/mpi/pt2pt/windows.h"

namespace railgauge::mpi {
namespace {

constexpr Operation kOperation{
    .name = "mpi.bibw",
    .summary = "MPI bandwidth between two ranks, both ways at once",
    .figure = Figure::kBandwidth,
    .meaning = "bidirectional_sum",
    .ways = 2,
    .windowed = true,
    .sizes = "64KiB,4MiB",
    .send_bytes = a_window,
    .receive_bytes = a_window,
    .sent = own_window,
    .received = [](const Share& share) { return window_of(share, 1 - share.rank); },
    .play =
        [](Work& work, std::span<std::uint64_t> ticks) {
          play_windows(work, {.peer = 1 - work.share.rank, .sends = true, .receives = true}, ticks);
        }};

}  // namespace
}  // namespace railgauge::mpi

namespace railgauge {
extern const KernelRow kMpiBibw;
const KernelRow kMpiBibw{[] { return mpi::info_of(mpi::kOperation); },
                         [] { return mpi::make_kernel(mpi::kOperation); }};
}  // namespace railgauge

// Message rate of several pairs at once: rank r of the first half sends windows to rank r + n/2. A
// sample is the slowest pair's time of a window, and counts all pairs' messages.
#include "kernels/mpi/pt2pt/windows.h"

namespace railgauge::mpi {
namespace {

// The pairs: the first half sends, the second half receives.
bool sends(const Share& share) { return share.rank < share.ranks / 2; }
std::uint32_t peer(const Share& share) {
  return sends(share) ? share.rank + share.ranks / 2 : share.rank - share.ranks / 2;
}

constexpr Operation kOperation{
    .name = "mpi.rate",
    .summary = "MPI messages per second of half of the ranks to the other half, all at once",
    .figure = Figure::kRate,
    .meaning = "unidirectional",
    .timed = Timed::kFirstHalf,
    .windowed = true,
    .pair = false,
    .sizes = "8,4KiB",
    .send_bytes = [](const Share& share) { return sends(share) ? a_window(share) : 0; },
    .receive_bytes = [](const Share& share) { return sends(share) ? 0 : a_window(share); },
    .sent = [](const Share& share) -> std::vector<Segment> {
      return sends(share) ? own_window(share) : nothing(share);
    },
    .received = [](const Share& share) -> std::vector<Segment> {
      return sends(share) ? nothing(share) : window_of(share, peer(share));
    },
    .play =
        [](Work& work, std::span<std::uint64_t> ticks) {
          const bool first = sends(work.share);
          play_windows(work, {.peer = peer(work.share), .sends = first, .receives = !first}, ticks);
        }};

}  // namespace
}  // namespace railgauge::mpi

namespace railgauge {
extern const KernelRow kMpiRate;
const KernelRow kMpiRate{[] { return mpi::info_of(mpi::kOperation); },
                         [] { return mpi::make_kernel(mpi::kOperation); }};
}  // namespace railgauge

// Windows of gets, each ended by a flush. A sample is a window.
#include "kernels/mpi/one_sided/one_sided.h"

namespace railgauge::mpi {
namespace {

constexpr Operation kOperation{
    .name = "mpi.get_bw",
    .summary = "MPI_Get bandwidth: windows of calls, each ended by a flush",
    .figure = Figure::kBandwidth,
    .meaning = "unidirectional",
    .windowed = true,
    .exposed = Exposed::kSend,
    .sizes = "64KiB,4MiB",
    .send_bytes = bytes_of<1>,
    .receive_bytes = bytes_of<0>,
    .sent = sent_of<1>,
    .received = received_from<1>,
    .play = play_one_sided<false>};

}  // namespace
}  // namespace railgauge::mpi

namespace railgauge {
extern const KernelRow kMpiGetBw;
const KernelRow kMpiGetBw{[] { return mpi::info_of(mpi::kOperation); },
                          [] { return mpi::make_kernel(mpi::kOperation); }};
}  // namespace railgauge

// Windows of puts, each ended by a flush. A sample is a window.
#include "kernels/mpi/one_sided/one_sided.h"

namespace railgauge::mpi {
namespace {

constexpr Operation kOperation{
    .name = "mpi.put_bw",
    .summary = "MPI_Put bandwidth: windows of calls, each ended by a flush",
    .figure = Figure::kBandwidth,
    .meaning = "unidirectional",
    .windowed = true,
    .exposed = Exposed::kReceive,
    .sizes = "64KiB,4MiB",
    .send_bytes = bytes_of<0>,
    .receive_bytes = bytes_of<1>,
    .sent = sent_of<0>,
    .received = received_from<0>,
    .play = play_one_sided<true>};

}  // namespace
}  // namespace railgauge::mpi

namespace railgauge {
extern const KernelRow kMpiPutBw;
const KernelRow kMpiPutBw{[] { return mpi::info_of(mpi::kOperation); },
                          [] { return mpi::make_kernel(mpi::kOperation); }};
}  // namespace railgauge

// A put and its flush: what a one-sided write costs until it is done at the target.
#include "kernels/mpi/one_sided/one_sided.h"

namespace railgauge::mpi {
namespace {

constexpr Operation kOperation{
    .name = "mpi.put_lat",
    .summary = "MPI_Put latency: one call and the flush that says it is done there",
    .meaning = "completion",
    .exposed = Exposed::kReceive,

    .send_bytes = bytes_of<0>,
    .receive_bytes = bytes_of<1>,
    .sent = sent_of<0>,
    .received = received_from<0>,
    .play = play_one_sided<true>};

}  // namespace
}  // namespace railgauge::mpi

namespace railgauge {
extern const KernelRow kMpiPutLat;
const KernelRow kMpiPutLat{[] { return mpi::info_of(mpi::kOperation); },
                           [] { return mpi::make_kernel(mpi::kOperation); }};
}  // namespace railgauge

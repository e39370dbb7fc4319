// A get and its flush: what a one-sided read costs.
#include "kernels/mpi/one_sided/one_sided.h"

namespace railgauge::mpi {
namespace {

constexpr Operation kOperation{
    .name = "mpi.get_lat",
    .summary = "MPI_Get latency: one call and the flush that says the data is here",
    .meaning = "completion",
    .exposed = Exposed::kSend,

    .send_bytes = bytes_of<1>,
    .receive_bytes = bytes_of<0>,
    .sent = sent_of<1>,
    .received = received_from<1>,
    .play = play_one_sided<false>};

}  // namespace
}  // namespace railgauge::mpi

namespace railgauge {
extern const KernelRow kMpiGetLat;
const KernelRow kMpiGetLat{[] { return mpi::info_of(mpi::kOperation); },
                           [] { return mpi::make_kernel(mpi::kOperation); }};
}  // namespace railgauge

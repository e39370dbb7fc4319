// Neighbourhood collectives of a ring: each rank has the one before and the one behind it; two
// ranks have each other. The order of the blocks is that of neighbours().
#include "kernels/mpi/collective/collective.h"

namespace railgauge::mpi {
namespace {

std::vector<std::uint32_t> beside(const Share& share) {
  return neighbours(share.rank, share.ranks);
}
// One message for all neighbours.
std::vector<Segment> own_to_all(const Share& share) {
  return {{.bytes = own_block(share), .rank = share.rank}};
}
std::vector<Segment> from_neighbours(const Share& share) {
  return blocks_from(share, beside(share), true);
}
// A message of its own for each neighbour; `block` is the receiver.
std::vector<Segment> to_each_neighbour(const Share& share) {
  return blocks_to(share, beside(share), false);
}
std::vector<Segment> from_each_neighbour(const Share& share) {
  return blocks_from(share, beside(share), false);
}
// The length of what a function above describes.
template <std::vector<Segment> (*kSegments)(const Share&)>
std::uint64_t bytes_in(const Share& share) {
  return length_of(kSegments(share));
}

// Every rank gets the message of each neighbour, ascending by rank.
constexpr Operation neighbor_all_gather(std::string_view name, std::string_view summary,
                                        Collective what) {
  Operation own = collective({.name = name,
                              .summary = summary,
                              .send_bytes = own_block,
                              .receive_bytes = bytes_in<from_neighbours>,
                              .sent = own_to_all,
                              .received = from_neighbours,
                              .what = what,
                              .count = own_block});
  if (what == Collective::kNeighborAllGatherV) own.parts = parts_of_segments;
  return own;
}
// Every rank exchanges a message with each neighbour, as a halo exchange does.
constexpr Operation neighbor_all_to_all(std::string_view name, std::string_view summary,
                                        Collective what) {
  Operation own = collective({.name = name,
                              .summary = summary,
                              .send_bytes = bytes_in<to_each_neighbour>,
                              .receive_bytes = bytes_in<from_each_neighbour>,
                              .sent = to_each_neighbour,
                              .received = from_each_neighbour,
                              .what = what});
  if (what != Collective::kNeighborAllToAll) own.parts = parts_of_segments;
  return own;
}

constexpr Operation kNeighborAllGather = neighbor_all_gather(
    "mpi.neighbor_all_gather", "MPI_Neighbor_allgather: every rank gets its neighbours' messages",
    Collective::kNeighborAllGather);
constexpr Operation kNeighborAllGatherV =
    neighbor_all_gather("mpi.neighbor_all_gather_v",
                        "MPI_Neighbor_allgatherv: the same with messages of several lengths",
                        Collective::kNeighborAllGatherV);
constexpr Operation kNeighborAllToAll =
    neighbor_all_to_all("mpi.neighbor_all_to_all",
                        "MPI_Neighbor_alltoall: every rank sends another message to each neighbour",
                        Collective::kNeighborAllToAll);
constexpr Operation kNeighborAllToAllV =
    neighbor_all_to_all("mpi.neighbor_all_to_all_v",
                        "MPI_Neighbor_alltoallv: the same with messages of several lengths",
                        Collective::kNeighborAllToAllV);
constexpr Operation kNeighborAllToAllW =
    neighbor_all_to_all("mpi.neighbor_all_to_all_w",
                        "MPI_Neighbor_alltoallw: the same with a datatype for each message",
                        Collective::kNeighborAllToAllW);

}  // namespace
}  // namespace railgauge::mpi

namespace railgauge {
extern const KernelRow kMpiNeighborAllGather{mpi::kRowOf<mpi::kNeighborAllGather>};
extern const KernelRow kMpiNeighborAllGatherV{mpi::kRowOf<mpi::kNeighborAllGatherV>};
extern const KernelRow kMpiNeighborAllToAll{mpi::kRowOf<mpi::kNeighborAllToAll>};
extern const KernelRow kMpiNeighborAllToAllV{mpi::kRowOf<mpi::kNeighborAllToAllV>};
extern const KernelRow kMpiNeighborAllToAllW{mpi::kRowOf<mpi::kNeighborAllToAllW>};
}  // namespace railgauge

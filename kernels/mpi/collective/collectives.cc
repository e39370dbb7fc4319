// MPI's collectives, a row each. All ranks' times count, measured after a barrier that starts the
// ranks together; `over_ranks` says how they make a sample (over_ranks.h). `call` chooses the form:
// one call, a call that begins and one that ends, or a request that is started each time.
#include "kernels/mpi/collective/collective.h"
#include "kernels/mpi/parts.h"

namespace railgauge::mpi {
namespace {

// Sums count elements, all others bytes.
std::uint64_t floats(const Share& share) { return share.floats(); }

// Contents of a root that gets or gives a block of each rank, and of ranks that all get all.
std::vector<Segment> from_all(const Share& share) {
  return blocks_from(share, all_ranks(share), true);
}
std::vector<Segment> gathered(const Share& share) {
  return is_root(share) ? from_all(share) : nothing(share);
}
std::vector<Segment> scattered(const Share& share) {
  return is_root(share) ? blocks_to(share, all_ranks(share), false) : nothing(share);
}
// The block of this rank that the root sent.
std::vector<Segment> own_block_of_root(const Share& share) {
  return {{.bytes = block_bytes(share, share.root, share.rank),
           .rank = share.root,
           .block = share.rank}};
}
// The one block that this rank sends, to the root or to all.
std::vector<Segment> own_block_of_all(const Share& share) {
  return {{.bytes = own_block(share), .rank = share.rank}};
}
// An all-to-all: a block of its own for each pair of ranks, this rank's with itself among them.
std::vector<Segment> to_each(const Share& share) {
  return blocks_to(share, all_ranks(share), false);
}
std::vector<Segment> from_each(const Share& share) {
  return blocks_from(share, all_ranks(share), false);
}
// The length of what a function above describes.
template <std::vector<Segment> (*kSegments)(const Share&)>
std::uint64_t bytes_of(const Share& share) {
  return length_of(kSegments(share));
}

// The receive buffer has one message of each rank, in rank order (MPI 3.1, section 5.7).
constexpr Operation all_gather(std::string_view name, std::string_view summary, Collective what) {
  Operation own = collective({.name = name,
                              .summary = summary,
                              .send_bytes = own_block,
                              .receive_bytes = bytes_of<from_all>,
                              .sent = own_block_of_all,
                              .received = from_all,
                              .what = what,
                              .count = own_block});
  own.in_place = InPlace::kOwnBlock;
  if (what == Collective::kAllGather) own.revision = 2;
  if (what == Collective::kAllGatherV) own.parts = parts_of_segments;
  return own;
}
// The v-form has the same buffers where blocks are equal, and MPI's arguments for each of them.
constexpr Operation kAllGather = all_gather(
    "mpi.all_gather", "MPI_Allgather: every rank gets the messages of all", Collective::kAllGather);
constexpr Operation kAllGatherV =
    all_gather("mpi.all_gather_v", "MPI_Allgatherv: the same with messages of several lengths",
               Collective::kAllGatherV);

// A whole message of every rank and its sum on every rank.
constexpr Operation kAllReduce =
    collective({.name = "mpi.all_reduce",
                .summary = "MPI_Allreduce: every rank gets the sum of all, 32-bit floats",
                .reduces = true,
                .in_place = InPlace::kWhole,
                .what = Collective::kAllReduce,
                .count = floats,
                .revision = 2});

// Every rank has a message for each other one, and gets one of each.
constexpr Operation all_to_all(std::string_view name, std::string_view summary, Collective what) {
  Operation own = collective({.name = name,
                              .summary = summary,
                              .send_bytes = bytes_of<to_each>,
                              .receive_bytes = bytes_of<from_each>,
                              .sent = to_each,
                              .received = from_each,
                              .what = what});
  own.in_place = InPlace::kWhole;
  if (what == Collective::kAllToAll) own.revision = 2;
  if (what != Collective::kAllToAll) own.parts = parts_of_segments;
  return own;
}
// The v-form has counts and places of each block, the w-form a datatype too: bytes, so that the
// cost of the arguments is measured and not that of a conversion.
constexpr Operation kAllToAll =
    all_to_all("mpi.all_to_all", "MPI_Alltoall: every rank sends another message to each rank",
               Collective::kAllToAll);
constexpr Operation kAllToAllV =
    all_to_all("mpi.all_to_all_v", "MPI_Alltoallv: the same with messages of several lengths",
               Collective::kAllToAllV);
constexpr Operation kAllToAllW =
    all_to_all("mpi.all_to_all_w", "MPI_Alltoallw: the same with a datatype for each message",
               Collective::kAllToAllW);

// The barrier in front of each sample starts the ranks together; the second one is measured.
constexpr Operation kBarrier = collective({.name = "mpi.barrier",
                                           .summary = "MPI_Barrier of all ranks",
                                           .sized = false,
                                           .send_bytes = no_bytes,
                                           .receive_bytes = no_bytes,
                                           .sent = nothing,
                                           .received = nothing,
                                           .what = Collective::kBarrier,
                                           .revision = 2});

// The root's buffer is the send buffer, the others' the receive buffer: MPI_Bcast has one argument.
constexpr Operation kBroadcast = collective(
    {.name = "mpi.broadcast",
     .summary = "MPI_Bcast: every rank gets the message of one",
     .rooted = true,
     .send_bytes = message_of_root,
     .receive_bytes = [](const Share& share) { return is_root(share) ? 0 : share.bytes; },
     .sent = own_message_of_root,
     .received = [](const Share& share) -> std::vector<Segment> {
       if (is_root(share)) return {};
       return {{.bytes = share.bytes, .rank = share.root}};
     },
     .what = Collective::kBroadcast,
     .revision = 2});

// The receive buffer counts at the root alone (MPI 3.1, section 5.5).
constexpr Operation gather(std::string_view name, std::string_view summary, Collective what) {
  Operation own = collective({.name = name,
                              .summary = summary,
                              .rooted = true,
                              .send_bytes = own_block,
                              .receive_bytes = bytes_of<gathered>,
                              .sent = own_block_of_all,
                              .received = gathered,
                              .what = what,
                              .count = own_block});
  own.in_place = InPlace::kOwnBlock;
  if (what == Collective::kGatherV) own.parts = parts_of_segments;
  return own;
}
constexpr Operation kGather =
    gather("mpi.gather", "MPI_Gather: one rank gets the messages of all", Collective::kGather);
constexpr Operation kGatherV = gather(
    "mpi.gather_v", "MPI_Gatherv: the same with messages of several lengths", Collective::kGatherV);

// The receive buffer counts at the root alone (MPI 3.1, section 5.9).
constexpr Operation kReduce =
    collective({.name = "mpi.reduce",
                .summary = "MPI_Reduce: one rank gets the sum of all, 32-bit floats",
                .rooted = true,
                .reduces = true,
                .in_place = InPlace::kWhole,
                .receive_bytes = message_of_root,
                .received = own_message_of_root,
                .what = Collective::kReduce,
                .count = floats,
                .revision = 2});

// The size is one whole message. Parts may differ by one element where the ranks do not divide it
// (parts.h).
constexpr Operation kReduceScatter =
    collective({.name = "mpi.reduce_scatter",
                .summary = "MPI_Reduce_scatter: every rank gets its part of the sum, 32-bit floats",
                .reduces = true,
                .in_place = InPlace::kWhole,
                .receive_bytes = [](const Share& share) { return part_of(share).bytes; },
                .received = [](const Share& share) -> std::vector<Segment> {
                  const Part part = part_of(share);
                  return {{.bytes = part.bytes, .rank = share.rank, .block = part.first_float}};
                },
                .what = Collective::kReduceScatter,
                .parts =
                    [](const Operation&, const Share& share) {
                      return CollectiveParts{.send_counts = {},
                                             .send_places = {},
                                             .receive_counts = floats_of_ranks(share),
                                             .receive_places = {}};
                    },
                .revision = 2});

// The size is one whole message, whose part of each rank is rounded down to whole elements, as
// OSU's program has it. With fewer elements than ranks no rank gets one: such a call is made and
// timed, and its point is not verified.
std::uint64_t floats_of_block(const Share& share) { return share.floats() / share.ranks; }
constexpr Operation kReduceScatterBlock = collective(
    {.name = "mpi.reduce_scatter_block",
     .summary = "MPI_Reduce_scatter_block: the same with equal parts",
     .reduces = true,
     .in_place = InPlace::kWhole,
     .receive_bytes = [](const Share& share) { return floats_of_block(share) * sizeof(float); },
     .received = [](const Share& share) -> std::vector<Segment> {
       return {{.bytes = floats_of_block(share) * sizeof(float),
                .rank = share.rank,
                .block = share.rank * floats_of_block(share)}};
     },
     .what = Collective::kReduceScatterBlock,
     .count = floats_of_block});

// The send buffer counts at the root alone (MPI 3.1, section 5.6).
constexpr Operation scatter(std::string_view name, std::string_view summary, Collective what) {
  Operation own = collective({.name = name,
                              .summary = summary,
                              .rooted = true,
                              .send_bytes = bytes_of<scattered>,
                              .receive_bytes = bytes_of<own_block_of_root>,
                              .sent = scattered,
                              .received = own_block_of_root,
                              .what = what,
                              .count = bytes_of<own_block_of_root>});
  own.in_place = InPlace::kRootsBlock;
  if (what == Collective::kScatterV) own.parts = parts_of_segments;
  return own;
}
// Other ranks than the root give MPI the length of their own block alone.
constexpr Operation kScatter = scatter(
    "mpi.scatter", "MPI_Scatter: every rank gets another message of one", Collective::kScatter);
constexpr Operation kScatterV =
    scatter("mpi.scatter_v", "MPI_Scatterv: the same with messages of several lengths",
            Collective::kScatterV);

}  // namespace
}  // namespace railgauge::mpi

namespace railgauge {
extern const KernelRow kMpiAllGather{mpi::kRowOf<mpi::kAllGather>};
extern const KernelRow kMpiAllGatherV{mpi::kRowOf<mpi::kAllGatherV>};
extern const KernelRow kMpiAllReduce{mpi::kRowOf<mpi::kAllReduce>};
extern const KernelRow kMpiAllToAll{mpi::kRowOf<mpi::kAllToAll>};
extern const KernelRow kMpiAllToAllV{mpi::kRowOf<mpi::kAllToAllV>};
extern const KernelRow kMpiAllToAllW{mpi::kRowOf<mpi::kAllToAllW>};
extern const KernelRow kMpiBarrier{mpi::kRowOf<mpi::kBarrier>};
extern const KernelRow kMpiBroadcast{mpi::kRowOf<mpi::kBroadcast>};
extern const KernelRow kMpiGather{mpi::kRowOf<mpi::kGather>};
extern const KernelRow kMpiGatherV{mpi::kRowOf<mpi::kGatherV>};
extern const KernelRow kMpiReduce{mpi::kRowOf<mpi::kReduce>};
extern const KernelRow kMpiReduceScatter{mpi::kRowOf<mpi::kReduceScatter>};
extern const KernelRow kMpiReduceScatterBlock{mpi::kRowOf<mpi::kReduceScatterBlock>};
extern const KernelRow kMpiScatter{mpi::kRowOf<mpi::kScatter>};
extern const KernelRow kMpiScatterV{mpi::kRowOf<mpi::kScatterV>};
}  // namespace railgauge

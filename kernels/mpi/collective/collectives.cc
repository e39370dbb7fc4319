// MPI's collectives. All ranks' times count, measured after a barrier that starts the ranks
// together; `over_ranks` says how they make a sample (over_ranks.h).
#include "kernels/mpi/parts.h"

namespace railgauge::mpi {
namespace {

// Each iteration from behind a barrier to this rank's own end. Staged messages are copied within
// the time.
void play_collective(Work& work, std::span<std::uint64_t> ticks) {
  const Operation& operation = work.operation;
  const std::uint64_t sent = operation.send_bytes(work.share);
  const std::uint64_t received = operation.receive_bytes(work.share);
  for (std::uint64_t& tick : ticks) {
    work.begin_sample();
    work.mpi.barrier();
    const std::uint64_t began = work.clock.ticks();
    work.send.stage_out(0, sent);
    operation.call(work);
    work.receive.stage_in(0, received);
    tick = work.clock.ticks() - began;
  }
}

// Completes a collective's own part by what all have in common.
constexpr Operation collective(Operation own) {
  own.timed = Timed::kAll;
  own.pair = false;
  own.sizes = "8,64KiB,1MiB";
  own.play = play_collective;
  return own;
}

bool is_root(const Share& share) { return share.rank == share.root; }
std::uint64_t message_of_root(const Share& share) { return is_root(share) ? share.bytes : 0; }
std::vector<Segment> own_message_of_root(const Share& share) {
  return is_root(share) ? own_message(share) : nothing(share);
}

// A block of each rank, or for each rank, in rank order.
template <class Describe>
std::vector<Segment> blocks(const Share& share, Describe describe) {
  std::vector<Segment> all;
  for (std::uint32_t other = 0; other < share.ranks; ++other) {
    all.push_back(describe(other));
    all.back().offset = other * share.bytes;
    all.back().bytes = share.bytes;
  }
  return all;
}

// The receive buffer has one message of each rank, in rank order (MPI 3.1, section 5.7).
constexpr Operation kAllGather = collective(
    {.name = "mpi.all_gather",
     .summary = "MPI_Allgather: every rank gets the messages of all",
     .receive_bytes = a_message_for_each,
     .received =
         [](const Share& share) {
           return blocks(share, [](std::uint32_t from) { return Segment{.rank = from}; });
         },
     .call =
         [](Work& work) {
           work.mpi.all_gather(work.send.data(), work.share.bytes, work.receive.data());
         }});

// MPI_SUM of floats; contents are chosen so that every order of adding is exact (data.cc).
constexpr Operation kAllReduce =
    collective({.name = "mpi.all_reduce",
                .summary = "MPI_Allreduce: every rank gets the sum of all, 32-bit floats",
                .reduces = true,
                .call = [](Work& work) {
                  work.mpi.all_reduce(work.send.data(), work.receive.data(), work.share.floats());
                }});

// Block j of rank i arrives as block i of rank j (MPI 3.1, section 5.8). The size is one block.
constexpr Operation kAllToAll =
    collective({.name = "mpi.all_to_all",
                .summary = "MPI_Alltoall: every rank sends a message of its own to each",
                .send_bytes = a_message_for_each,
                .receive_bytes = a_message_for_each,
                .sent =
                    [](const Share& share) {
                      return blocks(share, [&](std::uint32_t to) {
                        return Segment{.rank = share.rank, .block = to};
                      });
                    },
                .received =
                    [](const Share& share) {
                      return blocks(share, [&](std::uint32_t from) {
                        return Segment{.rank = from, .block = share.rank};
                      });
                    },
                .call =
                    [](Work& work) {
                      work.mpi.all_to_all(work.send.data(), work.share.bytes, work.receive.data());
                    }});

// The barrier in front of each sample starts the ranks together; the second one is measured.
constexpr Operation kBarrier = collective({.name = "mpi.barrier",
                                           .summary = "MPI_Barrier of all ranks",
                                           .sized = false,
                                           .send_bytes = no_bytes,
                                           .receive_bytes = no_bytes,
                                           .sent = nothing,
                                           .received = nothing,
                                           .call = [](Work& work) { work.mpi.barrier(); }});

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
     .call =
         [](Work& work) {
           const Area& area = is_root(work.share) ? work.send : work.receive;
           work.mpi.broadcast(area.data(), work.share.bytes, work.share.root);
         }});

// The receive buffer counts at the root alone (MPI 3.1, section 5.9).
constexpr Operation kReduce = collective(
    {.name = "mpi.reduce",
     .summary = "MPI_Reduce: one rank gets the sum of all, 32-bit floats",
     .rooted = true,
     .reduces = true,
     .receive_bytes = message_of_root,
     .received = own_message_of_root,
     .call = [](Work& work) {
       work.mpi.reduce(work.send.data(), work.receive.data(), work.share.floats(), work.share.root);
     }});

// The size is one whole message. Parts may differ by one element where the ranks do not divide it
// (parts.h).
constexpr Operation kReduceScatter = collective(
    {.name = "mpi.reduce_scatter",
     .summary = "MPI_Reduce_scatter: every rank gets its part of the sum, 32-bit floats",
     .reduces = true,
     .receive_bytes = [](const Share& share) { return part_of(share).bytes; },
     .received = [](const Share& share) -> std::vector<Segment> {
       const Part part = part_of(share);
       return {{.bytes = part.bytes, .rank = share.rank, .block = part.first_float}};
     },
     .call =
         [](Work& work) {
           work.mpi.reduce_scatter(work.send.data(), work.receive.data(), work.floats_of_rank);
         }});

}  // namespace
}  // namespace railgauge::mpi

namespace railgauge {
extern const KernelRow kMpiAllGather{mpi::kRowOf<mpi::kAllGather>};
extern const KernelRow kMpiAllReduce{mpi::kRowOf<mpi::kAllReduce>};
extern const KernelRow kMpiAllToAll{mpi::kRowOf<mpi::kAllToAll>};
extern const KernelRow kMpiBarrier{mpi::kRowOf<mpi::kBarrier>};
extern const KernelRow kMpiBroadcast{mpi::kRowOf<mpi::kBroadcast>};
extern const KernelRow kMpiReduce{mpi::kRowOf<mpi::kReduce>};
extern const KernelRow kMpiReduceScatter{mpi::kRowOf<mpi::kReduceScatter>};
}  // namespace railgauge

// A message from each rank to each; the size is one of them.
#include "kernels/mpi/operation.h"

namespace railgauge::mpi {
namespace {

// Block j of rank i arrives as block i of rank j (MPI 3.1, section 5.8).
constexpr Operation kOperation{
    .name = "mpi.all_to_all",
    .summary = "MPI_Alltoall: every rank sends a message of its own to each",
    .meaning = "completion",
    .timed = Timed::kAll,

    .pair = false,
    .sizes = "8,64KiB,1MiB",
    .send_bytes = a_message_for_each,
    .receive_bytes = a_message_for_each,
    .sent = [](const Share& share) -> std::vector<Segment> {
      std::vector<Segment> all;
      for (std::uint32_t to = 0; to < share.ranks; ++to)
        all.push_back(
            {.offset = to * share.bytes, .bytes = share.bytes, .rank = share.rank, .block = to});
      return all;
    },
    .received = [](const Share& share) -> std::vector<Segment> {
      std::vector<Segment> all;
      for (std::uint32_t from = 0; from < share.ranks; ++from)
        all.push_back({.offset = from * share.bytes,
                       .bytes = share.bytes,
                       .rank = from,
                       .block = share.rank});
      return all;
    },
    .play =
        [](Work& work, std::span<std::uint64_t> ticks) {
          const Share& share = work.share;
          play_collective(work, ticks, [&] {
            work.send.stage_out(0, share.bytes * share.ranks);
            work.mpi.all_to_all(work.send.data(), share.bytes, work.receive.data());
            work.receive.stage_in(0, share.bytes * share.ranks);
          });
        }};

}  // namespace
}  // namespace railgauge::mpi

namespace railgauge {
extern const KernelRow kMpiAllToAll;
const KernelRow kMpiAllToAll{[] { return mpi::info_of(mpi::kOperation); },
                             [] { return mpi::make_kernel(mpi::kOperation); }};
}  // namespace railgauge

// The common part of all collectives: the timed loop in each form, and the contents of blocks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/mpi/operation.h"

namespace railgauge::mpi {

// Runs a collective once a sample, each from behind a barrier to this rank's own end; staged
// messages are copied within the time. A persistent request is made before the samples and freed
// behind them.
void play_collective(Work& work, std::span<std::uint64_t> ticks);

// Completes a collective's own part by what all have in common.
constexpr Operation collective(Operation own) {
  own.timed = Timed::kAll;
  own.pair = false;
  own.sizes = "8,64KiB,1MiB";
  own.play = play_collective;
  return own;
}

inline bool is_root(const Share& share) { return share.rank == share.root; }
inline std::uint64_t message_of_root(const Share& share) {
  return is_root(share) ? share.bytes : 0;
}
inline std::vector<Segment> own_message_of_root(const Share& share) {
  return is_root(share) ? own_message(share) : nothing(share);
}

// Returns the bytes of the block from one rank to another, or to all.
inline std::uint64_t block_bytes(const Share& share, std::uint32_t from, std::uint32_t to = 0) {
  if (!share.uneven) return share.bytes;
  return (from + to) % 2 == 0 ? share.bytes / 2 : share.bytes + share.bytes / 2;
}
// The length of this rank's own block.
inline std::uint64_t own_block(const Share& share) { return block_bytes(share, share.rank); }

// The blocks from each of `ranks` to this rank, or from this rank to each, one after the other.
// With `for_all` the sender's block is the same for all.
std::vector<Segment> blocks_from(const Share& share, std::span<const std::uint32_t> ranks,
                                 bool for_all);
std::vector<Segment> blocks_to(const Share& share, std::span<const std::uint32_t> ranks,
                               bool for_all);
// Returns the ranks of the world in order.
std::vector<std::uint32_t> all_ranks(const Share& share);
// The sum of the segments' lengths.
std::uint64_t length_of(const std::vector<Segment>& segments);

// The parts of a collective whose blocks are its segments: MPI's counts and places in bytes.
CollectiveParts parts_of_segments(const Operation& operation, const Share& share);

}  // namespace railgauge::mpi

// The places in memory that the samples of a size use in turn, and the room that they need.
#include <algorithm>

#include "kernels/mpi/bench.h"

namespace railgauge::mpi {
namespace {

// Memory of cold samples, each way: more than the last-level cache that one core's loads fill, at
// most 96 MiB in the CPUs of 2026.
constexpr std::uint64_t kColdBytes = 128U << 20U;
constexpr std::uint64_t kLine = 64;

}  // namespace

// A place begins at a cache line.
Places Bench::places_of(std::size_t size_index) const {
  if (!is_cold_) return {};
  const std::uint64_t stride = (longest_buffer(share_of(size_index)) + kLine - 1) / kLine * kLine;
  if (stride == 0) return {};
  return {.count = std::max<std::uint64_t>(1, kColdBytes / stride), .stride = stride};
}

// Equal on all ranks.
std::uint64_t Bench::longest_buffer(Share share) const {
  std::uint64_t most = 0;
  for (share.rank = 0; share.rank < ranks_; ++share.rank)
    most = std::max({most, operation_.send_bytes(share), operation_.receive_bytes(share)});
  return most;
}

void Bench::move_to(std::uint64_t place) {
  send_.move_to(place);
  receive_.move_to(place);
}

// 0 on a rank without the buffer.
std::uint64_t Bench::room_for(std::uint64_t (*bytes)(const Share&)) const {
  std::uint64_t room = 0;
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    const Places places = places_of(i);
    if (const std::uint64_t own = bytes(share_of(i)); own > 0)
      room = std::max(room, places.of(places.count - 1) + own);
  }
  return room;
}

}  // namespace railgauge::mpi

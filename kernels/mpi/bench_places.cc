// The places in memory that the samples of a size use in turn, and the room that they need.
#include <algorithm>
#include <cstdlib>
#include <fstream>

#include <fmt/format.h>

#include "kernels/core/cpu/cache.h"
#include "kernels/core/text/lines.h"
#include "kernels/core/text/units.h"
#include "kernels/mpi/bench.h"

namespace railgauge::mpi {
namespace {

constexpr std::uint64_t kLine = 64;

// The host memory in bytes that ranks may use without the kernel ending one. 0: unknown.
std::uint64_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);)
    if (const auto words = railgauge::words_of(line);
        words.size() > 1 && words[0] == "MemAvailable:")
      return std::strtoull(std::string(words[1]).c_str(), nullptr, 10) << 10U;
  return 0;
}

}  // namespace

// A place begins at a cache line.
Places Bench::places_of(std::size_t size_index) const {
  if (cold_bytes_ == 0) return {};
  const std::uint64_t stride = (longest_buffer(share_of(size_index)) + kLine - 1) / kLine * kLine;
  if (stride == 0) return {};
  return {.count = (cold_bytes_ + stride - 1) / stride, .stride = stride};
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

// The walk of a GPU's memory is compared with the GPU's own cache.
std::string Bench::buffer_fact() const {
  if (cold_bytes_ == 0) return "hot";
  std::uint64_t cache = last_level_cache_bytes();
  if (on_gpu() && !staged_)
    cache = static_cast<std::uint64_t>(std::max(0, gpu_.attribute(cu::kL2CacheBytes).value_or(0)));
  if (cache == 0) return "not known: the size of the cache cannot be read";
  if (cold_bytes_ >= kColdCaches * cache) return "cold";
  return fmt::format("hot: cold_memory is {}, less than twice the cache of {}",
                     canonical_bytes(cold_bytes_), canonical_bytes(cache));
}

// The rank with the highest number on a node counts all of them.
Status Bench::check_room(std::uint32_t local_rank) const {
  if (cold_bytes_ == 0) return {};
  const std::uint64_t needed =
      (std::uint64_t{local_rank} + 1) *
      (room_for(operation_.send_bytes) + room_for(operation_.receive_bytes));
  const std::uint64_t available = available_bytes();
  if (available == 0 || needed <= available / 2) return {};
  return fail(
      Code::kFailedPrecondition,
      fmt::format(
          "{}: buffer=cold: {} ranks of this node take {}, {} are available; lower cold_memory",
          operation_.name, local_rank + 1, canonical_bytes(needed), canonical_bytes(available)));
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

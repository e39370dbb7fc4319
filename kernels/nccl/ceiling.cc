// Information bounds of the collectives.
#include "kernels/nccl/ceiling.h"

#include <algorithm>
#include <array>

#include "kernels/core/base/headline.h"
#include "kernels/nccl/figures.h"

namespace railgauge::nccl {

// The bus factor of nccl-tests is this share for every operation but all_reduce, whose 2(n-1)/n
// counts both phases of an algorithm without help from switches.
double least_share(const Operation& operation, const Share& share) {
  if (share.ranks < 2) return 0;
  if (operation.least_count != nullptr)
    return static_cast<double>(operation.least_count(share)) /
           static_cast<double>(moved_bytes(operation, share, 1));
  if (operation.rooted && operation.shared_out && share.root != 0) return 1.0 / share.ranks;
  return std::min(1.0, operation.bus_factor(share.ranks));
}

std::optional<gpu::Ceiling> algbw_ceiling(const Operation& operation, const Share& share,
                                          const gpu::PeerParts& rank0) {
  const double least = least_share(operation, share);
  if (least <= 0) return std::nullopt;
  auto ceiling = gpu::peer_ceiling(std::array{rank0});
  if (!ceiling) return ceiling;
  ceiling->bytes_per_second /= least;
  ceiling->words = "rank 0: " + ceiling->words;
  return ceiling;
}

Status check_links(const Operation& operation, const std::optional<gpu::Ceiling>& ceiling,
                   Point& point) {
  if (!ceiling || point.metric() != "algbw_bytes_per_second") return {};
  gpu::add_ceiling_facts(*ceiling, headline_of(point), *point.mutable_facts());
  return gpu::check_ceiling(operation.name, ceiling, point.median());
}

}  // namespace railgauge::nccl

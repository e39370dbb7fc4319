// Information bounds of the collectives.
#include "kernels/nccl/ceiling.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/base/headline.h"
#include "kernels/nccl/figures.h"

namespace railgauge::nccl {
namespace {

// The contents of an all-to-all between more ranks would take seconds to count.
constexpr std::uint32_t kMostRanksCounted = 512;
// Counters may lag by some of the last bytes.
constexpr double kCountedShare = 0.9;

}  // namespace

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

std::vector<HostBytes> least_host_bytes(const Operation& operation, Share share,
                                        std::uint64_t element_bytes,
                                        std::span<const std::uint32_t> host_of) {
  using Key = std::tuple<std::uint32_t, int, std::uint64_t>;  // host, source and begin of a content
  std::vector<HostBytes> hosts(host_of.empty() ? 0 : *std::ranges::max_element(host_of) + 1);
  std::set<Key> got;
  std::set<Key> sent;
  const auto move = [&](std::uint32_t from, std::uint32_t to, const Segment& content) {
    if (from == to) return;
    const auto bytes = static_cast<double>(content.count * element_bytes);
    if (got.emplace(to, content.source, content.first).second) hosts[to].in += bytes;
    if (sent.emplace(from, content.source, content.first).second) hosts[from].out += bytes;
  };
  share.ranks = static_cast<std::uint32_t>(host_of.size());
  for (share.rank = 0; share.rank < share.ranks; ++share.rank)
    for (const Segment& content : operation.result(share)) {
      if (content.source != kReduced) {
        move(host_of[static_cast<std::size_t>(content.source)], host_of[share.rank], content);
        continue;
      }
      // Every host has a part of the reduction.
      for (std::uint32_t host = 0; host < hosts.size(); ++host)
        move(host, host_of[share.rank], content);
    }
  return hosts;
}

std::optional<gpu::Ceiling> port_ceiling(const Operation& operation, const Share& share,
                                         std::uint64_t element_bytes,
                                         std::span<const HostRate> hosts, std::uint64_t calls) {
  std::size_t ranks = 0;
  for (const HostRate& host : hosts) ranks += host.ranks.size();
  if (hosts.size() < 2 || operation.result == nullptr || ranks != share.ranks ||
      share.ranks > kMostRanksCounted)
    return std::nullopt;
  std::vector<std::uint32_t> host_of(share.ranks);
  for (std::uint32_t host = 0; host < hosts.size(); ++host)
    for (const std::uint32_t rank : hosts[host].ranks) host_of[rank] = host;
  const std::vector<HostBytes> least = least_host_bytes(operation, share, element_bytes, host_of);
  const auto moved = static_cast<double>(moved_bytes(operation, share, element_bytes));
  std::optional<gpu::Ceiling> lowest;
  for (std::size_t host = 0; host < least.size(); ++host) {
    const double bytes = std::max(least[host].in, least[host].out);
    const double all = (least[host].in + least[host].out) * static_cast<double>(calls);
    if (bytes <= 0 || hosts[host].bytes_per_second <= 0 ||
        hosts[host].moved_bytes < kCountedShare * all)
      continue;
    lowest = lower_ceiling(
        std::move(lowest),
        gpu::Ceiling{hosts[host].bytes_per_second * moved / bytes,
                     fmt::format("{} port{} of rank {}'s host, which {:.0f} B of a call must pass",
                                 hosts[host].ports, hosts[host].ports == 1 ? "" : "s",
                                 hosts[host].ranks.front(), bytes)});
  }
  return lowest;
}

std::optional<gpu::Ceiling> lower_ceiling(std::optional<gpu::Ceiling> one,
                                          std::optional<gpu::Ceiling> other) {
  if (!one || (other && other->bytes_per_second < one->bytes_per_second)) return other;
  return one;
}

Status check_links(const Operation& operation, const std::optional<gpu::Ceiling>& ceiling,
                   Point& point) {
  if (!ceiling || point.metric() != "algbw_bytes_per_second") return {};
  gpu::add_ceiling_facts(*ceiling, headline_of(point), *point.mutable_facts());
  return gpu::check_ceiling(operation.name, ceiling, point.median());
}

}  // namespace railgauge::nccl

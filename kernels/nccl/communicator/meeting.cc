#include "kernels/nccl/communicator/meeting.h"

#include <algorithm>
#include <fstream>
#include <map>

#include <fmt/format.h>

#include "kernels/core/group/tcp.h"

namespace railgauge::nccl {
namespace {

// In L2 caches of the GPU that has the largest.
constexpr std::uint64_t kColdCaches = 2;

}  // namespace

std::string host_identity() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return fmt::format("{} {}", host_name(), boot);
}

std::string identity_of(const gpu::Gpu& gpu) {
  return gpu.uuid().empty() ? gpu.pci_address() : gpu.uuid();
}

std::uint64_t cold_bytes_of(const gpu::Gpu& gpu) {
  const int cache = std::max(0, gpu.attribute(cu::kL2CacheBytes).value_or(0));
  return kColdCaches * static_cast<std::uint64_t>(cache);
}

std::uint64_t cold_bytes_of_all(const std::vector<Told>& all) {
  std::uint64_t most = 0;
  for (const Told& one : all) most = std::max<std::uint64_t>(most, one.cold_bytes());
  return most;
}

Status check_gpus(const std::vector<Told>& all) {
  std::map<std::string, std::size_t> users;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const auto [first, is_first] =
        users.try_emplace(all[rank].host() + " " + all[rank].gpu(), rank);
    if (!is_first)
      return fail(Code::kFailedPrecondition,
                  "ranks {} and {}: both use {}; NCCL needs a GPU for each rank", first->second,
                  rank, all[rank].gpu());
  }
  return {};
}

void number_gpus(const std::vector<Told>& all, Told& told) {
  std::map<std::string, std::uint32_t> next;
  std::vector<std::uint32_t> numbers;
  bool any = false;
  for (const Told& one : all) {
    numbers.push_back(one.chosen() ? 0 : next[one.host()]++);
    any = any || numbers.back() != 0;
  }
  if (any) told.mutable_gpus()->Assign(numbers.begin(), numbers.end());
}

Status check_alike(const std::vector<Told>& all) {
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank].parameters() != all[0].parameters())
      return invalid("rank {}: its parameters are not those of rank 0", rank);
    if (all[rank].nccl() != all[0].nccl())
      return fail(Code::kFailedPrecondition,
                  "rank {}: it has NCCL {}, rank 0 has {}; install the same on all", rank,
                  all[rank].nccl(), all[0].nccl());
  }
  return {};
}

}  // namespace railgauge::nccl

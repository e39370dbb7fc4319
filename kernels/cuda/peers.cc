// Peer access between GPUs: the query and the enabling of both directions.
#include "kernels/cuda/peers.h"

#include <random>

#include <fmt/format.h>

namespace railgauge::cuda {
namespace {

// cuDeviceCanAccessPeer: whether kernels and copies of `from` reach `memory` directly.
Result<bool> can_access(const gpu::Gpu& from, const gpu::Gpu& memory) {
  int can = 0;
  RG_TRY_OK(gpu_status(from,
                       loaded_cuda().device_can_access_peer(&can, from.device(), memory.device()),
                       fmt::format("ask whether it reaches {}", memory.name())));
  return can != 0;
}

// Lets the context of `from` address `memory`. Access that is already enabled is not an error: an
// earlier kernel of this process may have enabled it.
Status enable(const gpu::Gpu& from, const gpu::Gpu& memory) {
  RG_TRY_OK(from.make_current());
  const cu::Return returned = loaded_cuda().ctx_enable_peer_access(memory.context(), 0);
  if (returned == cu::kPeerAccessAlreadyEnabled) return {};
  return gpu_status(from, returned, fmt::format("enable access to {}", memory.name()));
}

}  // namespace

std::string name_of(const GpuPair& pair) {
  return fmt::format("{}>{}", pair.source->name(), pair.target->name());
}

// Floyd's sampling would need a set; a drawn flag for each pair is as good for some thousand pairs.
std::vector<GpuPair> drawn_pairs(std::vector<GpuPair> pairs, std::uint64_t count,
                                 std::uint64_t seed) {
  if (count == 0 || count >= pairs.size()) return pairs;
  // The generator's numbers are the same everywhere; those of std::shuffle are not.
  std::mt19937_64 random(seed);
  std::vector<GpuPair> drawn;
  std::uint64_t left = pairs.size();
  for (const GpuPair& pair : pairs)
    if (random() % left-- < count - drawn.size()) drawn.push_back(pair);
  return drawn;
}

// Both directions are required, since a load may run the other way.
Result<std::vector<GpuPair>> enable_pairs(Context& context, std::span<const gpu::Gpu> gpus) {
  std::vector<GpuPair> pairs;
  std::string lacking;
  for (const gpu::Gpu& source : gpus)
    for (const gpu::Gpu& target : gpus) {
      if (source.index() == target.index()) continue;
      const GpuPair pair{&source, &target};
      if (RG_TRY(can_access(source, target)) && RG_TRY(can_access(target, source))) {
        RG_TRY_OK(enable(source, target));
        pairs.push_back(pair);
        continue;
      }
      lacking += (lacking.empty() ? "" : ",") + name_of(pair);
      context.reporter.note("warning",
                            fmt::format("{}: skipped: the driver gives no peer access, its copies "
                                        "would go through host memory",
                                        name_of(pair)));
    }
  if (pairs.empty())
    return fail(
        Code::kUnimplemented,
        fmt::format("{} to {}: copy between GPUs: no pair has peer access, the driver would "
                    "stage through host memory; nvidia-smi topo -p2p r shows why",
                    gpus.front().name(), gpus.back().name()));
  context.reporter.fact("peer_pairs",
                        fmt::format("{} of {}", pairs.size(), gpus.size() * (gpus.size() - 1)));
  if (!lacking.empty()) context.reporter.fact("pairs_without_access", lacking);
  RG_TRY_OK(gpus.front().make_current());
  return pairs;
}

}  // namespace railgauge::cuda

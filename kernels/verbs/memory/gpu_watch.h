// Detects other users of the GPUs whose memory a link uses. The two ranks of a task may share a
// GPU, so the judgement waits until they know of each other.
#pragma once

#include <utility>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/session/busy.h"
#include "kernels/verbs/transport/peer.pb.h"

namespace railgauge::verbs {

// Returns the numbers by which NVML on this machine may list the two ranks. A pid counts only for a
// rank in the same pid namespace. In containers NVML lists the host's numbers, which are learned by
// order of arrival: two ranks that start at once have two numbers, and each may be either's. A
// third number is a stranger's, so then only certain ones count. Pure.
std::vector<unsigned> partners_of(const PeerAddress& mine, const PeerAddress& peer);

class GpuWatch {
 public:
  // Adds `gpu`, which outlives check(). `before` is gpu::gpu_usage() from before this process took
  // a context on it.
  void add(const gpu::Gpu& gpu, std::vector<gpu::GpuUsage> before);
  // Writes the numbers by which the peer may see this process on a GPU; call after the last add().
  static void describe(PeerAddress& mine);
  // Checks each GPU as gpu::check_busy; the peer's own process is no stranger on this machine.
  [[nodiscard]] Status check(const Context& context, const PeerAddress& mine,
                             const PeerAddress& peer) const;

 private:
  std::vector<std::pair<const gpu::Gpu*, std::vector<gpu::GpuUsage>>> gpus_;
};

}  // namespace railgauge::verbs

// Who else uses the GPUs whose memory a link uses. The two ranks of a task may share one, so it is
// judged once they know of each other.
#pragma once

#include <utility>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/gpu/busy.h"
#include "kernels/gpu/device.h"
#include "kernels/verbs/peer.pb.h"

namespace railgauge::verbs {

class GpuWatch {
 public:
  // `before` is gpu::gpu_usage() of before this process took a context there; `gpu` outlives
  // check().
  void add(const gpu::Gpu& gpu, std::vector<gpu::GpuUsage> before);
  // By which number the peer's view of a GPU may show this process.
  static void describe(PeerAddress& mine);
  // As gpu::check_busy for each; the peer's own process is no stranger where both see the same
  // processes. In a container whose NVML shows the host's numbers it is one.
  [[nodiscard]] Status check(const Context& context, const PeerAddress& mine,
                             const PeerAddress& peer) const;

 private:
  std::vector<std::pair<const gpu::Gpu*, std::vector<gpu::GpuUsage>>> gpus_;
};

}  // namespace railgauge::verbs

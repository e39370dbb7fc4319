// Who else uses the GPUs whose memory a link uses. The two ranks of a task may share one, so it is
// judged once they know of each other.
#pragma once

#include <utility>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/session/busy.h"
#include "kernels/verbs/transport/peer.pb.h"

namespace railgauge::verbs {

// By which numbers NVML on this side's machine may show the two ranks. Its own count of a process
// says something only to who shares it. The host's numbers, which NVML shows in containers, are
// learned by who came when: two ranks that came at once are two numbers of which each may be
// either. A third one among them is a stranger's, so that then only what is sure counts. Pure.
std::vector<unsigned> partners_of(const PeerAddress& mine, const PeerAddress& peer);

class GpuWatch {
 public:
  // `before` is gpu::gpu_usage() of before this process took a context there; `gpu` outlives
  // check().
  void add(const gpu::Gpu& gpu, std::vector<gpu::GpuUsage> before);
  // By which numbers the peer's view of a GPU may show this process; after the last add().
  static void describe(PeerAddress& mine);
  // As gpu::check_busy for each; the peer's own process is no stranger on this machine.
  [[nodiscard]] Status check(const Context& context, const PeerAddress& mine,
                             const PeerAddress& peer) const;

 private:
  std::vector<std::pair<const gpu::Gpu*, std::vector<gpu::GpuUsage>>> gpus_;
};

}  // namespace railgauge::verbs

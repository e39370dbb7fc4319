// Whether a GPU's kernels see in order what adapters write into its memory, and the flush of the
// platforms where they do not.
#pragma once

#include "kernels/core/kernel.h"
#include "kernels/gpu/device.h"
#include "kernels/verbs/transport/peer.pb.h"

namespace railgauge::verbs {

struct RemoteFlush {
  bool by_host = false;  // cuFlushGPUDirectRDMAWrites is there, and works for this GPU
  int ordering = 0;      // attribute GPU_DIRECT_RDMA_WRITES_ORDERING
  unsigned options = 0;  // attribute GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS

  static Result<RemoteFlush> of(const gpu::Gpu& gpu);
  static RemoteFlush of(const PeerStatus& told);
  void tell(PeerStatus& status) const;

  // A kernel of the GPU that owns the memory sees the bytes before a flag that it sees.
  [[nodiscard]] bool is_required() const { return ordering < cu::kWritesOrderedForOwner; }
  // The facts rdma_writes_ordering, flush_required, flush_options and host_flush, and what they
  // mean for the figures.
  void report(Reporter& reporter) const;
};

// Flushes what has come into the memory of the current context's GPU, for its own kernels.
Status flush_remote_writes(const gpu::Gpu& gpu);

}  // namespace railgauge::verbs

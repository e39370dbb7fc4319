#include "kernels/verbs/memory/remote_flush.h"

#include <string>

#include "kernels/dl/cuda.h"

namespace railgauge::verbs {
namespace {

constexpr const char* kFlush = "cuFlushGPUDirectRDMAWrites";

std::string ordering_words(int ordering) {
  if (ordering >= cu::kWritesOrderedForAllDevices) return "all_devices";
  return ordering >= cu::kWritesOrderedForOwner ? "owner" : "none";
}

std::string option_words(unsigned options) {
  const bool by_host = (options & cu::kFlushByHost) != 0;
  const bool by_stream = (options & cu::kFlushByStream) != 0;
  if (by_host && by_stream) return "host,stream";
  return by_host ? "host" : by_stream ? "stream" : "none";
}

}  // namespace

Result<RemoteFlush> RemoteFlush::of(const gpu::Gpu& gpu) {
  RemoteFlush found;
  found.ordering = RG_TRY(gpu.attribute(cu::kGpuDirectRdmaWritesOrdering));
  found.options = static_cast<unsigned>(RG_TRY(gpu.attribute(cu::kGpuDirectRdmaFlushOptions)));
  found.by_host = loaded_cuda().flush_gpudirect_rdma_writes != nullptr &&
                  (found.options & cu::kFlushByHost) != 0;
  return found;
}

RemoteFlush RemoteFlush::of(const PeerStatus& told) {
  return {.by_host = told.flushes(),
          .ordering = told.writes_ordering(),
          .options = told.flush_options()};
}

void RemoteFlush::tell(PeerStatus& status) const {
  status.set_flushes(by_host);
  status.set_writes_ordering(ordering);
  status.set_flush_options(options);
}

void RemoteFlush::report(Reporter& reporter) const {
  reporter.fact("rdma_writes_ordering", ordering_words(ordering));
  reporter.fact("flush_required", is_required() ? "true" : "false");
  reporter.fact("flush_options", option_words(options));
  reporter.fact("host_flush", by_host ? kFlush : "none");
  if (!by_host)
    reporter.note("info",
                  "the target's driver has no flush of remote writes by the host: "
                  "gpu_visible_flushed is not measured; gpu_visible_read_back flushes by a read");
  if (is_required())
    reporter.note(
        "warning",
        "the target's GPU orders remote writes for nobody: without a flush its kernel may "
        "see the flag before the bytes in front of it, and gpu_visible is the flag's "
        "figure alone");
}

Status flush_remote_writes(const gpu::Gpu& gpu) {
  return gpu_status(gpu,
                    loaded_cuda().flush_gpudirect_rdma_writes(cu::kFlushCurrentContext,
                                                              cu::kWritesOrderedForOwner),
                    kFlush);
}

}  // namespace railgauge::verbs

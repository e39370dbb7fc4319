// The parameters that say whose memory the messages come from and go to. Each side has its own, and
// both ranks know both, so that the matrix of device and host is one task a cell.
#pragma once

#include "kernels/core/info_builder.h"
#include "kernels/core/kernel.h"
#include "kernels/verbs/link/link.h"
#include "kernels/verbs/memory/memory.h"
#include "kernels/verbs/transport/peer.pb.h"

namespace railgauge::verbs {

// memory (rank 0's), target_memory (rank 1's), gpu, registration, huge_pages, staged_twin,
// stage_chunk, stage_depth.
void add_memory(InfoBuilder& builder);

// gpu and registration, where the target's memory is a GPU's and the initiator's the host's.
void add_gpu_target(InfoBuilder& builder);
// Writes rank 1's GPU and the way of registration into `options`.
void choose_gpu_target(const Context& context, Link::Options& options);

// Both sides' memory. Plain value.
struct MemoryChoice {
  MemoryKind initiator = MemoryKind::kHost;  // rank 0
  MemoryKind target = MemoryKind::kHost;     // rank 1
  [[nodiscard]] MemoryKind of(std::uint32_t rank) const { return rank == 0 ? initiator : target; }
  [[nodiscard]] bool is(MemoryKind kind) const { return initiator == kind || target == kind; }
};
// Resolves target_memory "same" to rank 0's kind.
MemoryChoice memory_choice(const Params& params);

// Writes the kind of memory of this rank's areas into `options`. Nothing is sent inline out of GPU
// memory, because the CPU would have to read it.
void choose_memory(const Context& context, Link::Options& options);

// For a kernel whose CPU polls the message: kUnimplemented where either side's is in a GPU.
Status check_cpu_may_poll(const Context& context);

// The facts memory, path, peer_memory and peer_path.
void report_memory(const PeerAddress& mine, const PeerAddress& peer, Reporter& reporter);

}  // namespace railgauge::verbs

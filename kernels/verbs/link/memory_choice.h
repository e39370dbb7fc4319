// The parameters that select source and target memory of the messages. Each side has its own, and
// both ranks know both, so that each cell of the device and host matrix is one task.
#pragma once

#include "kernels/core/info_builder.h"
#include "kernels/core/kernel.h"
#include "kernels/verbs/link/link.h"
#include "kernels/verbs/memory/memory.h"
#include "kernels/verbs/transport/peer.pb.h"

namespace railgauge::verbs {

// Declares memory (rank 0's), target_memory (rank 1's), gpu, registration, dmabuf_mapping,
// huge_pages, on_demand, staged_twin, stage_chunk, stage_depth.
void add_memory(InfoBuilder& builder);

// Declares gpu, registration and dmabuf_mapping, for a target in GPU memory and an initiator in
// host memory.
void add_gpu_target(InfoBuilder& builder);
// Writes rank 1's GPU and its registration into `options`, and that the memory is proved.
void choose_gpu_target(const Context& context, Link::Options& options);

// Both sides' memory. Plain value.
struct MemoryChoice {
  MemoryKind initiator = MemoryKind::kHost;  // rank 0
  MemoryKind target = MemoryKind::kHost;     // rank 1
  [[nodiscard]] MemoryKind of(std::uint32_t rank) const { return rank == 0 ? initiator : target; }
  [[nodiscard]] bool is(MemoryKind kind) const { return initiator == kind || target == kind; }
};
// Returns both sides' memory; target_memory "same" becomes rank 0's kind.
MemoryChoice memory_choice(const Params& params);

// Writes the memory kind of this rank's areas into `options`. Turns inline sending off for GPU
// memory, because the CPU would have to read it.
void choose_memory(const Context& context, Link::Options& options);

// For kernels whose CPU polls the message: kUnimplemented when either side's memory is a GPU's.
Status check_cpu_may_poll(const Context& context);

// Reports the facts memory, path, peer_memory and peer_path.
void report_memory(const PeerAddress& mine, const PeerAddress& peer, Reporter& reporter);

}  // namespace railgauge::verbs

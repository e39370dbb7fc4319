#include "kernels/verbs/link/memory_choice.h"

#include <cstdlib>

#include <fmt/format.h>

#include "kernels/gpu/session/busy.h"

namespace railgauge::verbs {
namespace {

// Bounds of the staging parameters.
constexpr double kMaxChunkBytes = 64U << 20U;
constexpr double kMaxStageDepth = 64;

// The CPU touches nothing of it: `options` of a rank whose areas are a GPU's.
void keep_cpu_off(Link::Options& options) {
  options.inline_bytes = 0;
  // An mlx5 adapter puts small arrivals into the completion, and its library's memcpy, the CPU,
  // from there into the message's memory.
  setenv("MLX5_SCATTER_TO_CQE", "0", 0);
}

void choose_registration(const Params& params, Link::Options& options) {
  options.registration = params.text("registration");
  options.dmabuf_mapping = params.text("dmabuf_mapping");
}

}  // namespace

// Kernels whose rank 0 is always in host memory declare these alone.
void add_gpu_target(InfoBuilder& builder) {
  gpu::add_busy_parameter(builder);
  builder
      .text("gpu",
            "this rank's GPU: a number, or a UUID; of several devices one for all, or a list of "
            "one for each as they are named",
            "0")
      .identity()
      .per_rank()
      .choice("registration", "",
              "how the adapter reaches GPU memory; auto takes the first that works of dma-buf and "
              "nvidia-peermem",
              {"auto", "dma-buf", "nvidia-peermem"})
      .identity()
      .choice("dmabuf_mapping", "",
              "the path of a dma-buf to GPU memory. auto: by the topology; default: the driver's "
              "choice; pcie: the PCIe BAR; data-direct: the adapter's Data Direct function",
              {"auto", "default", "pcie", "data-direct"})
      .identity();
}

// Rank 0 keeps host memory; rank 1 takes its GPU's.
void choose_gpu_target(const Context& context, Link::Options& options) {
  choose_registration(context.params, options);
  options.proves = true;
  if (context.rank == 0) return;
  options.memory = {.kind = MemoryKind::kCuda, .gpu = context.params.text("gpu")};
  keep_cpu_off(options);
}

void add_memory(InfoBuilder& builder) {
  builder
      .choice(
          "memory", "",
          "rank 0's memory: the host's; a GPU's, which the adapter reads and writes; or a GPU's, "
          "copied through pinned host memory (staged)",
          {"host", "cuda", "staged"})
      .identity()
      .choice("target_memory", "", "rank 1's memory; same is as rank 0's",
              {"same", "host", "cuda", "staged"})
      .identity();
  add_gpu_target(builder);
  builder
      .boolean("staged_twin",
               "beside cuda: measures the same staged as well, and says where the two cross", false)
      .boolean("huge_pages", "host memory in pages of 2 MiB", false)
      .identity()
      .boolean("on_demand",
               "host memory by on-demand paging: the adapter asks for pages as it needs them, and "
               "none are locked",
               false)
      .identity()
      .bytes("stage_chunk", "staged: what one copy between GPU and host moves", "256KiB",
             kMaxChunkBytes)
      .identity()
      .integer("stage_depth",
               "staged: chunks on their way at once; of a stream of shorter messages more, up to "
               "depth, so that as many bytes are",
               4, 1, kMaxStageDepth)
      .identity();
}

// Pure; the parameters were checked against their choices before.
MemoryChoice memory_choice(const Params& params) {
  MemoryChoice choice;
  choice.initiator = memory_kind_of(params.text("memory"));
  const std::string& target = params.text("target_memory");
  choice.target = target == "same" ? choice.initiator : memory_kind_of(target);
  return choice;
}

void choose_memory(const Context& context, Link::Options& options) {
  const Params& params = context.params;
  options.memory = {.kind = memory_choice(params).of(context.rank),
                    .huge_pages = params.boolean("huge_pages"),
                    .gpu = params.text("gpu")};
  options.on_demand = params.boolean("on_demand");
  choose_registration(params, options);
  options.proves = memory_choice(params).is(MemoryKind::kCuda);
  if (options.memory.kind != MemoryKind::kHost) keep_cpu_off(options);
}

Status check_cpu_may_poll(const Context& context) {
  if (!memory_choice(context.params).is(MemoryKind::kCuda)) return {};
  return fail(Code::kUnimplemented,
              "memory cuda: a write's latency is taken by the CPU that polls the message, which it "
              "never does in GPU memory; take verbs.write_imm_lat, whose end is a completion, or "
              "verbs.write_visible_lat, where a GPU kernel polls");
}

void report_memory(const PeerAddress& mine, const PeerAddress& peer, Reporter& reporter) {
  reporter.fact("memory", mine.memory());
  reporter.fact("path", mine.path());
  reporter.fact("peer_memory", peer.memory());
  reporter.fact("peer_path", peer.path());
}

}  // namespace railgauge::verbs

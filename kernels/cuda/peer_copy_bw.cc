// Bandwidth of copies from one GPU's memory to another's, over every ordered pair: NVLink, or PCIe
// where the driver allows peer access. Copies that the driver would stage through the host are not
// measured. Bytes count once, where they arrive. `direction` selects the executing GPU: read, the
// target; write, the source. Samples and `bidirectional` as in host_copy_bw.cc; with sm the load is
// a second kernel.
#include <fmt/format.h>

#include "kernels/cuda/copy_bench.h"
#include "kernels/cuda/parameters.h"
#include "kernels/cuda/peers.h"

namespace railgauge::cuda {
namespace {

// A copy that the target's GPU runs (`reads`) or the source's.
Flow flow_of(const gpu::Gpu* source, const gpu::Gpu* target, bool reads) {
  return {.runs_on = reads ? target : source, .source = source, .target = target};
}

// The measured copy, and its reverse as load; in the reverse the same kind of end executes.
Route route_of(const GpuPair& pair, bool reads, bool loaded) {
  Route route{.flows = {flow_of(pair.source, pair.target, reads)},
              .pair = name_of(pair),
              .meaning = loaded ? "unidirectional_under_load" : "unidirectional"};
  if (loaded) {
    route.flows.push_back(flow_of(pair.target, pair.source, reads));
    route.flows.back().measured = false;
  }
  return route;
}

// A route for each ordered pair of GPUs with peer access.
Result<CopyPlan> plan_routes(Context& context) {
  const Params& params = context.params;
  CopyPlan plan{.session = RG_TRY(gpu::Session::open_several(context, 2)),
                .engine = engine_of(params.text("engine"))};
  const bool reads = params.text("direction") == "read";
  const bool loaded = params.boolean("bidirectional");
  const std::vector<GpuPair> all = RG_TRY(enable_pairs(context, plan.session.gpus()));
  const auto pairs = drawn_pairs(all, static_cast<std::uint64_t>(params.integer("pairs")),
                                 static_cast<std::uint64_t>(params.integer("pair_seed")));
  if (pairs.size() < all.size())
    context.reporter.fact("pairs_drawn", fmt::format("{} of {}", pairs.size(), all.size()));
  for (const GpuPair& pair : pairs) plan.routes.push_back(route_of(pair, reads, loaded));
  context.reporter.fact("reported", loaded ? "one way, under a load the other way"
                                           : "one way, the link otherwise idle");
  return plan;
}

constexpr double kMaxPairs = 65'536;
constexpr double kMaxSeed = 1e9;

// The declaration; the endpoint is "none", because the parameter `gpus` names the GPUs.
KernelInfo info() {
  return InfoBuilder("cuda.peer_copy_bw", 3, "Copies from one GPU's memory to another's, all pairs")
      .metrics({std::string(kBandwidthMetric)})
      .choice("direction", "", "who executes: read, the target's GPU, or write, the source's",
              {"read", "write"})
      .identity()
      .apply(add_engine)
      .apply(add_bidirectional)
      .apply(add_copy_sampling)
      .integer("pairs", "so many of the pairs, drawn by pair_seed; 0 takes all", 0, 0, kMaxPairs)
      .integer("pair_seed", "draws the pairs; another number draws others", 1, 0, kMaxSeed)
      .apply(gpu::add_gpus_parameter)
      .apply(gpu::add_session_parameters)
      .build();
}

}  // namespace
}  // namespace railgauge::cuda

namespace railgauge {
extern const KernelRow kCudaPeerCopyBw{cuda::info, cuda::make_copy_bench<cuda::plan_routes>};
}  // namespace railgauge

// Bandwidth of many copies at once.
//   all_to_host, host_to_all: each GPU in turn is measured while all others copy the same way and
//     outlast it: what one GPU gets of a shared host. A point for each GPU.
//   all_to_one, one_to_all: all copies that reach (leave) one GPU, in turn for each GPU; the figure
//     is the sum. All streams start at one gate, and bytes count once their copy is done, over the
//     whole time until then, so the figure is never above what moved: overlap_of() in plan.h. SM
//     copies that one GPU runs share its blocks, so that they run at once.
// `direction` (patterns between GPUs) as in peer_copy_bw.cc. `bidirectional`: a copy the other way
// beside each, as load; by sm between host and GPUs one kernel moves half of the bytes each way, as
// in host_copy_bw.cc.
#include <fmt/format.h>

#include "kernels/cuda/copy_bench.h"
#include "kernels/cuda/parameters.h"
#include "kernels/cuda/peers.h"

namespace railgauge::cuda {
namespace {

// The copy the other way, as load. Between GPUs the same end of the copy executes it, which is the
// other GPU.
Flow reversed_load(const Flow& flow) {
  Flow back{
      .runs_on = flow.runs_on, .source = flow.target, .target = flow.source, .measured = false};
  // Between GPUs the same end of the copy executes: the other GPU.
  if (flow.source != nullptr && flow.target != nullptr)
    back.runs_on = flow.runs_on == flow.source ? flow.target : flow.source;
  return back;
}

// A copy between the host and `gpu`; `up` is from the host.
Flow host_flow(const gpu::Gpu& gpu, bool up) {
  return {.runs_on = &gpu, .source = up ? nullptr : &gpu, .target = up ? &gpu : nullptr};
}

// The route that measures one GPU while all others copy the same way, each with its reverse where
// asked.
Route host_route(std::span<const gpu::Gpu> gpus, const gpu::Gpu& measured, bool up, bool both_ways,
                 bool with_reverse) {
  Route route{.flows = {host_flow(measured, up)},
              .pair = up ? "host>" + measured.name() : measured.name() + ">host",
              .meaning = "",
              .linked = &measured};
  if (with_reverse) route.flows.push_back(reversed_load(route.flows.front()));
  for (const gpu::Gpu& other : gpus) {
    if (other.index() == measured.index()) continue;
    route.flows.push_back(host_flow(other, up));
    route.flows.back().measured = false;
    if (with_reverse) route.flows.push_back(reversed_load(route.flows.back()));
  }
  const bool loaded = both_ways || route.flows.size() > 1;
  route.meaning = loaded ? "unidirectional_under_load" : "unidirectional";
  return route;
}

// Returns the route of all pairs with peer access that reach `one` (`to_one`) or leave it. Without
// such a pair it has no flows.
Route gpu_route(const std::vector<GpuPair>& pairs, const gpu::Gpu& one, bool to_one, bool reads,
                bool both_ways) {
  Route route{.flows = {},
              .pair = to_one ? "all>" + one.name() : one.name() + ">all",
              .meaning = both_ways ? "overlap_sum_under_load" : "overlap_sum"};
  for (const GpuPair& pair : pairs)
    if ((to_one ? pair.target : pair.source)->index() == one.index())
      route.flows.push_back({.runs_on = reads ? pair.target : pair.source,
                             .source = pair.source,
                             .target = pair.target});
  const std::size_t measured = route.flows.size();
  for (std::size_t i = 0; both_ways && i < measured; ++i)
    route.flows.push_back(reversed_load(route.flows[i]));
  return route;
}

// The routes of one pattern. Patterns with the host need one GPU, those between GPUs two.
Result<CopyPlan> plan_routes(Context& context) {
  const Params& params = context.params;
  const std::string& pattern = params.text("pattern");
  const bool reads = params.text("direction") == "read";
  const bool both_ways = params.boolean("bidirectional");
  const std::string& word = params.text("engine");
  const bool with_host = pattern == "all_to_host" || pattern == "host_to_all";
  CopyPlan plan{
      .session = RG_TRY(with_host ? gpu::Session::open_several(context, 1, gpu::Apart::kEach)
                                  : gpu::Session::open_several(context, 2)),
      .engine = with_host && both_ways ? both_ways_engine_of(word) : engine_of(word)};
  const std::span<const gpu::Gpu> gpus = plan.session.gpus();
  std::vector<GpuPair> pairs;
  if (!with_host) pairs = RG_TRY(enable_pairs(context, gpus));
  for (const gpu::Gpu& gpu : gpus) {
    Route route = with_host ? host_route(gpus, gpu, pattern == "host_to_all", both_ways,
                                         both_ways && !moves_both_ways(plan.engine))
                            : gpu_route(pairs, gpu, pattern == "all_to_one", reads, both_ways);
    if (!route.flows.empty()) plan.routes.push_back(std::move(route));
  }
  context.reporter.fact("reported", with_host ? "one GPU's copy while all copy"
                                              : "sum of all copies, each counted once done");
  return plan;
}

// The declaration; the endpoint is "none", because the parameter `gpus` names the GPUs.
KernelInfo info() {
  return InfoBuilder("cuda.fan_copy_bw", 5,
                     "Many copies at once: all GPUs and the host, or one GPU")
      .metrics({std::string(kBandwidthMetric)})
      .choice("pattern", "", "from where to where",
              {"all_to_host", "host_to_all", "all_to_one", "one_to_all"})
      .identity()
      .choice("direction", "",
              "between GPUs, who executes: read, the target's GPU, or write, the source's",
              {"read", "write"})
      .identity()
      .apply(add_host_engine)
      .apply(add_bidirectional)
      .apply(add_copy_sampling)
      .apply(gpu::add_gpus_parameter)
      .apply(gpu::add_session_parameters)
      .build();
}

}  // namespace
}  // namespace railgauge::cuda

namespace railgauge {
extern const KernelRow kCudaFanCopyBw{cuda::info, cuda::make_copy_bench<cuda::plan_routes>};
}  // namespace railgauge

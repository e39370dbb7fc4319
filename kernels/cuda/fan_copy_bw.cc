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

// The routes of one pattern; all else is the bench's.
class FanCopyBandwidth final : public Kernel {
 public:
  // Patterns with the host need one GPU, those between GPUs two.
  Status prepare(Context& context) override {
    const Params& params = context.params;
    pattern_ = params.text("pattern");
    reads_ = params.text("direction") == "read";
    both_ways_ = params.boolean("bidirectional");
    const std::string& word = params.text("engine");
    const bool with_host = pattern_ == "all_to_host" || pattern_ == "host_to_all";
    session_ = RG_TRY(with_host ? gpu::Session::open_several(context, 1, gpu::Apart::kEach)
                                : gpu::Session::open_several(context, 2));
    const Engine engine = with_host && both_ways_ ? both_ways_engine_of(word) : engine_of(word);
    std::vector<Route> routes;
    if (with_host) {
      for (const gpu::Gpu& gpu : session_.gpus())
        routes.push_back(host_route(gpu, both_ways_ && engine == Engine::kCopyEngine));
    } else {
      routes = gpu_routes(RG_TRY(enable_pairs(context, session_.gpus())));
    }
    context.reporter.fact("reported", with_host ? "one GPU's copy while all copy"
                                                : "sum of all copies, each counted once done");
    return bench_.prepare(context, session_, engine, HostMemory::kPinned, std::move(routes));
  }

  Status connect(Context&, Group&) override { return {}; }
  Status measure(Context& context, Group&) override { return bench_.measure(context); }

 private:
  // The route that measures one GPU while all others copy the same way, each with its reverse where
  // asked.
  Route host_route(const gpu::Gpu& measured, bool with_reverse) const {
    const bool up = pattern_ == "host_to_all";
    Route route{.flows = {host_flow(measured, up)},
                .pair = up ? "host>" + measured.name() : measured.name() + ">host",
                .meaning = "",
                .linked = &measured};
    if (with_reverse) route.flows.push_back(reversed_load(route.flows.front()));
    for (const gpu::Gpu& other : session_.gpus()) {
      if (other.index() == measured.index()) continue;
      route.flows.push_back(host_flow(other, up));
      route.flows.back().measured = false;
      if (with_reverse) route.flows.push_back(reversed_load(route.flows.back()));
    }
    const bool loaded = both_ways_ || route.flows.size() > 1;
    route.meaning = loaded ? "unidirectional_under_load" : "unidirectional";
    return route;
  }
  // A copy between the host and `gpu`; `up` is from the host.
  static Flow host_flow(const gpu::Gpu& gpu, bool up) {
    return {.runs_on = &gpu, .source = up ? nullptr : &gpu, .target = up ? &gpu : nullptr};
  }

  // One route for each GPU that has at least one pair with peer access.
  [[nodiscard]] std::vector<Route> gpu_routes(const std::vector<GpuPair>& pairs) const {
    const bool to_one = pattern_ == "all_to_one";
    std::vector<Route> routes;
    for (const gpu::Gpu& one : session_.gpus()) {
      Route route{.flows = {},
                  .pair = to_one ? "all>" + one.name() : one.name() + ">all",
                  .meaning = both_ways_ ? "overlap_sum_under_load" : "overlap_sum"};
      for (const GpuPair& pair : pairs)
        if ((to_one ? pair.target : pair.source)->index() == one.index())
          route.flows.push_back({.runs_on = reads_ ? pair.target : pair.source,
                                 .source = pair.source,
                                 .target = pair.target});
      const std::size_t measured = route.flows.size();
      for (std::size_t i = 0; both_ways_ && i < measured; ++i)
        route.flows.push_back(reversed_load(route.flows[i]));
      if (measured > 0) routes.push_back(std::move(route));
    }
    return routes;
  }

  gpu::Session session_;
  std::string pattern_;
  bool reads_ = true;
  bool both_ways_ = false;
  CopyBench bench_;
};

// The declaration; the endpoint is "none", because the parameter `gpus` names the GPUs.
KernelInfo info() {
  return InfoBuilder("cuda.fan_copy_bw", 2,
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
extern const KernelRow kCudaFanCopyBw;
const KernelRow kCudaFanCopyBw{cuda::info, []() -> std::unique_ptr<Kernel> {
                                 return std::make_unique<cuda::FanCopyBandwidth>();
                               }};
}  // namespace railgauge

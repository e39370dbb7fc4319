// Bandwidth of copies between the host's memory and one GPU's. Bytes count once, where they arrive.
// A sample has the number of copies that last 8 ms, or one long copy. The GPU's own events stamp
// it, with the stream held until the whole batch is queued, so no sample includes queueing time.
// Copies of pageable memory block the caller, so the CPU's clock stamps them.
//
// `bidirectional`: copies in the other direction run meanwhile and outlast the measured ones; the
// figure is the measured direction alone. With sm one kernel moves half of the bytes each way (odd
// and even warps); the figure is the bytes of one way. With sm_again each thread moves its word 16
// times before the next one, and each time counts: nvbandwidth does the same, so caches take part.
// Ceiling: the PCIe link as trained.
#include <fmt/format.h>

#include "kernels/cuda/copy_bench.h"
#include "kernels/cuda/parameters.h"

namespace railgauge::cuda {
namespace {

// The measured copy, and the copy the other way where the copy engines run a load.
Route route_of(const gpu::Gpu* gpu, bool up, bool both_ways, bool loaded) {
  Flow to_gpu{.runs_on = gpu, .source = nullptr, .target = gpu};
  Flow to_host{.runs_on = gpu, .source = gpu, .target = nullptr};
  Route route{.flows = {up ? to_gpu : to_host},
              .pair = "",
              .meaning = both_ways ? "unidirectional_under_load" : "unidirectional",
              .linked = gpu};
  if (loaded) {
    route.flows.push_back(up ? to_host : to_gpu);
    route.flows.back().measured = false;
  }
  return route;
}

// One route between the host and one GPU.
Result<CopyPlan> plan_routes(Context& context) {
  const Params& params = context.params;
  CopyPlan plan{.session = RG_TRY(gpu::Session::open(context))};
  const bool both_ways = params.boolean("bidirectional");
  const std::string& word = params.text("engine");
  plan.engine = both_ways ? both_ways_engine_of(word) : engine_of(word);
  plan.host_memory = host_memory_of(params.text("host_memory"));
  context.reporter.fact("reported", both_ways ? "one way, under a load the other way"
                                              : "one way, the link otherwise idle");
  plan.routes.push_back(route_of(&plan.session.gpu(), params.text("direction") == "h2d", both_ways,
                                 both_ways && !moves_both_ways(plan.engine)));
  return plan;
}

// Direction, engine, load and kind of host memory are all part of a series' identity.
KernelInfo info() {
  return InfoBuilder("cuda.host_copy_bw", 3, "Copies between host memory and one GPU's memory")
      .endpoint("gpu")
      .metrics({std::string(kBandwidthMetric)})
      .choice("direction", "", "h2d: host to GPU, d2h: GPU to host", {"h2d", "d2h"})
      .identity()
      .apply(add_host_engine)
      .apply(add_bidirectional)
      .apply(add_host_memory)
      .apply(add_copy_sampling)
      .apply(gpu::add_session_parameters)
      .build();
}

}  // namespace
}  // namespace railgauge::cuda

namespace railgauge {
extern const KernelRow kCudaHostCopyBw{cuda::info, cuda::make_copy_bench<cuda::plan_routes>};
}  // namespace railgauge

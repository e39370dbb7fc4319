// Bandwidth of copies from one GPU's memory to another's, over every ordered pair: NVLink, or PCIe
// where the driver allows peer access; copies that the driver would stage through the host are not
// measured. Bytes count once, where they arrive. `direction` says who executes: read, the GPU that
// the data reaches; write, the one that it leaves. Samples and `bidirectional` as in
// host_copy_bw.cc; by sm the load is a second kernel.
#include <fmt/format.h>

#include "kernels/cuda/copy_bench.h"
#include "kernels/cuda/parameters.h"
#include "kernels/cuda/peers.h"

namespace railgauge::cuda {
namespace {

// A route for each ordered pair of GPUs with peer access.
class PeerCopyBandwidth final : public Kernel {
 public:
  Status prepare(Context& context) override {
    const Params& params = context.params;
    session_ = RG_TRY(gpu::Session::open_several(context, 2));
    const bool reads = params.text("direction") == "read";
    const bool loaded = params.boolean("bidirectional");
    std::vector<Route> routes;
    for (const GpuPair& pair : RG_TRY(enable_pairs(context, session_.gpus())))
      routes.push_back(route(pair, reads, loaded));
    context.reporter.fact("reported", loaded ? "one way, under a load the other way"
                                             : "one way, the link otherwise idle");
    return bench_.prepare(context, session_, engine_of(params.text("engine")), HostMemory::kPinned,
                          std::move(routes));
  }

  Status connect(Context&, Group&) override { return {}; }
  Status measure(Context& context, Group&) override { return bench_.measure(context); }

 private:
  // A copy that the target's GPU runs (`reads`) or the source's.
  static Flow flow(const gpu::Gpu* source, const gpu::Gpu* target, bool reads) {
    return {.runs_on = reads ? target : source, .source = source, .target = target};
  }
  // The measured copy, and its reverse as load; in the reverse the same kind of end executes.
  static Route route(const GpuPair& pair, bool reads, bool loaded) {
    Route route{.flows = {flow(pair.source, pair.target, reads)},
                .pair = name_of(pair),
                .meaning = loaded ? "unidirectional_under_load" : "unidirectional"};
    if (loaded) {
      route.flows.push_back(flow(pair.target, pair.source, reads));
      route.flows.back().measured = false;
    }
    return route;
  }

  gpu::Session session_;
  CopyBench bench_;
};

// The declaration; the endpoint is "none", because the parameter `gpus` names the GPUs.
KernelInfo info() {
  return InfoBuilder("cuda.peer_copy_bw", 1, "Copies from one GPU's memory to another's, all pairs")
      .metrics({std::string(kBandwidthMetric)})
      .choice("direction", "", "who executes: read, the target's GPU, or write, the source's",
              {"read", "write"})
      .identity()
      .apply(add_engine)
      .apply(add_bidirectional)
      .apply(add_copy_sampling)
      .apply(gpu::add_gpus_parameter)
      .apply(gpu::add_session_parameters)
      .build();
}

}  // namespace
}  // namespace railgauge::cuda

namespace railgauge {
extern const KernelRow kCudaPeerCopyBw;
const KernelRow kCudaPeerCopyBw{cuda::info, []() -> std::unique_ptr<Kernel> {
                                  return std::make_unique<cuda::PeerCopyBandwidth>();
                                }};
}  // namespace railgauge

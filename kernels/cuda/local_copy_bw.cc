// Bandwidth of copies within one GPU's memory. Bytes count once, as in nvbandwidth's
// device_local_copy, although the memory moves twice as many: each byte is read and written.
// Samples as in host_copy_bw.cc.
#include <fmt/format.h>

#include "kernels/cuda/copy_bench.h"
#include "kernels/cuda/parameters.h"

namespace railgauge::cuda {
namespace {

// One route whose source and target are memory of the same GPU.
Result<CopyPlan> plan_routes(Context& context) {
  CopyPlan plan{.session = RG_TRY(gpu::Session::open(context)),
                .engine = engine_of(context.params.text("engine"))};
  const gpu::Gpu* gpu = &plan.session.gpu();
  context.reporter.fact("reported", "bytes copied; the memory reads and writes each");
  plan.routes.push_back({.flows = {{.runs_on = gpu, .source = gpu, .target = gpu}},
                         .pair = "",
                         .meaning = "copied_once"});
  return plan;
}

// The declaration; the engine is part of a series' identity.
KernelInfo info() {
  return InfoBuilder("cuda.local_copy_bw", 3, "Copies within one GPU's memory")
      .endpoint("gpu")
      .metrics({std::string(kBandwidthMetric)})
      .apply(add_engine)
      .apply(add_copy_sampling)
      .apply(gpu::add_session_parameters)
      .build();
}

}  // namespace
}  // namespace railgauge::cuda

namespace railgauge {
extern const KernelRow kCudaLocalCopyBw{cuda::info, cuda::make_copy_bench<cuda::plan_routes>};
}  // namespace railgauge

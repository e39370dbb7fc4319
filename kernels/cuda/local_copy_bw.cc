// Bandwidth of copies within one GPU's memory. Bytes count once, as nvbandwidth's device_local_copy
// counts them: the memory moves twice as many, each is read and written. Samples as in
// host_copy_bw.cc.
#include <fmt/format.h>

#include "kernels/cuda/copy_bench.h"
#include "kernels/cuda/parameters.h"

namespace railgauge::cuda {
namespace {

// One route whose source and target are memory of the same GPU.
class LocalCopyBandwidth final : public Kernel {
 public:
  Status prepare(Context& context) override {
    session_ = RG_TRY(gpu::Session::open(context));
    const gpu::Gpu* gpu = &session_.gpu();
    context.reporter.fact("reported", "bytes copied; the memory reads and writes each");
    return bench_.prepare(context, session_, engine_of(context.params.text("engine")),
                          HostMemory::kPinned,
                          {{.flows = {{.runs_on = gpu, .source = gpu, .target = gpu}},
                            .pair = "",
                            .meaning = "copied_once"}});
  }

  Status connect(Context&, Group&) override { return {}; }
  Status measure(Context& context, Group&) override { return bench_.measure(context); }

 private:
  gpu::Session session_;
  CopyBench bench_;
};

// The declaration; the engine is part of a series' identity.
KernelInfo info() {
  return InfoBuilder("cuda.local_copy_bw", 1, "Copies within one GPU's memory")
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
extern const KernelRow kCudaLocalCopyBw;
const KernelRow kCudaLocalCopyBw{cuda::info, []() -> std::unique_ptr<Kernel> {
                                   return std::make_unique<cuda::LocalCopyBandwidth>();
                                 }};
}  // namespace railgauge

// Latency of one GPU's loads from the host's memory: a chain of dependent 8-byte loads by one
// thread, 128 bytes or more apart, past the first-level cache. A sample is the time of several
// launches on different multiprocessors, divided by their accesses; it includes the launches
// themselves. The end of the chain is compared with the expected one.
#include <fmt/format.h>

#include "kernels/cuda/chase.h"
#include "kernels/cuda/copy_bench.h"
#include "kernels/cuda/parameters.h"

namespace railgauge::cuda {
namespace {

// One chase through the host's memory.
class HostLatency final : public Kernel {
 public:
  Status prepare(Context& context) override {
    const Params& params = context.params;
    session_ = RG_TRY(gpu::Session::open(context));
    const std::uint64_t bytes = RG_TRY(chain_bytes(params));
    memory_ = RG_TRY(Area::on_host(host_memory_of(params.text("host_memory")), bytes,
                                   place_of(params, session_.gpu())));
    RG_TRY_OK(session_.check_host_memory(context, memory_.host()));
    chase_ = RG_TRY(Chase::prepare(context, session_.gpu(), memory_));
    context.reporter.fact("chase_code", chase_->image());
    context.reporter.fact("host_memory_observed", memory_.observed());
    context.reporter.fact("memory", fmt::format("host ({})", memory_.observed()));
    context.reporter.fact("path", "SM load");
    return {};
  }

  Status measure(Context& context, Group&) override {
    return chase_->measure(context, session_, "");
  }

 private:
  gpu::Session session_;
  Area memory_;
  std::optional<Chase> chase_;
};

// The declaration; the parameters of the chase are part of a series' identity.
KernelInfo info() {
  return InfoBuilder("cuda.host_latency", 2, "Dependent loads of one GPU from host memory")
      .endpoint("gpu")
      .metrics({std::string(kLatencyMetric)})
      .apply(add_host_memory)
      .apply(add_chase)
      .apply(gpu::add_session_parameters)
      .build();
}

}  // namespace
}  // namespace railgauge::cuda

namespace railgauge {
extern const KernelRow kCudaHostLatency{
    cuda::info, []() -> std::unique_ptr<Kernel> { return std::make_unique<cuda::HostLatency>(); }};
}  // namespace railgauge

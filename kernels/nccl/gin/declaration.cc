// The rows of the three kernels, and their parameters.
#include "kernels/core/info_builder.h"
#include "kernels/core/sampling.h"
#include "kernels/gpu/session/session.h"
#include "kernels/nccl/communicator/environment.h"
#include "kernels/nccl/gin/bench.h"

namespace railgauge::nccl {
namespace {

// The largest message. A ring's memory is twice as large, a get's as many times as there are ranks.
constexpr double kMostGinBytes = 64.0 * (1U << 20U);

KernelInfo gin_info(GinVerb verb) {
  const char* name = verb == GinVerb::kPut      ? "nccl.gin_put_lat"
                     : verb == GinVerb::kSignal ? "nccl.gin_signal_lat"
                                                : "nccl.gin_get_lat";
  const char* summary =
      verb == GinVerb::kPut      ? "NCCL GIN: a GPU puts and signals the next, around all ranks"
      : verb == GinVerb::kSignal ? "NCCL GIN: a GPU signals the next, around all ranks"
                                 : "NCCL GIN: a GPU gets from each of the others in turn";
  InfoBuilder builder(name, 1, summary);
  builder.ranks(2, 0).endpoint("gpu").metrics({"latency_ns"});
  if (verb != GinVerb::kSignal) builder.sizes("8,1KiB,64KiB", sizeof(std::uint64_t));
  builder
      .duration("stall_timeout", "give up when the rounds of a batch take longer", "60s",
                kGinSecond / 10, 3600 * kGinSecond)
      .duration("join_timeout", "give up when the ranks have not joined by then", "120s",
                kGinSecond / 10, 3600 * kGinSecond)
      .apply(add_environment_parameters)
      .sampling("rounds", kLatencySamples, 100'000);
  if (verb == GinVerb::kPut)
    builder.duration("proof_time",
                     "after its timed part each size puts messages whose first and last word are "
                     "the round's number, compared on each rank, until 500,000 are proved or this "
                     "long, of all sizes together; 0 sends 128 a size, verify false none",
                     "2s", 0, 3600 * kGinSecond);
  builder.apply(gpu::add_session_parameters);
  KernelInfo info = builder.build();
  for (ParameterInfo& parameter : *info.mutable_parameters())
    if (parameter.name() == "sizes") parameter.set_maximum(kMostGinBytes);
  return info;
}

template <GinVerb kVerb>
KernelInfo gin_info_of() {
  return gin_info(kVerb);
}
template <GinVerb kVerb>
std::unique_ptr<Kernel> make_gin_of() {
  return make_gin(kVerb);
}

}  // namespace
}  // namespace railgauge::nccl

namespace railgauge {
extern const KernelRow kNcclGinGetLat{nccl::gin_info_of<nccl::GinVerb::kGet>,
                                      nccl::make_gin_of<nccl::GinVerb::kGet>};
extern const KernelRow kNcclGinPutLat{nccl::gin_info_of<nccl::GinVerb::kPut>,
                                      nccl::make_gin_of<nccl::GinVerb::kPut>};
extern const KernelRow kNcclGinSignalLat{nccl::gin_info_of<nccl::GinVerb::kSignal>,
                                         nccl::make_gin_of<nccl::GinVerb::kSignal>};
}  // namespace railgauge

// Latency of one small copy between the host's memory and a GPU's, as the caller sees it: from the
// call of cuMemcpyHtoD or cuMemcpyDtoH until it returns. One call a sample, stamped by the CPU's
// clock. A call to the GPU from pageable memory may return when the driver has taken the bytes.
#include <algorithm>

#include <fmt/format.h>

#include "kernels/core/sampling.h"
#include "kernels/cuda/copy_bench.h"
#include "kernels/cuda/parameters.h"

namespace railgauge::cuda {
namespace {

// Seeds of the patterns in source and target; they differ, so that a copy that moves nothing shows.
constexpr std::uint64_t kSourceSeed = 1;
constexpr std::uint64_t kTargetSeed = 2;
// Copies that are not kept after a reading of NVML, which slows the first ones.
constexpr int kCopiesAfterReading = 8;

// One GPU, one thread, one copy under way at a time.
class CopyLatency final : public Kernel {
 public:
  Status prepare(Context& context) override {
    const Params& params = context.params;
    session_ = RG_TRY(gpu::Session::open(context));
    sizes_ = params.bytes_list("sizes");
    to_gpu_ = params.text("direction") == "h2d";
    options_ = RG_TRY(sampler_options(params));
    const gpu::Gpu& gpu = session_.gpu();
    const std::uint64_t most = *std::ranges::max_element(sizes_);
    const HostMemory memory = host_memory_of(params.text("host_memory"));
    kits_ = RG_TRY(Kits::create(session_.gpus().first(1), Engine::kCopyEngine));
    host_ = RG_TRY(Area::on_host(memory, most, place_of(params, gpu)));
    RG_TRY_OK(session_.check_host_memory(context, host_.host()));
    gpu_ = RG_TRY(Area::on_gpu(gpu, most));
    kits_.report_facts(context.reporter);
    context.reporter.fact("host_memory_observed", host_.observed());
    context.reporter.fact("memory", fmt::format("host ({}) and gpu", host_.observed()));
    if (to_gpu_ && memory == HostMemory::kPageable)
      context.reporter.fact("call_returns", "when the driver has taken the bytes");
    return {};
  }

  Status measure(Context& context, Group&) override {
    for (const std::uint64_t size : sizes_) RG_TRY_OK(measure_size(context, size));
    return {};
  }

 private:
  // The ends of a copy in the direction of the parameter.
  [[nodiscard]] const Area& source() const { return to_gpu_ ? host_ : gpu_; }
  [[nodiscard]] const Area& target() const { return to_gpu_ ? gpu_ : host_; }

  // One copy by the driver, as an application calls it.
  [[nodiscard]] cu::Return call(std::uint64_t size) const {
    const Cuda& cuda = loaded_cuda();
    return to_gpu_ ? cuda.memcpy_htod(gpu_.address(), host_.host().data(), size)
                   : cuda.memcpy_dtoh(host_.host().data(), gpu_.address(), size);
  }

  // Times `count` copies. The result of each is looked at after its stamp.
  Status batch(const Context& context, std::uint64_t size, std::uint64_t count,
               std::vector<double>& out) const {
    const TickClock& clock = tick_clock(context);
    if (monotonic_now_ns() >= context.deadline_monotonic_ns)
      return fail(Code::kDeadlineExceeded,
                  fmt::format("{}: measure copies: not done at the task's deadline",
                              session_.gpu().name()));
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t begin = clock.ticks();
      const cu::Return returned = call(size);
      const std::uint64_t end = clock.ticks();
      if (returned != cu::kSuccess) return gpu_status(session_.gpu(), returned, "copy");
      out.push_back(clock.to_ns(end - begin));
    }
    return {};
  }

  // Makes the target wrong before the first kept sample: only kept samples may be verified.
  Result<Sampled> sample(Context& context, std::uint64_t size) {
    return session_.sample(
        context, options_,
        [&](std::uint64_t count, std::vector<double>& out) {
          return batch(context, size, count, out);
        },
        [&]() -> Status {
          // The copy after a reading of NVML is slow: the next copies do not count.
          for (int copy = 0; copy < kCopiesAfterReading; ++copy)
            RG_TRY_OK(gpu_status(session_.gpu(), call(size), "copy"));
          return kits_.fill(target(), size, kTargetSeed);
        });
  }

  // Discards the first copy of a size: the driver may set up resources for the size.
  Status measure_size(Context& context, std::uint64_t size) {
    RG_TRY_OK(kits_.fill(source(), size, kSourceSeed));
    RG_TRY_OK(gpu_status(session_.gpu(), call(size), "copy for the first time"));
    const Sampled sampled = RG_TRY(sample(context, size));
    const bool verified = context.params.boolean("verify");
    if (verified) RG_TRY_OK(kits_.verify(target(), size, kSourceSeed));
    Point point = make_point({.metric = std::string(kLatencyMetric),
                              .meaning = "completion",
                              .unit = "ns",
                              .larger_is_better = false},
                             size, sampled, context.raw_samples, loaded_cuda().synthetic);
    point.set_verified(verified);
    auto& facts = *point.mutable_facts();
    facts["buffer"] = "hot";  // each copy moves the same bytes
    facts["timed_by"] = fmt::format("cpu: {}", tick_clock(context).source());
    facts["clock_drift_ppm"] = fmt::format("{:.3f}", tick_clock(context).drift_ppm());
    session_.report(context, std::move(point));
    return {};
  }

  gpu::Session session_;
  std::vector<std::uint64_t> sizes_;
  bool to_gpu_ = true;
  SamplerOptions options_;
  Area host_;
  Area gpu_;
  Kits kits_;
};

// The declaration; the direction is part of a series' identity.
KernelInfo info() {
  constexpr std::int64_t kMaxSamples = 100'000;
  return InfoBuilder("cuda.copy_latency", 3, "One small copy between host and GPU, call to return")
      .endpoint("gpu")
      .metrics({std::string(kLatencyMetric)})
      .choice("direction", "", "h2d: host to GPU, d2h: GPU to host", {"h2d", "d2h"})
      .identity()
      .apply(add_host_memory)
      .sizes("4:64KiB")
      .sampling("copies", kLatencySamples, kMaxSamples)
      .apply(gpu::add_still_session_parameters)
      .build();
}

}  // namespace
}  // namespace railgauge::cuda

namespace railgauge {
extern const KernelRow kCudaCopyLatency{
    cuda::info, []() -> std::unique_ptr<Kernel> { return std::make_unique<cuda::CopyLatency>(); }};
}  // namespace railgauge

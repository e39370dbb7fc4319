// The frame of every GPU kernel around its measuring: opens GPUs and adds facts, binds the thread
// and its memory to a NUMA node, notices other users of the GPU, watches clocks and throttle
// reasons.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/info_builder.h"
#include "kernels/core/kernel.h"
#include "kernels/core/sampler.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/session/placement.h"

namespace railgauge::gpu {

// Parameters of every GPU kernel: `busy` (waive, measure: what to do when another process uses the
// GPU) and `numa` (near, far, any: where the CPU's side runs and has its memory; identity).
void add_session_parameters(InfoBuilder& builder);
// For kernels over several GPUs (endpoint "none"): `gpus`, "all" or "0,2,3" (identity).
void add_gpus_parameter(InfoBuilder& builder);

// Holds the GPUs of a task. Not thread safe: belongs to the kernel's thread, which stays bound.
class Session {
 public:
  Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // The GPU of the context's endpoint; its context is current afterwards. Waives when it is busy
  // and `busy` does not say to measure, when `numa` is far and there is no other node.
  static Result<Session> open(Context& context);
  // Those of the parameter `gpus`; the first one's context is current. Kernels over pairs ask for
  // at least two by `minimum`: fewer waive. `apart` as in placement.h.
  static Result<Session> open_several(Context& context, std::size_t minimum,
                                      Apart apart = Apart::kUnbound);

  [[nodiscard]] std::span<const Gpu> gpus() const;
  [[nodiscard]] const Gpu& gpu() const { return gpus().front(); }

  // For host memory that is copied from or to and not filled yet, in Kernel::prepare: adds the NUMA
  // node of its pages as the fact `fact`. Waives when that is not the node of `numa`.
  Status check_host_memory(Context& context, std::span<std::byte> memory,
                           const std::string& fact = "host_node") const;

  // Around the measuring of one point: begin_point() before the first kept sample, with work that
  // is not kept between them, since it reads NVML and what follows that is slow; end_point() right
  // after the last one: verification, in which the GPU idles, is no part of it. report() adds what
  // NVML saw in between (sm_clock_mhz, sm_clock_mhz_min, throttle_reasons, temperature_c,
  // `throttled`) and hands the point to the context's reporter; it ends an interval that is still
  // open, and several points of one interval may follow each other.
  void begin_point();
  void end_point();
  // After end_point(): a process that was not there when the session opened and used one of the
  // GPUs in the interval shared what was measured. Waives then, or by busy=measure warns, and
  // report() adds the fact in_use_by.
  [[nodiscard]] Status check_undisturbed(Context& context);
  // Samples `batch` as one interval: begin_point(), then `ready`, between the warm-up and the first
  // kept sample; end_point() and check_undisturbed() after the last one. Errors are theirs and the
  // sampler's.
  Result<Sampled> sample(Context& context, const SamplerOptions& options,
                         const Sampler::Batch& batch, const Sampler::Ready& ready);
  // Adds the interval's readings to the point and passes it to the context's reporter.
  void report(Context& context, Point point);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace railgauge::gpu

// The frame around the measuring of every GPU kernel: opens GPUs and adds facts, binds the thread
// and its memory to a NUMA node, detects other users of the GPU, watches clocks and throttle
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

// Declares the parameters of every GPU kernel: `busy` (waive, measure: the reaction to another
// process on the GPU) and `numa` (near, far, any: the node of the CPU's side and its memory;
// identity), `beside` (other GPUs measured meanwhile; identity), `watch` (running, still: NVML
// beside the samples; identity).
void add_session_parameters(InfoBuilder& builder);
// The same with a watch that is still unless asked for, where a reading of NVML beside the samples
// moves their p99 by more than 2 % (deploy/check_watch.sh).
void add_still_session_parameters(InfoBuilder& builder);
// The same with a still watch for kernels whose ranks share a GPU: other processes are what they
// measure, so `busy` is `measure` unless asked.
void add_shared_session_parameters(InfoBuilder& builder);
// Declares `gpus` for kernels over several GPUs (endpoint "none"): "all" or "0,2,3" (identity).
void add_gpus_parameter(InfoBuilder& builder);

// Holds the GPUs of a task. Not thread safe: belongs to the kernel's thread, which stays bound.
class Session {
 public:
  Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // Opens the GPU of the context's endpoint and leaves its context current. Waives when the GPU is
  // busy without busy=measure, and for numa=far on a machine without another node.
  static Result<Session> open(Context& context);
  // Opens the GPUs of the parameter `gpus` and leaves the first one's context current. Waives with
  // fewer than `minimum`, 2 for kernels over pairs. `apart` as in placement.h.
  static Result<Session> open_several(Context& context, std::size_t minimum,
                                      Apart apart = Apart::kUnbound);

  [[nodiscard]] std::span<const Gpu> gpus() const;
  [[nodiscard]] const Gpu& gpu() const { return gpus().front(); }

  // Checks host memory that is a copy's source or target, in Kernel::prepare and before it is
  // filled: adds the NUMA node of its pages as the fact `fact`. Waives when it is not the node of
  // `numa`.
  Status check_host_memory(Context& context, std::span<std::byte> memory,
                           const std::string& fact = "host_node") const;

  // Enclose the measuring of one point. Call begin_point() before the first kept sample, with some
  // discarded work in between, because work right after its NVML reading is slow. Call end_point()
  // right after the last sample, before verification, in which the GPU idles. report() adds NVML's
  // readings of the interval (sm_clock_mhz, sm_clock_mhz_min, throttle_reasons, temperature_c,
  // `throttled`), passes the point to the context's reporter, and ends an interval that is still
  // open. Several points may report one interval.
  void begin_point();
  void end_point();
  // Call after end_point(). A process that came after the session opened and used one of the GPUs
  // in the interval shared the measured resource: waives, or warns with busy=measure, and report()
  // adds the fact in_use_by.
  [[nodiscard]] Status check_undisturbed(Context& context);
  // Samples `batch` as one interval: calls begin_point(), then `ready`, between the warm-up and the
  // first kept sample; end_point() and check_undisturbed() after the last one. Errors are from
  // `ready`, check_undisturbed() and the sampler.
  Result<Sampled> sample(Context& context, const SamplerOptions& options,
                         const Sampler::Batch& batch, const Sampler::Ready& ready);
  // Adds the interval's readings to the point and passes it to the context's reporter.
  void report(Context& context, Point point);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace railgauge::gpu

// The kernel of all copy bandwidths: reads sizes and sampling from the parameters, allocates the
// memory of all routes, and reports one point for each size of a route.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/core/sampling.h"
#include "kernels/cuda/route/kits.h"
#include "kernels/cuda/route/route_run.h"
#include "kernels/gpu/session/session.h"

namespace railgauge::cuda {

// The routes of one task, and their way of copying.
struct CopyPlan {
  gpu::Session session;
  Engine engine = Engine::kCopyEngine;
  // Over GPUs of the session.
  std::vector<Route> routes{};
  HostMemory host_memory = HostMemory::kPinned;
};
// Opens the session and chooses the routes, in Kernel::prepare: the only difference between copy
// kernels.
using PlanCopies = Result<CopyPlan> (*)(Context& context);

// Measures every size of every route, with a point for each. Needs the parameters of add_engine(),
// add_copy_sampling() and gpu::add_session_parameters(). Not thread safe.
class CopyBench final : public Kernel {
 public:
  explicit CopyBench(PlanCopies plan) : plan_copies_(plan) {}
  // Allocates the memory that the routes need at once and loads code. Waives when memory is
  // lacking, or when the engine cannot run or cannot reach the memory. Reports facts.
  Status prepare(Context& context) override;
  Status measure(Context& context, Group&) override;

 private:
  // Memory of one end, with the bytes that the largest size needs.
  struct Held {
    std::uint64_t bytes = 0;
    Area area;
  };
  // The GPU, true for host memory beside the GPU, and the number of earlier ends of the route in
  // the same place.
  using Key = std::tuple<int, bool, std::size_t>;

  [[nodiscard]] Status check() const;
  Status allocate(Context& context);
  Result<Area> allocate_host(Context& context, const gpu::Gpu& gpu, std::uint64_t bytes) const;
  template <class Visit>
  static void for_each_end(const Route& route, Visit visit);
  std::vector<std::pair<const Area*, const Area*>> areas_of(const Route& route);
  Status measure_size(Context& context, const Route& route, std::uint64_t size);
  Status check_gpus(const Route& route, std::uint64_t size, Point& point) const;
  Result<Point> sample(Context& context, const Route& route, RouteRun& run, std::uint64_t size);

  PlanCopies plan_copies_;
  // Its session outlives the kits and the memory below.
  CopyPlan plan_;
  std::vector<std::uint64_t> sizes_;
  SamplerOptions options_;
  std::uint64_t copies_in_sample_ = 0;
  bool is_cold_ = false;
  bool verify_ = true;
  // Bytes of the largest second-level cache among the GPUs.
  std::uint64_t cache_bytes_ = 0;
  std::map<Key, Held> held_;
  Kits kits_;
};

// Makes the kernel: the `make` of a KernelRow.
template <PlanCopies kPlan>
std::unique_ptr<Kernel> make_copy_bench() {
  return std::make_unique<CopyBench>(kPlan);
}

// Reads a word of the parameter `engine`: "ce", "sm", "tma", "sm_again". "sm" and "sm_again" differ
// only when one kernel moves both ways.
Engine engine_of(std::string_view word);
// Reads the engine of copies between the host and a GPU in both directions.
Engine both_ways_engine_of(std::string_view word);
// Returns the place of the session's host memory, "near:0", by which gpu/reuse.h distinguishes
// buffers.
std::string place_of(const Params& params, const gpu::Gpu& gpu);

}  // namespace railgauge::cuda

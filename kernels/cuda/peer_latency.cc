// Latency of one GPU's loads from another GPU's memory, over every ordered pair, measured as in
// host_latency.cc. The pair is named by the data's direction: in "gpu0>gpu1" gpu1 reads gpu0's
// memory.
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "kernels/cuda/chase.h"
#include "kernels/cuda/parameters.h"
#include "kernels/cuda/peers.h"

namespace railgauge::cuda {
namespace {

// A chase for each ordered pair, all prepared before the first is measured.
class PeerLatency final : public Kernel {
 public:
  Status prepare(Context& context) override {
    session_ = RG_TRY(gpu::Session::open_several(context, 2));
    const auto pairs = RG_TRY(enable_pairs(context, session_.gpus()));
    const std::uint64_t bytes = RG_TRY(chain_bytes(context.params));
    for (const GpuPair& pair : pairs) {
      auto route = std::make_unique<Route>();
      route->pair = pair;
      route->memory = RG_TRY(Area::on_gpu(*pair.source, bytes));
      route->chase = RG_TRY(Chase::prepare(context, *pair.target, route->memory));
      routes_.push_back(std::move(route));
    }
    context.reporter.fact("chase_code", routes_.front()->chase->image());
    context.reporter.fact("memory", "gpu");
    context.reporter.fact("path", "SM load");
    return session_.gpu().make_current();
  }

  Status measure(Context& context, Group&) override {
    for (const auto& route : routes_)
      RG_TRY_OK(route->chase->measure(context, session_, name_of(route->pair)));
    return {};
  }

 private:
  // One pair with its chain. The reader's objects are released under the reader's context.
  struct Route {
    GpuPair pair{};
    Area memory;
    std::optional<Chase> chase;
    ~Route() {
      if (pair.target != nullptr) static_cast<void>(pair.target->make_current());
    }
  };

  gpu::Session session_;
  std::vector<std::unique_ptr<Route>> routes_;
};

// The declaration; the parameters of the chase are part of a series' identity.
KernelInfo info() {
  return InfoBuilder("cuda.peer_latency", 2, "Dependent loads of one GPU from another's memory")
      .metrics({std::string(kLatencyMetric)})
      .apply(add_chase)
      .apply(gpu::add_gpus_parameter)
      .apply(gpu::add_session_parameters)
      .build();
}

}  // namespace
}  // namespace railgauge::cuda

namespace railgauge {
extern const KernelRow kCudaPeerLatency{
    cuda::info, []() -> std::unique_ptr<Kernel> { return std::make_unique<cuda::PeerLatency>(); }};
}  // namespace railgauge

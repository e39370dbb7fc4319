// Memory for all routes, the sampling of a route, and the checks of its figure.
#include "kernels/cuda/copy_bench.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "kernels/core/base/headline.h"
#include "kernels/core/stats/stats.h"
#include "kernels/core/text/units.h"
#include "kernels/cuda/parameters.h"
#include "kernels/gpu/ceiling/ceiling.h"
#include "kernels/gpu/ceiling/link_ceiling.h"
#include "kernels/gpu/session/host_pages.h"
#include "kernels/gpu/session/placement.h"

namespace railgauge::cuda {
namespace {

// A copy in both directions moves equal numbers of 512-byte units each way, so sizes are multiples
// of two units.
constexpr std::uint64_t kBothStep = 1024;
// Least samples behind one gate. The first sample begins on engines that idled. Under a short time
// cap long copies had one gate for each sample, and all of their samples began so.
constexpr std::uint64_t kLeastBatch = 4;

}  // namespace

// The words are checked by the parameter's declaration.
Engine engine_of(std::string_view word) {
  if (word == "tma") return Engine::kTma;
  return word == "ce" ? Engine::kCopyEngine : Engine::kSm;
}

Engine both_ways_engine_of(std::string_view word) {
  if (word == "ce" || word == "tma") return engine_of(word);
  return word == "sm" ? Engine::kSmBoth : Engine::kSmBothAgain;
}

std::string place_of(const Params& params, const gpu::Gpu& gpu) {
  return fmt::format("{}:{}", params.text("numa"), gpu.numa_node());
}

// Calls `visit(flow, key)` for source and target of each flow. Two ends in the same place get
// different keys, hence different memory.
template <class Visit>
void CopyBench::for_each_end(const Route& route, Visit visit) {
  std::map<std::pair<int, bool>, std::size_t> count;
  for (const Flow& flow : route.flows)
    for (const gpu::Gpu* end : {flow.source, flow.target}) {
      const bool host = end == nullptr;
      const int gpu = (host ? flow.runs_on : end)->index();
      visit(flow, Key{gpu, host, count[std::pair(gpu, host)]++});
    }
}

// Finds the largest second-level cache: cold copies of all routes rotate through a region larger
// than it.
Status CopyBench::prepare(Context& context) {
  plan_ = RG_TRY(plan_copies_(context));
  sizes_ = context.params.bytes_list("sizes");
  options_ = RG_TRY(sampler_options(context.params));
  copies_in_sample_ = static_cast<std::uint64_t>(context.params.integer("copies"));
  verify_ = context.params.boolean("verify");
  is_cold_ = context.params.text("buffer") == "cold";
  for (const gpu::Gpu& gpu : plan_.session.gpus())
    if (is_cold_)
      cache_bytes_ = std::max(cache_bytes_,
                              static_cast<std::uint64_t>(RG_TRY(gpu.attribute(cu::kL2CacheBytes))));
  RG_TRY_OK(check());
  kits_ = RG_TRY(Kits::create(plan_.session.gpus(), plan_.engine));
  RG_TRY_OK(allocate(context));
  kits_.report_facts(context.reporter);
  const auto on_host =
      std::ranges::find_if(held_, [](const auto& held) { return std::get<bool>(held.first); });
  const bool with_host = on_host != held_.end();
  if (with_host) context.reporter.fact("host_memory_observed", on_host->second.area.observed());
  context.reporter.fact(
      "memory", with_host ? fmt::format("host ({}) and gpu", on_host->second.area.observed())
                          : std::string("gpu"));
  return {};
}

// Combinations that the parameters allow one by one, but not together.
Status CopyBench::check() const {
  if (moves_both_ways(plan_.engine))
    for (const std::uint64_t size : sizes_)
      if (size % kBothStep != 0)
        return fail(Code::kInvalidArgument,
                    fmt::format("parameter sizes: {} is not a multiple of 1024: one kernel moves "
                                "half of it each way, in units of 512 bytes",
                                canonical_bytes(size)));
  if (plan_.host_memory != HostMemory::kPageable) return {};
  const gpu::Gpu& gpu = plan_.session.gpu();
  if (plan_.engine != Engine::kCopyEngine && RG_TRY(gpu.attribute(cu::kUsesHostPageTables)) == 0)
    return fail(Code::kUnimplemented,
                fmt::format("{}: copy pageable memory by sm: its threads cannot address it; "
                            "use engine ce or host_memory pinned",
                            gpu.name()));
  for (const Route& route : plan_.routes)
    if (route.flows.size() > 1)
      return fail(Code::kUnimplemented,
                  fmt::format("{}: run several copies of pageable memory at once: each returns "
                              "only when it is done; use host_memory pinned",
                              gpu.name()));
  return {};
}

// Each end gets the memory of the largest size that uses it.
Status CopyBench::allocate(Context& context) {
  for (const Route& route : plan_.routes)
    for_each_end(route, [this](const Flow& flow, const Key& key) {
      std::uint64_t& bytes = held_[key].bytes;
      for (const std::uint64_t size : sizes_)
        bytes = std::max(bytes, RouteRun::area_bytes(flow, plan_.engine, size, cache_bytes_));
    });
  for (auto& [key, held] : held_) {
    const auto [index, on_host, earlier] = key;
    const auto gpu = std::ranges::find(plan_.session.gpus(), index, &gpu::Gpu::index);
    held.area = on_host ? RG_TRY(allocate_host(context, *gpu, held.bytes))
                        : RG_TRY(Area::on_gpu(*gpu, held.bytes));
  }
  return plan_.session.gpu().make_current();
}

// Places the host memory of one GPU. A session of GPUs on several nodes cannot bind its thread
// beside all of them, so each GPU's memory is placed by itself.
Result<Area> CopyBench::allocate_host(Context& context, const gpu::Gpu& gpu,
                                      std::uint64_t bytes) const {
  RG_TRY_OK(gpu.make_current());
  const bool several = plan_.session.gpus().size() > 1;
  gpu::Placement place;
  if (several) place = RG_TRY(gpu::place_beside(context, gpu, bytes));
  Area area = RG_TRY(Area::on_host(plan_.host_memory, bytes, place_of(context.params, gpu)));
  const std::string fact = several ? gpu.name() + "_host_node" : "host_node";
  if (place.host.node >= 0)
    RG_TRY_OK(gpu::check_host_pages(context.reporter, fact, place.host, gpu.name(), area.host()));
  else
    RG_TRY_OK(plan_.session.check_host_memory(context, area.host(), fact));
  return area;
}

// Source and target of each flow, in the order of the flows.
std::vector<std::pair<const Area*, const Area*>> CopyBench::areas_of(const Route& route) {
  std::vector<const Area*> ends;
  for_each_end(route, [&](const Flow&, const Key& key) { ends.push_back(&held_.at(key).area); });
  std::vector<std::pair<const Area*, const Area*>> areas;
  for (std::size_t i = 0; i < ends.size(); i += 2) areas.emplace_back(ends[i], ends[i + 1]);
  return areas;
}

Status CopyBench::measure(Context& context, Group&) {
  for (const Route& route : plan_.routes)
    for (const std::uint64_t size : sizes_) RG_TRY_OK(measure_size(context, route, size));
  return {};
}

// Measures, verifies, and compares the figure with the link's ceiling.
Status CopyBench::measure_size(Context& context, const Route& route, std::uint64_t size) {
  std::optional<double> link;
  if (route.linked != nullptr) link = gpu::link_bytes_per_second(route.linked->pci_address());
  const RouteRun::Parts parts{.kits = &kits_,
                              .engine = plan_.engine,
                              .by_cpu = plan_.host_memory == HostMemory::kPageable,
                              .cache_bytes = cache_bytes_,
                              .copies_in_sample = copies_in_sample_,
                              .deadline_monotonic_ns = context.deadline_monotonic_ns,
                              .clock = &tick_clock(context)};
  RouteRun run = RG_TRY(RouteRun::start(parts, route, areas_of(route), size));
  Point point = RG_TRY(sample(context, route, run, size));
  if (verify_) RG_TRY_OK(run.verify());
  point.set_verified(verify_);
  if (route.linked != nullptr) RG_TRY_OK(gpu::check_link(*route.linked, link, point.median()));
  RG_TRY_OK(check_gpus(route, size, point));
  plan_.session.report(context, std::move(point));
  return {};
}

// Compares a copy among GPUs with what their memory or their links can carry. An engine that moves
// both ways counts both.
Status CopyBench::check_gpus(const Route& route, std::uint64_t size, Point& point) const {
  const Flow& flow = route.flows.front();
  if (flow.source == nullptr || flow.target == nullptr) return {};
  std::optional<gpu::Ceiling> ceiling;
  if (flow.source == flow.target) {
    ceiling = gpu::copy_ceiling(RG_TRY(gpu::memory_parts(*flow.source)),
                                RouteRun::area_bytes(flow, plan_.engine, size, cache_bytes_));
  } else if (route.flows.size() == 1 || !route.flows[1].measured) {
    ceiling =
        gpu::peer_ceiling(std::array{gpu::peer_parts(*flow.source), gpu::peer_parts(*flow.target)});
    if (ceiling && moves_both_ways(plan_.engine)) ceiling->bytes_per_second *= 2;
  }
  if (!ceiling) return {};
  gpu::add_ceiling_facts(*ceiling, headline_of(point), *point.mutable_facts());
  const std::string& name = route.pair.empty() ? flow.source->name() : route.pair;
  return gpu::check_ceiling(name, ceiling, point.median());
}

// The copies before the first sample count as warm-up, so that the point reports all of them.
Result<Point> CopyBench::sample(Context& context, const Route& route, RouteRun& run,
                                std::uint64_t size) {
  SamplerOptions options = options_;
  options.batch = run.batch();
  options.least_batch = std::min(run.batch(), kLeastBatch);
  options.warm_up = options.warm_up && !run.warm();
  options.operation_ns = run.sample_ns();
  const std::uint64_t before = run.copies_so_far();
  Sampled sampled = RG_TRY(plan_.session.sample(
      context, options,
      [&run](std::uint64_t count, std::vector<double>& out) { return run.sample(count, out); },
      [&run] { return run.restart(); }));
  sampled.warmup_count = before + sampled.warmup_count * run.copies_in_sample();
  Point point =
      make_point({.metric = std::string(kBandwidthMetric),
                  .meaning = route.meaning,
                  .unit = "bytes_per_second",
                  .larger_is_better = true},
                 size, sampled, context.raw_samples, loaded_cuda().synthetic || run.slowed());
  point.set_mean(rate_over_all_time(sampled.samples));
  (*point.mutable_facts())["mean_is"] = "all bytes over all time";
  point.set_pair(route.pair);
  (*point.mutable_facts())["buffer"] = is_cold_ ? "cold" : "hot";
  run.report_facts(point);
  return point;
}

}  // namespace railgauge::cuda

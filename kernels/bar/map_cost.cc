// The cost of making GPU memory reachable for the CPU and of undoing it: pin, map, unmap, unpin,
// each timed on its own, in a row, on memory of one size; between them the driver is asked about
// the mapping where the path has such a call, as GDRCopy's has. The steps depend on the path (a
// fact of the point): gdrdrv pins an allocation and maps it; a dma-buf is exported, mapped by mmap,
// and closed; Vulkan allocates, exports and imports, so that its pin includes the allocation. The
// stop rule looks at the sum of the four.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "kernels/bar/copy_timer.h"
#include "kernels/bar/setup.h"

namespace railgauge::bar {
namespace {

// One step and the metric of its time; the sum of a round has it where `counts`.
struct Step {
  const char* metric;
  Status (Window::*run)();
  bool counts = true;
};
constexpr std::array kSteps{Step{"pin_ns", &Window::pin}, Step{"map_ns", &Window::map},
                            Step{"get_info_ns", &Window::get_info, false},
                            Step{"unmap_ns", &Window::unmap}, Step{"unpin_ns", &Window::unpin}};
bool has_step(const Window& window, const Step& step) { return step.counts || window.has_info(); }
// A round takes up to some ms, so a batch is short: the stop rule looks between batches.
constexpr std::uint64_t kRoundsInBatch = 10;

// One window is made for each size; its steps run again and again on it.
class MapCost final : public Kernel {
 public:
  // Waives for a path without steps, as on coherent machines.
  Status prepare(Context& context) override {
    sizes_ = context.params.bytes_list("sizes");
    options_ = RG_TRY(sampler_options(context.params));
    options_.batch = kRoundsInBatch;
    // Proves the path with the largest size; the timed windows are made anew.
    setup_ = RG_TRY(Setup::open(context, *std::ranges::max_element(sizes_)));
    if (setup_.backend().has_steps()) return {};
    return fail(Code::kFailedPrecondition,
                fmt::format("{}: path {}: the CPU reaches GPU memory as it is, so there is nothing "
                            "to pin or map",
                            setup_.gpu().name(), setup_.backend().name()));
  }

  Status measure(Context& context, Group& /*group*/) override {
    for (const std::uint64_t bytes : sizes_) RG_TRY_OK(measure_size(context, bytes));
    return {};
  }

 private:
  // Times in ns, one series for each step, empty where the path lacks it.
  using Times = std::array<std::vector<double>, kSteps.size()>;

  // The sampler keeps the sums. The times of the steps are the last ones of each series, as many as
  // the sampler kept.
  Status measure_size(Context& context, std::uint64_t bytes) {
    const auto window = RG_TRY(setup_.make_window(bytes));
    Times times;  // of all rounds, those of the warm-up too
    Sampled sampled = RG_TRY(setup_.session().sample(
        context, options_,
        [&](std::uint64_t count, std::vector<double>& out) {
          return rounds(context, count, *window, times, out);
        },
        [&] {
          std::vector<double> not_kept;  // what follows NVML's readings is slow
          return rounds(context, 1, *window, times, not_kept);
        }));
    const std::size_t kept = sampled.samples.size();
    for (std::size_t step = 0; step < kSteps.size(); ++step) {
      if (!has_step(*window, kSteps[step])) continue;
      sampled.samples.assign(times[step].end() - static_cast<std::ptrdiff_t>(kept),
                             times[step].end());
      Point point =
          setup_.make_point({.metric = kSteps[step].metric, .meaning = "completion", .unit = "ns"},
                            bytes, sampled, context.raw_samples);
      (*point.mutable_facts())["converged_on"] = "the sum of pin, map, unmap and unpin";
      setup_.session().report(context, std::move(point));
    }
    return {};
  }

  // `count` rounds, with the sum of each appended to `out`.
  Status rounds(const Context& context, std::uint64_t count, Window& window, Times& times,
                std::vector<double>& out) const {
    RG_TRY_OK(check_deadline(context, "pin and map"));
    for (std::uint64_t round = 0; round < count; ++round)
      out.push_back(RG_TRY(one_round(tick_clock(context), window, times)));
    return {};
  }

  // Runs and times the steps once. Returns the sum of those that count, in ns.
  Result<double> one_round(const TickClock& clock, Window& window, Times& times) const {
    double sum_ns = 0;
    for (std::size_t step = 0; step < kSteps.size(); ++step) {
      if (!has_step(window, kSteps[step])) continue;
      const std::uint64_t begin = clock.ticks();
      const Status done = (window.*kSteps[step].run)();
      const double took_ns = clock.to_ns(clock.ticks() - begin);
      RG_TRY_OK(gpu::on_gpu(setup_.gpu(), done));
      times[step].push_back(took_ns);
      if (kSteps[step].counts) sum_ns += took_ns;
    }
    return sum_ns;
  }

  std::vector<std::uint64_t> sizes_;
  SamplerOptions options_;
  Setup setup_;
};

// The metrics come from the table of steps, so that both agree.
KernelInfo info() {
  std::vector<std::string> metrics;
  metrics.reserve(kSteps.size());
  for (const Step& step : kSteps) metrics.emplace_back(step.metric);
  InfoBuilder builder("bar.map_cost", 2,
                      "time to pin, map, unmap and unpin GPU memory for the CPU, by size");
  builder.endpoint("gpu").metrics(metrics).sizes("64KiB,1MiB,16MiB,64MiB");
  builder.sampling("rounds", 20, 1000);
  add_bar_parameters(builder);
  return builder.build();
}

}  // namespace
}  // namespace railgauge::bar

namespace railgauge {
extern const KernelRow kBarMapCost{
    bar::info, []() -> std::unique_ptr<Kernel> { return std::make_unique<bar::MapCost>(); }};
}  // namespace railgauge

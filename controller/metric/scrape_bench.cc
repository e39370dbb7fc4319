// The cost of a scrape: the page of an agent with 8 NIC ports and 8 GPUs, and of a controller, with
// the series that the catalog calls typical, and with all that it allows. The controller's series
// do not grow with the nodes, so the same page is that of 1,000 and of 10,000 nodes.
#include <benchmark/benchmark.h>

#include "controller/metric/registry.h"

namespace railgauge::metric {
namespace {

// Every family filled with so many series, which differ in their first label.
void fill(Registry& registry, Owner process, bool to_the_brim) {
  for (const Info& info : catalog()) {
    if (!is_shown_by(info, process)) continue;
    const auto names = label_names(info);
    const std::uint32_t count = to_the_brim ? info.most : info.typical;
    for (std::uint32_t i = 0; i < count; ++i) {
      Labels labels;
      for (const std::string_view name : names)
        labels[std::string(name)] = "some_value_" + std::to_string(labels.empty() ? i : 0);
      if (info.type == Type::kGauge)
        registry.set(info.name, labels, 1.25e9 + i);
      else
        registry.add(info.name, labels, i);
    }
  }
}

void scrape(benchmark::State& state, Owner process, bool to_the_brim) {
  Registry registry(process);
  fill(registry, process, to_the_brim);
  std::size_t bytes = 0;
  for (auto _ : state) {
    const std::string page = registry.text();
    bytes = page.size();
    benchmark::DoNotOptimize(page.data());
  }
  state.counters["page_bytes"] = static_cast<double>(bytes);
}

BENCHMARK_CAPTURE(scrape, agent, Owner::kAgent, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(scrape, agent_at_most, Owner::kAgent, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(scrape, controller, Owner::kController, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(scrape, controller_at_most, Owner::kController, true)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace railgauge::metric

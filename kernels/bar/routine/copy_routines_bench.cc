// The routines on host memory: not figures of a BAR, but the cost of the loops themselves, to show
// whether a change made one slower.
#include <benchmark/benchmark.h>

#include "kernels/bar/routine/copy_routines.h"
#include "kernels/memory/host_buffer.h"

namespace railgauge::bar {
namespace {

void copy(benchmark::State& state, Copy routine) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  auto from = HostBuffer::allocate(bytes);
  auto to = HostBuffer::allocate(bytes);
  if (!from || !to) return state.SkipWithError("no memory");
  for (auto _ : state) {
    routine(to->data(), from->data(), bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes));
}

const bool g_registered = [] {
  for (const Routine& routine : routines()) {
    if (!routine.available) continue;
    const std::string name = routine.name;
    for (const std::int64_t bytes : {8, 4096, 65536, 1 << 20}) {
      benchmark::RegisterBenchmark((name + "/write").c_str(), copy, routine.write)->Arg(bytes);
      if (routine.read != nullptr)
        benchmark::RegisterBenchmark((name + "/read").c_str(), copy, routine.read)->Arg(bytes);
    }
  }
  return true;
}();

}  // namespace
}  // namespace railgauge::bar

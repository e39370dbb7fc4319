// What the posting loops cost by themselves: the queue behind them completes at once.
#include <benchmark/benchmark.h>

#include <array>

#include "kernels/fakes/null_queue.h"
#include "kernels/verbs/ping_pong.h"
#include "kernels/verbs/write_stream.h"

namespace railgauge::verbs {
namespace {

constexpr std::uint64_t kRounds = 1000;
constexpr double kFarNs = 3600e9;

const TickClock& bench_clock() {
  static const TickClock clock = TickClock::calibrate();
  return clock;
}

void round_trip(benchmark::State& state) {
  fake::NullQueue null;
  SendQueue queue(null.queue_pair(), null.completions(), "null");
  queue.set_limits(bench_clock(), monotonic_now_ns() + kFarNs, kFarNs);
  std::uint8_t out = 0;
  std::uint8_t in = 0;
  std::array<std::uint64_t, kRounds + 1> stamps{};
  Volley volley;
  volley.last_out = &out;
  volley.last_in = &in;
  null.answer_in(&in);
  for (auto _ : state) {
    in = 0;
    benchmark::DoNotOptimize(initiate(queue, volley, bench_clock(), kRounds, stamps.data()));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRounds));
}
BENCHMARK(round_trip);

void streamed_write(benchmark::State& state) {
  fake::NullQueue null;
  SendQueue queue(null.queue_pair(), null.completions(), "null");
  queue.set_limits(bench_clock(), monotonic_now_ns() + kFarNs, kFarNs);
  const auto signal_every = static_cast<std::uint64_t>(state.range(0));
  WriteStream stream(queue, bench_clock(), WriteRequest{},
                     {.depth = 128, .signal_every = signal_every}, Slots{});
  for (auto _ : state) benchmark::DoNotOptimize(stream.top_up() && stream.retire() > 0);
  state.SetItemsProcessed(static_cast<std::int64_t>(null.posts()));
}
BENCHMARK(streamed_write)->Arg(1)->Arg(32)->Arg(100);

}  // namespace
}  // namespace railgauge::verbs

// The cost of the posting loops alone: the queue behind them completes at once.
#include <benchmark/benchmark.h>

#include <array>

#include "kernels/fakes/null_queue.h"
#include "kernels/verbs/ping_pong.h"
#include "kernels/verbs/stream/stream.h"

namespace railgauge::verbs {
namespace {

// Round trips in one iteration, so that the benchmark's own loop costs little beside them.
constexpr std::uint64_t kRounds = 1000;
// Limits that no benchmark reaches.
constexpr double kFarNs = 3600e9;

// Calibrated once: calibration sleeps for milliseconds.
const TickClock& bench_clock() {
  static const TickClock clock = TickClock::calibrate();
  return clock;
}

const std::array kOneRequest{Request{}};

// A send queue over one that completes at once.
struct Quick {
  explicit Quick(fake::NullQueue& null) {
    waiting.set_limits(bench_clock(), monotonic_now_ns() + kFarNs, kFarNs);
    const std::array raw{null.queue_pair()};
    queue = SendQueue(waiting, {null.completions()}, raw);
  }
  Waiting waiting;
  SendQueue queue;
};

// Cost of one ping-pong round without a network: stamp, post, poll of memory.
void round_trip(benchmark::State& state) {
  fake::NullQueue null;
  Quick quick(null);
  std::uint8_t out = 0;
  std::uint8_t in = 0;
  std::array<std::uint64_t, kRounds + 1> stamps{};
  RoundTrip round_trip;
  round_trip.last_out = &out;
  round_trip.last_in = &in;
  null.answer_in(&in);
  for (auto _ : state) {
    in = 0;
    benchmark::DoNotOptimize(
        initiate(quick.queue, round_trip, ByMemory{&in}, bench_clock(), kRounds, stamps.data()));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRounds));
}
BENCHMARK(round_trip);

// Cost of one streamed post. Arguments: posts from one completion to the next, posts in a chain.
void streamed_write(benchmark::State& state) {
  fake::NullQueue null;
  Quick quick(null);
  const auto signal_every = static_cast<std::uint64_t>(state.range(0));
  const auto post_list = static_cast<std::uint64_t>(state.range(1));
  Stream stream(quick.queue, bench_clock(), kOneRequest,
                {.depth = 128, .signal_every = signal_every, .post_list = post_list}, {});
  for (auto _ : state) benchmark::DoNotOptimize(stream.top_up() && stream.retire() > 0);
  state.SetItemsProcessed(static_cast<std::int64_t>(null.posts()));
}
BENCHMARK(streamed_write)->Args({1, 1})->Args({32, 1})->Args({100, 1})->Args({32, 16});

}  // namespace
}  // namespace railgauge::verbs

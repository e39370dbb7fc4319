// The cost of one record on its way through a pipe: framing, finding the frame, parsing.
#include <random>

#include <benchmark/benchmark.h>

#include "kernels/core/base/record.pb.h"
#include "kernels/core/group/framing.h"
#include "kernels/core/stats/stats.h"

namespace railgauge {
namespace {

Record record_of(std::size_t raw_samples) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> latency(7, 0.2);
  std::vector<double> values(10'000);
  for (double& value : values) value = latency(random);
  Record record;
  record.mutable_key()->set_run_id("01890f3a-0000-7000-8000-000000000000");
  record.mutable_key()->set_task_id("12");
  record.mutable_point()->set_metric("latency_ns");
  summarize(values, *record.mutable_point());
  for (std::size_t i = 0; i < raw_samples; ++i)
    record.mutable_point()->add_samples(values[i % values.size()]);
  return record;
}

void frame_record(benchmark::State& state) {
  const Record record = record_of(static_cast<std::size_t>(state.range(0)));
  std::size_t bytes = 0;
  for (auto _ : state) benchmark::DoNotOptimize(bytes += frame(record).size());
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}
BENCHMARK(frame_record)->Arg(0)->Arg(100'000);

void read_record(benchmark::State& state) {
  const std::string framed = frame(record_of(static_cast<std::size_t>(state.range(0))));
  FrameReader reader;
  for (auto _ : state) {
    reader.feed(framed);
    const auto bytes = reader.next();
    Record parsed;
    if (!bytes || !*bytes || !parsed.ParseFromString(**bytes)) state.SkipWithError("no record");
    benchmark::DoNotOptimize(parsed);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(framed.size()) * state.iterations());
}
BENCHMARK(read_record)->Arg(0)->Arg(100'000);

}  // namespace
}  // namespace railgauge

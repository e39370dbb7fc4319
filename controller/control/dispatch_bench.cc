// Measures the time until the last agent of a large round has its task: 1,000 scripted agents over
// real gRPC, in one process with the controller and on its cores. Timed from the first agent's
// PrepareTask to the last agent's; a second figure begins with the call that starts the run, and
// includes planning and storing.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "controller/testing/server_bench.h"

namespace railgauge {
namespace {

using testing_agent::Script;
using testing_agent::ScriptedAgent;
using testing_agent::ServerBench;
using Clock = std::chrono::steady_clock;

std::size_t tasks_seen(const std::vector<std::unique_ptr<ScriptedAgent>>& agents,
                       std::size_t wanted) {
  std::size_t seen = 0;
  for (const auto& agent : agents) {
    agent->wait_until([&](const ScriptedAgent& a) {
      return a.ended() || a.count(api::ControllerMessage::kPrepare) >= wanted;
    });
    seen += agent->count(api::ControllerMessage::kPrepare) >= wanted ? 1 : 0;
  }
  return seen;
}

double milliseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

// When the first and the last agent read their task. Nothing can change any more.
std::pair<Clock::time_point, Clock::time_point> prepared_between(
    const std::vector<std::unique_ptr<ScriptedAgent>>& agents) {
  Clock::time_point first = Clock::time_point::max();
  Clock::time_point last = Clock::time_point::min();
  for (const auto& agent : agents) {
    first = std::min(first, agent->last_prepare_at());
    last = std::max(last, agent->last_prepare_at());
  }
  return {first, last};
}

// Cancels and waits for the run's end, so that the next one has the fabric to itself.
bool end_run(ServerBench& bench, const std::string& run_id) {
  api::RunRef ref;
  ref.set_run_id(run_id);
  grpc::ClientContext context;
  api::RunSummary summary;
  if (!bench.stub_->CancelRun(&context, ref, &summary).ok()) return false;
  grpc::ClientContext watching;
  auto stream = bench.stub_->WatchRun(&watching, ref);
  for (api::RunEvent event; stream->Read(&event);) summary = event.run();
  return stream->Finish().ok() && !summary.outcome().empty();
}

void dispatch_a_round(benchmark::State& state) {
  const auto pairs = static_cast<std::size_t>(state.range(0));
  ServerBench bench;
  bench.write("halves.yaml",
              "version: 1\nmetadata: {name: halves}\nstages:\n  - kernel: fake.lat\n    placement: "
              "{pairs: halves}\n");
  bench.start();
  std::vector<std::unique_ptr<ScriptedAgent>> agents;
  for (std::size_t i = 1; i <= 2 * pairs; ++i) {
    agents.push_back(
        std::make_unique<ScriptedAgent>(bench.agent(fmt::format("n{:04}", i), Script::kHang)));
    if (!testing_agent::welcome(*agents.back())) return state.SkipWithError("an agent was refused");
  }
  std::size_t round = 0;
  double with_plan_ms = 0;
  double slowest_ms = 0;
  for ([[maybe_unused]] auto _ : state) {
    ++round;
    api::RunRequest request;
    request.mutable_suite()->set_name("halves");
    grpc::ClientContext context;
    api::RunSummary summary;
    const Clock::time_point begin = Clock::now();
    const grpc::Status status = bench.stub_->StartRun(&context, request, &summary);
    if (!status.ok()) return state.SkipWithError(status.error_message().c_str());
    if (tasks_seen(agents, round) != agents.size()) return state.SkipWithError("a task is missing");
    const auto [first, last] = prepared_between(agents);
    state.SetIterationTime(std::chrono::duration<double>(last - first).count());
    with_plan_ms = std::max(with_plan_ms, milliseconds(last - begin));
    slowest_ms = std::max(slowest_ms, milliseconds(last - first));
    if (!end_run(bench, summary.run_id())) return state.SkipWithError("the run did not end");
  }
  state.counters["slowest_ms"] = slowest_ms;  // the target is 250
  state.counters["with_planning_and_storing_ms"] = with_plan_ms;
}
BENCHMARK(dispatch_a_round)
    ->Arg(500)
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace railgauge

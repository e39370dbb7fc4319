// Tasks with several ranks on one node through the whole controller and scripted agents over real
// gRPC: loopback, and a collective over the GPUs of two nodes.
#include <chrono>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controller/testing/server_bench.h"

namespace railgauge {
namespace {

using testing::ElementsAre;
using testing::SizeIs;
using testing::UnorderedElementsAre;
using testing_agent::AgentOptions;
using testing_agent::ScriptedAgent;
using testing_agent::ServerBench;
using testing_agent::welcome;
using Stub = api::Control::Stub;

void set_deadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
}

template <class Answer, class Request>
Answer ask(ServerBench& bench,
           grpc::Status (Stub::*call)(grpc::ClientContext*, const Request&, Answer*),
           const Request& request) {
  grpc::ClientContext context;
  set_deadline(context);
  Answer answer;
  const grpc::Status status = (bench.stub_.get()->*call)(&context, request, &answer);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return answer;
}

// At the run's end.
std::string outcome_of(ServerBench& bench, const api::RunRef& run) {
  grpc::ClientContext context;
  set_deadline(context);
  auto stream = bench.stub_->WatchRun(&context, run);
  api::RunEvent event;
  while (stream->Read(&event)) {
  }
  EXPECT_TRUE(stream->Finish().ok());
  return event.run().outcome();
}

TEST(Loopback, LoopbackPutsBothRanksOnOnePortAndItsSeriesAreTheGpusSlots) {
  ServerBench bench;
  bench.start();
  auto options = bench.agent("n1");
  for (const char* name : {"gpu0", "gpu1"}) {
    api::Gpu& gpu = options.gpus.emplace_back();
    gpu.set_name(name);
    gpu.set_state("active");
    gpu.set_pci_address(gpu.name() == "gpu0" ? "0000:17:00.0" : "0000:9f:00.0");
    (*gpu.mutable_distances())["rxe0"] = gpu.name() == "gpu0" ? "PIX" : "SYS";
  }
  ScriptedAgent agent(options);
  ASSERT_TRUE(welcome(agent));
  bench.write("loopback.yaml",
              "version: 1\nmetadata: {name: loopback}\nstages:\n  - kernel: fake.memory\n    "
              "placement: {loopback: all, each: gpu_nic}\n");
  api::RunRequest request;
  request.mutable_suite()->set_name("loopback");
  api::RunRef run;
  run.set_run_id(ask<api::RunSummary>(bench, &Stub::StartRun, request).run_id());
  EXPECT_EQ(outcome_of(bench, run), "passed");
  std::vector<std::string> prepared;
  for (const api::ControllerMessage& message : agent.received())
    if (message.has_prepare()) {
      const api::PrepareTask& prepare = message.prepare();
      prepared.push_back(fmt::format(
          "{} of {} on {} {} {} {}", prepare.task().rank(), prepare.size(), prepare.endpoint(),
          prepare.gpu(), prepare.parameters().at("gpu"), prepare.facts().at("gpu_nic_distance")));
    }
  EXPECT_THAT(prepared, ElementsAre("0 of 2 on rxe0:1 gpu0 0 PIX", "1 of 2 on rxe0:1 gpu0 0 PIX",
                                    "0 of 2 on rxe0:1 gpu1 1 SYS", "1 of 2 on rxe0:1 gpu1 1 SYS"));
  EXPECT_THAT(ask<api::RunDetail>(bench, &Stub::GetRun, run).tasks(1).endpoints(),
              ElementsAre("n1/rxe0:1+gpu1", "n1/rxe0:1+gpu1"));
  const auto results = ask<api::ResultList>(bench, &Stub::QueryResults, api::ResultsRequest());
  ASSERT_THAT(results.points(), SizeIs(2));
  std::vector<std::string> told;  // in no order: the agent's clock does not advance
  for (const api::ResultPoint& point : results.points())
    told.push_back(fmt::format("{} {} {} {}", point.endpoints(0), point.endpoints(1),
                               point.facts().at("loopback"), point.facts().at("gpu_nic_distance")));
  EXPECT_THAT(told, UnorderedElementsAre("n1/rxe0:1+gpu0 n1/rxe0:1+gpu0 true PIX",
                                         "n1/rxe0:1+gpu1 n1/rxe0:1+gpu1 true SYS"));
}

AgentOptions with_two_gpus(AgentOptions options) {
  for (const char* name : {"gpu0", "gpu1"}) {
    api::Gpu& gpu = options.gpus.emplace_back();
    gpu.set_name(name);
    gpu.set_state("active");
    gpu.set_pci_address(gpu.name() == "gpu0" ? "0000:17:00.0" : "0000:9f:00.0");
  }
  return options;
}

// "RANK of SIZE on ENDPOINT" of each task that the agent was to prepare.
std::vector<std::string> prepared_by(const ScriptedAgent& agent) {
  std::vector<std::string> out;
  for (const api::ControllerMessage& message : agent.received())
    if (message.has_prepare())
      out.push_back(fmt::format("{} of {} on {}", message.prepare().task().rank(),
                                message.prepare().size(), message.prepare().endpoint()));
  return out;
}

TEST(Collectives, AGroupOfEachGpuHasARankOnEachOfThemOnAllNodes) {
  ServerBench bench;
  bench.start();
  ScriptedAgent first(with_two_gpus(bench.agent("n1")));
  ScriptedAgent second(with_two_gpus(bench.agent("n2")));
  ASSERT_TRUE(welcome(first) && welcome(second));
  bench.write("all.yaml",
              "version: 1\nmetadata: {name: all}\nstages:\n  - kernel: fake.collective\n    "
              "placement: {group: all, each: gpu}\n  - kernel: fake.collective\n    placement: "
              "{group: node, each: gpu}\n");
  api::RunRequest request;
  request.mutable_suite()->set_name("all");
  api::RunRef run;
  run.set_run_id(ask<api::RunSummary>(bench, &Stub::StartRun, request).run_id());
  EXPECT_EQ(outcome_of(bench, run), "passed");
  EXPECT_THAT(prepared_by(first),
              ElementsAre("0 of 4 on gpu0", "1 of 4 on gpu1", "0 of 2 on gpu0", "1 of 2 on gpu1"));
  EXPECT_THAT(prepared_by(second),
              ElementsAre("2 of 4 on gpu0", "3 of 4 on gpu1", "0 of 2 on gpu0", "1 of 2 on gpu1"));
  EXPECT_THAT(ask<api::RunDetail>(bench, &Stub::GetRun, run).tasks(0).endpoints(),
              ElementsAre("n1/gpu0", "n1/gpu1", "n2/gpu0", "n2/gpu1"));
}

}  // namespace
}  // namespace railgauge

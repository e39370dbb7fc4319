// Calls a running controller for a while and prints how long each kind of call took, as rows of a
// Markdown table. A measuring tool for deploy/scale/fleet_scale.sh, not a part of the product.
//   rpc_latency_bench TARGET SECONDS [RUN]
// TARGET is a unix socket (unix:/path). With RUN the calls about that run are made too. Each call
// is made by a thread of its own, one after the other, with a pause of kPauseMilliseconds.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "controller/api/archive.grpc.pb.h"
#include "controller/api/control.grpc.pb.h"

namespace railgauge {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kPauseMilliseconds = 50;
constexpr int kDeadlineSeconds = 60;
constexpr double kTail = 0.99;
constexpr int kMostMessageBytes = 256 << 20;

// One kind of call, and the times that it took.
struct Kind {
  std::string name{};
  std::function<grpc::Status(grpc::ClientContext&)> call{};
  std::vector<double> milliseconds{};
  std::size_t failed = 0;
  std::string error{};
};

// Answers are thrown away.
template <class Answer, class Stub, class Request>
Kind kind_of(const std::string& name, Stub& stub, const Request& request,
             grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Answer*)) {
  return {.name = name, .call = [&stub, request, method](grpc::ClientContext& context) {
            Answer answer;
            return (stub.*method)(&context, request, &answer);
          }};
}

void call_until(Kind& kind, Clock::time_point end) {
  do {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(kDeadlineSeconds));
    const Clock::time_point begin = Clock::now();
    const grpc::Status status = kind.call(context);
    kind.milliseconds.push_back(
        std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    if (!status.ok()) {
      ++kind.failed;
      kind.error = status.error_message();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(kPauseMilliseconds));
  } while (Clock::now() < end);
}

// The tail is the worst one where calls are few.
void print(Kind& kind) {
  std::ranges::sort(kind.milliseconds);
  const std::size_t count = kind.milliseconds.size();
  const auto at = [&](double share) {
    return kind.milliseconds[static_cast<std::size_t>(share * static_cast<double>(count - 1))];
  };
  std::printf("| %s | %zu | %.1f | %.1f | %.1f |", kind.name.c_str(), count, at(1.0 / 2), at(kTail),
              at(1));
  if (kind.failed > 0) std::printf(" %zu failed: %s", kind.failed, kind.error.c_str());
  std::printf("\n");
}

// The name of one node; "" when there is none, or when the call fails.
std::string first_node(api::Control::Stub& control) {
  grpc::ClientContext context;
  api::NodeList nodes;
  const grpc::Status status = control.ListNodes(&context, {}, &nodes);
  return status.ok() && nodes.nodes_size() > 0 ? nodes.nodes(0).name() : "";
}

int run(const std::string& target, double seconds, const std::string& run_id) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, kMostMessageBytes);
  const auto channel =
      grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
  const auto control = api::Control::NewStub(channel);
  const auto archive = api::Archive::NewStub(channel);
  api::ListNodesRequest one;
  one.set_node_set(first_node(*control));
  api::RunRequest plan;
  plan.mutable_suite()->set_name("halves");
  std::vector<Kind> kinds{
      kind_of("GetVersion", *control, api::VersionRequest{}, &api::Control::Stub::GetVersion),
      kind_of("ListNodes", *control, api::ListNodesRequest{}, &api::Control::Stub::ListNodes),
      kind_of("ListNodes of one", *control, one, &api::Control::Stub::ListNodes),
      kind_of("ListKernels", *control, api::ListKernelsRequest{}, &api::Control::Stub::ListKernels),
      kind_of("ListRuns", *control, api::ListRunsRequest{}, &api::Control::Stub::ListRuns),
      kind_of("PlanRun", *control, plan, &api::Control::Stub::PlanRun)};
  if (!run_id.empty()) {
    api::ResultsRequest results;
    results.set_run_id(run_id);
    results.set_limit(1'000);
    kinds.push_back(
        kind_of("QueryResults of 1,000", *control, results, &api::Control::Stub::QueryResults));
    api::PairsRequest pairs;
    pairs.set_run_id(run_id);
    kinds.push_back(kind_of("GetSuspects", *archive, pairs, &api::Archive::Stub::GetSuspects));
  }
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                   std::chrono::duration<double>(seconds));
  std::vector<std::thread> threads;
  threads.reserve(kinds.size());
  for (Kind& kind : kinds) threads.emplace_back([&kind, end] { call_until(kind, end); });
  for (std::thread& thread : threads) thread.join();
  for (Kind& kind : kinds) print(kind);
  return 0;
}

}  // namespace
}  // namespace railgauge

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: rpc_latency_bench TARGET SECONDS [RUN]\n");
    return 2;
  }
  return railgauge::run(argv[1], std::atof(argv[2]), argc > 3 ? argv[3] : "");
}

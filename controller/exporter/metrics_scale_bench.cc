// Measures a scrape of a controller with 1,000 and 10,000 nodes, and the cost to others:
// real gRPC streams with their heartbeats, in one process with the controller, which share its
// cores; pages packed by gzip, as Prometheus asks for them. Calls are timed without and beside
// scrapes each 10 ms, three thousand times as often as in operation. Beside it the largest page
// that the catalog allows, over the same server.
#include <arpa/inet.h>
#include <benchmark/benchmark.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/api/agent.grpc.pb.h"
#include "controller/metric/exposition.h"
#include "controller/metric/registry.h"
#include "controller/testing/server_bench.h"

namespace railgauge {
namespace {

using Clock = std::chrono::steady_clock;
using testing_agent::ServerBench;

constexpr std::size_t kChannels = 16;
constexpr double kPatienceSeconds = 120;

double milliseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

// A node without its own thread: sends Hello, then only heartbeats.
class QuietNode final : public grpc::ClientBidiReactor<api::AgentMessage, api::ControllerMessage> {
 public:
  QuietNode(api::AgentLink::Stub& stub, const std::string& name, std::atomic<std::size_t>& welcomed)
      : welcomed_(welcomed) {
    api::Hello& hello = *message_.mutable_hello();
    *hello.mutable_contract() = api::to_message(api::kContract);
    hello.set_name(name);
    hello.set_node_id("id-" + name);
    hello.set_incarnation("first");
    hello.set_version("test");
    for (const KernelInfo& kernel : testing_agent::scripted_kernels())
      hello.add_kernels(kernel.SerializeAsString());
    stub.async()->Attach(&context_, this);
    StartWrite(&message_);
    StartRead(&answer_);
    StartCall();
  }
  // One thread at a time.
  void beat() {
    if (writing_.exchange(true)) return;
    message_.Clear();
    message_.mutable_heartbeat()->set_spool_records(0);
    StartWrite(&message_);
  }
  void end() { context_.TryCancel(); }
  [[nodiscard]] bool is_done() const { return done_; }

  void OnWriteDone(bool) override { writing_ = false; }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    if (answer_.has_welcome()) ++welcomed_;
    StartRead(&answer_);
  }
  void OnDone(const grpc::Status&) override { done_ = true; }

 private:
  std::atomic<std::size_t>& welcomed_;
  grpc::ClientContext context_;
  api::AgentMessage message_;
  api::ControllerMessage answer_;
  std::atomic<bool> writing_ = true;  // Hello
  std::atomic<bool> done_ = false;
};

template <class Condition>
bool wait_for(const Condition& condition) {
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                   std::chrono::duration<double>(kPatienceSeconds));
  while (!condition()) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

class Crowd {
 public:
  Crowd(const std::string& target, std::size_t count) {
    for (std::size_t i = 0; i < kChannels; ++i) {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      stubs_.push_back(api::AgentLink::NewStub(
          grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments)));
    }
    for (std::size_t i = 0; i < count; ++i)
      nodes_.push_back(
          std::make_unique<QuietNode>(*stubs_[i % kChannels], fmt::format("n{:05}", i), welcomed_));
    beats_ = std::jthread([this](const std::stop_token& stop) { beat(stop); });
  }
  ~Crowd() {
    beats_.request_stop();
    beats_.join();
    for (const auto& node : nodes_) node->end();
    wait_for([this] {
      return std::ranges::all_of(nodes_, [](const auto& node) { return node->is_done(); });
    });
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  bool all_welcomed() {
    return wait_for([this] { return welcomed_ >= nodes_.size(); });
  }

 private:
  // Each every 3 s, evenly, as agents that started at any time do.
  void beat(const std::stop_token& stop) {
    constexpr std::size_t kTurns = 300;
    for (std::size_t turn = 0; !stop.stop_requested(); turn = (turn + 1) % kTurns) {
      for (std::size_t i = turn; i < nodes_.size(); i += kTurns) nodes_[i]->beat();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  std::vector<std::unique_ptr<api::AgentLink::Stub>> stubs_;
  std::atomic<std::size_t> welcomed_ = 0;
  std::vector<std::unique_ptr<QuietNode>> nodes_;
  std::jthread beats_;
};

// Calls that the event loop answers, one every 5 ms, until it is asked.
class Probe {
 public:
  explicit Probe(api::Control::Stub& stub)
      : thread_([this, &stub](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            grpc::ClientContext context;
            api::RunRef nowhere;
            nowhere.set_run_id("no-such-run");
            api::RunSummary summary;
            const Clock::time_point begin = Clock::now();
            static_cast<void>(stub.CancelRun(&context, nowhere, &summary));
            times_ms_.push_back(milliseconds(Clock::now() - begin));
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
          }
        }) {}
  std::vector<double> times_ms() {
    thread_.request_stop();
    thread_.join();
    std::ranges::sort(times_ms_);
    return times_ms_;
  }

 private:
  std::vector<double> times_ms_;
  std::jthread thread_;
};

void tell_calls(benchmark::State& state, const std::string& when, Probe& probe) {
  const std::vector<double> times = probe.times_ms();
  if (times.empty()) return;
  state.counters["rpc_ms_p50_" + when] = times[times.size() / 2];
  state.counters["rpc_ms_p99_" + when] = times[times.size() * 99 / 100];
  state.counters["rpc_ms_worst_" + when] = times.back();
}

struct Page {
  std::string head{};
  std::string body{};
};

// One request on a connection of its own; empty where it failed.
Page fetch(int port, const std::string& headers) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return {};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const std::string request = fmt::format(
      "GET /metrics HTTP/1.1\r\nHost: localhost\r\n{}Connection: close\r\n\r\n", headers);
  std::string text;
  if (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      send(socket, request.data(), request.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(request.size())) {
    std::array<char, 65536> chunk{};
    for (ssize_t got = 0; (got = recv(socket, chunk.data(), chunk.size(), 0)) > 0;)
      text.append(chunk.data(), static_cast<std::size_t>(got));
  }
  close(socket);
  const std::size_t end = text.find("\r\n\r\n");
  if (end == std::string::npos) return {};
  return {.head = text.substr(0, end), .body = text.substr(end + 4)};
}

// Times packed scrapes; reports sizes and series.
bool scrape(benchmark::State& state, int port) {
  const Page plain = fetch(port, "");
  std::size_t packed_bytes = 0;
  double worst_ms = 0;
  for ([[maybe_unused]] auto _ : state) {
    const Clock::time_point begin = Clock::now();
    const Page packed = fetch(port, "Accept-Encoding: gzip\r\n");
    const Clock::duration took = Clock::now() - begin;
    if (packed.head.find("Content-Encoding: gzip") == std::string::npos) return false;
    state.SetIterationTime(std::chrono::duration<double>(took).count());
    worst_ms = std::max(worst_ms, milliseconds(took));
    packed_bytes = packed.body.size();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  state.counters["worst_ms"] = worst_ms;
  state.counters["page_bytes"] = static_cast<double>(plain.body.size());
  state.counters["packed_bytes"] = static_cast<double>(packed_bytes);
  state.counters["series"] = static_cast<double>(metric::read_exposition(plain.body).size());
  return !plain.body.empty();
}

void controller_with_nodes(benchmark::State& state) {
  spdlog::set_level(spdlog::level::err);  // a line for each node that goes in the end
  ServerBench bench;
  bench.start();
  Crowd crowd(bench.target(), static_cast<std::size_t>(state.range(0)));
  if (!crowd.all_welcomed()) return state.SkipWithError("not all nodes were welcomed");
  {
    Probe probe(*bench.stub_);
    std::this_thread::sleep_for(std::chrono::seconds(35));
    tell_calls(state, "alone", probe);
  }
  Probe probe(*bench.stub_);
  if (!scrape(state, bench.server_->metrics_port()))
    return state.SkipWithError("no page, or it came unpacked");
  tell_calls(state, "beside", probe);
}
BENCHMARK(controller_with_nodes)
    ->Arg(1'000)
    ->Arg(10'000)
    ->UseManualTime()
    ->Iterations(3'000)
    ->Unit(benchmark::kMillisecond);

// Every family of the controller as full as the catalog allows.
void largest_page(benchmark::State& state) {
  metric::Registry registry(metric::Owner::kController);
  for (const metric::Info& info : metric::catalog()) {
    if (!metric::is_shown_by(info, metric::Owner::kController)) continue;
    const auto names = metric::label_names(info);
    for (std::uint32_t i = 0; i < info.most; ++i) {
      metric::Labels labels;
      for (const std::string_view name : names)
        labels[std::string(name)] = fmt::format("some_value_{}", labels.empty() ? i : 0);
      if (info.type == metric::Type::kGauge)
        registry.set(info.name, labels, 1.25e9 + i);
      else
        registry.add(info.name, labels, i);
    }
  }
  const auto server = http::Server::start(
      "127.0.0.1", 0, {.metrics = [&] { return registry.text(); }, .healthy = [] { return true; }});
  if (!server || !scrape(state, (*server)->port())) return state.SkipWithError("no page");
}
BENCHMARK(largest_page)->UseManualTime()->Iterations(100)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace railgauge

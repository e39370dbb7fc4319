// Thousands of mutated scenarios: each is refused in one line, or is one that model and nodes
// answer for without a crash, within the language's bounds. Fixed seeds.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "agent/fleet/model/modelled_fabric.h"
#include "agent/fleet/model/node_state.h"
#include "agent/fleet/node/modelled_node.h"
#include "agent/testing/mutator.h"

namespace railgauge::fleet {
namespace {

constexpr int kTexts = 6'000;

// Every key of the language is in one of them.
const std::vector<std::string>& seeds() {
  static const std::vector<std::string> texts{
      "version: 1\nmetadata: {name: a, summary: b}\nseed: 3\nbegin: 2026-01-05\n"
      "fabric: {nodes: 9, rails: 2, leaves: 3, spines: 2, pods: 2, prefix: n}\n"
      "classes:\n  - {name: c, nodes: 'n[0001-0004]', gpus: 2, nics: 2, sockets: 1, nic_rate: "
      "400Gb/s, link_layer: ethernet, cpu_model: x, gpu_model: y, nic_model: z, latency: 2us, "
      "reaches: 0.9, gpu_rate: 300GB/s, pcie_rate: 50GB/s, versions: {nccl: '1', bios: '2'}, "
      "settings: {acs: true, mtu_bytes: 1500, max_read_request_bytes: 512}}\n  - {name: d}\n",
      "version: 1\nmetadata: {name: a}\nfabric: {nodes: 8, leaves: 2}\nnoise:\n"
      "  - {kind: gaussian, size: 0.01, span: 1h, among: node, kernels: [nccl]}\n"
      "  - {kind: correlated, size: 0.1, span: 3d}\n  - {kind: modes, size: 0.1, share: 0.5}\n"
      "  - {kind: drift, size: -0.1, span: 30d}\n  - {kind: quantised, size: 0.05}\n"
      "  - {kind: skew, size: 0.1}\n  - {kind: spikes, size: 0.4, share: 0.1}\n"
      "day: {from: 20h, to: 6h, takes: 0.1, noise: 2}\n",
      "version: 1\nmetadata: {name: a}\nfabric: {nodes: 8, leaves: 2}\nfaults:\n"
      "  - {kind: port, node: sim0001, nic: 0, direction: sends, takes: 0.2, hits: 0.5, spell: "
      "1h}\n"
      "  - {kind: trunk, leaf: 0, to_leaf: 1, rail: 1, adds: 1us, begin: 1d, end: 2026-02-01}\n"
      "  - {kind: uplink, leaf: 1, spine: 3, loss: 0.1}\n  - {kind: spine, spine: 0, takes: 1}\n"
      "  - {kind: pair, node: sim0001, to_node: sim0002, stall: 1ms, stall_every: 1s}\n"
      "  - {kind: gpu, node: sim0003, gpu: 7, takes: 0.1}\n  - {kind: rail, rail: 0, takes: 0.1}\n",
      "version: 1\nmetadata: {name: a}\nfabric: {nodes: 4}\nchanges:\n"
      "  - {name: u, nodes: sim0001, begin: 1h, versions: {ofed: x}, reboot: 5min,\n"
      "     effect: {takes: 0.1, memory: gpu, kernels: [verbs]}}\n"
      "losses:\n  - {kernels: [mpi], memory: host, outcome: crashed, reason: gone}\n"
      "agents:\n  - {kind: rebooting, nodes: sim0002, by: 1min, every: 1d}\n"
      "  - {kind: clock_skewed, nodes: sim0003, by: 5s, behind: true}\n"
      "  - {kind: lying, nodes: sim0004, factor: 2}\n"
      "jobs:\n  - {name: j, every: 1d, length: 2h, share: 0.5}\n"};
  return texts;
}

// Every point is a number that a record may have.
void expect_figures(const ModelledResult& result, const std::string& text) {
  for (const Point& point : result.points) {
    ASSERT_TRUE(std::isfinite(point.median()) && point.median() > 0) << text;
    ASSERT_TRUE(std::isfinite(point.max()) && point.max() < 1e18) << text;
    ASSERT_TRUE(!point.has_rate() || (std::isfinite(point.rate()) && point.rate() >= 0)) << text;
    ASSERT_TRUE(point.pause_share() >= 0 && point.pause_share() <= 1) << text;
  }
}

void expect_answers(const Scenario& scenario, agent::Mutator& random, const std::string& text) {
  const std::uint32_t nodes = scenario.fabric.nodes;
  ASSERT_TRUE(nodes >= 1 && nodes <= kMaxNodes);
  ASSERT_EQ(scenario.class_of.size(), nodes);
  const ModelledFabric fabric(scenario);
  const auto node = static_cast<std::uint32_t>(random.below(nodes));
  const auto time = static_cast<Nanoseconds>(random.below(90)) * 86'400'000'000'000 + 1;
  for (const char* kernel : {"verbs.write_bw", "verbs.write_lat", "nccl.all_to_all"}) {
    const std::vector<Endpoint> ranks{{.node = node}, {.node = (node + 1) % nodes}};
    expect_figures(fabric.run({.kernel = kernel, .ranks = ranks, .time_ns = time}), text);
  }
  const api::Hello hello = hello_at(scenario, node, time);
  ASSERT_EQ(hello.name(), node_name(scenario.fabric, node));
  ASSERT_EQ(node_of_name(scenario.fabric, hello.name()), node);
}

TEST(MutatedScenarios, AreRefusedInOneLineOrAnsweredFor) {
  agent::Mutator random(20'260'105);
  int read_count = 0;
  for (int i = 0; i < kTexts && !HasFatalFailure(); ++i) {
    const std::string text = random.pick(seeds());
    const auto read = read_scenario(text, "m.yaml");
    if (read) {
      ++read_count;
      expect_answers(*read, random, text);
      continue;
    }
    ASSERT_EQ(read.error().code, Code::kInvalidArgument);
    ASSERT_TRUE(read.error().message.starts_with("scenario m.yaml:")) << read.error().message;
    ASSERT_EQ(read.error().message.find('\n'), std::string::npos) << read.error().message;
  }
  EXPECT_GT(read_count, kTexts / 10);
  EXPECT_LT(read_count, kTexts);
}

TEST(MutatedScenarios, TheSeedsThemselvesAreScenarios) {
  for (const std::string& text : seeds()) {
    const auto read = read_scenario(text, "s.yaml");
    EXPECT_TRUE(read) << (read ? "" : read.error().message);
  }
}

}  // namespace
}  // namespace railgauge::fleet

#include "controller/cli/demo/demo_site.h"

#include <algorithm>

#include <fmt/format.h>

namespace railgauge::cli {
namespace {

constexpr std::uint32_t kLeafNodes = 8;
// One node in so many is upgraded first, as a careful rollout does.
constexpr std::uint32_t kUpgradedShare = 8;
constexpr int kBadRail = 1;

std::uint32_t leaves_of(std::uint32_t nodes) { return (nodes + kLeafNodes - 1) / kLeafNodes; }

std::string name_of(std::uint32_t node) { return fmt::format("sim{:04}", node + 1); }

std::string set_of(std::uint32_t begin, std::uint32_t end) {
  return fmt::format("sim[{:04}-{:04}]", begin + 1, end);
}

}  // namespace

DemoNames demo_names(std::uint32_t nodes) {
  return {.bad_node = name_of(nodes * 3 / 4),
          .upgraded = set_of(0, std::max<std::uint32_t>(4, nodes / kUpgradedShare))};
}

std::string demo_scenario(std::uint32_t nodes, const std::string& begin) {
  const DemoNames names = demo_names(nodes);
  return fmt::format(
      "version: 1\n"
      "metadata: {{name: demo, summary: \"a slow port, then a driver that costs NCCL 6 %\"}}\n"
      "seed: 25\n"
      "begin: {}\n"
      "fabric: {{nodes: {}, rails: 2, leaves: {}, spines: 4}}\n"
      "classes: [{{name: small, gpus: 2, nics: 2}}]\n"
      "noise: [{{kind: gaussian, size: 0.005}}]\n"
      "faults:\n"
      "  - {{kind: port, node: {}, nic: {}, direction: sends, begin: {}h, takes: 0.25}}\n"
      "changes:\n"
      "  - nodes: \"{}\"\n"
      "    begin: {}h\n"
      "    reboot: 10min\n"
      "    versions: {{gpu_driver: {}}}\n"
      "    effect: {{takes: 0.06, kernels: [nccl]}}\n",
      begin, nodes, leaves_of(nodes), names.bad_node, kBadRail, kDemoBadDay * 24 + 12,
      names.upgraded, kDemoUpgradeDay * 24 + 12, names.driver);
}

// A node's leaf as the scenario has it: n * leaves / nodes, counted from 0.
std::string demo_leaves(std::uint32_t nodes) {
  std::string text;
  const std::uint64_t leaves = leaves_of(nodes);
  std::uint32_t begin = 0;
  for (std::uint32_t node = 1; node <= nodes; ++node) {
    const std::uint64_t leaf = std::uint64_t{begin} * leaves / nodes;
    if (node < nodes && std::uint64_t{node} * leaves / nodes == leaf) continue;
    text += fmt::format("{} leaf=L{}\n", set_of(begin, node), leaf);
    begin = node;
  }
  return text;
}

std::string demo_profile(const std::string& leaves_file) {
  return fmt::format(
      "version: 1\n"
      "metadata: {{name: demo}}\n"
      "defaults: {{}}\n"
      "topology: {{source: labels, file: \"{}\"}}\n",
      leaves_file);
}

std::string demo_night_suite() {
  return "version: 1\n"
         "metadata: {name: night, summary: bandwidth of some pairs on both rails}\n"
         "stages:\n"
         "  - kernel: verbs.write_bw\n"
         "    parameters: {sizes: 64KiB}\n"
         "    placement: {pairs: quick, matchings: 2, directions: both, rails: same, "
         "rails_together: true}\n";
}

std::string demo_upgrade_suite() {
  return "version: 1\n"
         "metadata: {name: upgrade, summary: NCCL within each node and RDMA by rings}\n"
         "bounds: {rate: 0.01, median: 0.02}\n"
         "stages:\n"
         "  - name: node_all_reduce\n"
         "    kernel: nccl.all_reduce\n"
         "    parameters: {sizes: 512MiB}\n"
         "    placement: {group: node, each: gpu}\n"
         "    repetitions: 3\n"
         "  - name: bandwidth\n"
         "    kernel: verbs.write_bw\n"
         "    parameters: {sizes: 64KiB}\n"
         "    placement: {pairs: ring, rails: same, rails_together: true}\n"
         "    repetitions: 3\n";
}

}  // namespace railgauge::cli

#include "agent/preflight/testing/whole_tree.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "agent/inventory/sources/dcb.h"
#include "agent/inventory/sources/sources.h"
#include "agent/preflight/probe/probe.h"
#include "agent/preflight/report.h"
#include "agent/testing/read_tree.h"
#include "kernels/dl/nvml.h"
#include "kernels/fakes/nvml/fake_nvml.h"

namespace railgauge::agent {
namespace {
namespace fs = std::filesystem;

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void ask_nvml(const fs::path& settings, Inventory& node) {
  if (!fs::exists(settings)) return;
  std::string text = bytes_of(settings);
  std::erase(text, '\n');
  ::setenv(kNvmlLibraryVariable, RAILGAUGE_FAKE_LIBNVML, 1);
  ::setenv("RAILGAUGE_FAKE_NVML", text.c_str(), 1);
  fake::nvml_control().reset();
  node.nvml_reason.clear();
  read_nvml()(node);
  ::unsetenv("RAILGAUGE_FAKE_NVML");
  fake::nvml_control().reset();
}

void ask_dcb(const fs::path& folder, Inventory& node) {
  for (NetDevice& net : node.nets) {
    const std::string answer = bytes_of(folder / net.name);
    const std::vector<std::uint8_t> bytes(answer.begin(), answer.end());
    net.qos.merge(dcb_facts_of(bytes));
  }
}

std::vector<ProbeAnswer> ask_runner(const fs::path& program, const Inventory& node) {
  if (!fs::exists(program)) return {};
  fs::permissions(program, fs::perms::owner_exec, fs::perm_options::add);
  return probe_registrations(node, program);
}

}  // namespace

api::PreflightReport report_on_whole(const NodeTree& tree, std::set<std::string> required) {
  Inventory node = read_tree(tree);
  ask_nvml(tree / "answers/nvml", node);
  ask_dcb(tree / "answers/dcb", node);
  const std::vector<ProbeAnswer> probes = ask_runner(tree / "answers/runner", node);
  return make_preflight_report(
      "node",
      {.node = node, .probes = probes, .required = std::move(required), .now_unix_seconds = 1.7e9},
      0);
}

}  // namespace railgauge::agent

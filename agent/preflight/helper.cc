#include "agent/preflight/helper.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "agent/subprocess.h"

namespace railgauge::agent {
namespace {

constexpr double kHelperSeconds = 2;
constexpr std::size_t kMaxOutputBytes = 16U << 20U;
constexpr std::size_t kMaxConfigBytes = 4096;
constexpr const char* kSource = "railgauge-node-facts: /sys/bus/pci/devices/*/config";

bool is_open_question(const PciDevice& device) {
  return device.config.pcie.state == FactState::kUnknown ||
         device.config.acs.state == FactState::kUnknown;
}

std::string helper_path() {
  std::error_code error;
  return (std::filesystem::read_symlink("/proc/self/exe", error).parent_path() /
          "railgauge-node-facts")
      .string();
}

}  // namespace

ConfigSpaces parse_node_facts(const std::string& text) {
  ConfigSpaces spaces;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind;
    std::string address;
    std::string hex;
    words >> kind >> address >> hex;
    if (kind != "pci_config" || hex.size() % 2 != 0 || hex.size() > 2 * kMaxConfigBytes) continue;
    std::vector<std::uint8_t> bytes;
    for (std::size_t at = 0; at < hex.size(); at += 2) {
      std::uint8_t byte = 0;
      const char* const end = hex.data() + at + 2;
      if (std::from_chars(hex.data() + at, end, byte, 16).ptr != end) break;
      bytes.push_back(byte);
    }
    if (bytes.size() * 2 == hex.size()) spaces[address] = std::move(bytes);
  }
  return spaces;
}

void add_config_spaces(const ConfigSpaces& spaces, Inventory& node) {
  for (auto& [address, device] : node.pci) {
    const auto found = spaces.find(address);
    if (found == spaces.end() || !is_open_question(device)) continue;
    if (found->second.size() <= kPublicConfigBytes) continue;  // the helper lacks its capability
    device.config = parse_pci_config(found->second, kSource);
  }
}

void ask_node_facts(Inventory& node) {
  const bool asks = std::ranges::any_of(
      node.pci, [](const auto& entry) { return is_open_question(entry.second); });
  const std::string path = helper_path();
  std::error_code error;
  if (!asks || !std::filesystem::exists(path, error)) return;
  const auto output = run_command({path}, kHelperSeconds, kMaxOutputBytes);
  if (output) add_config_spaces(parse_node_facts(output->out), node);
}

}  // namespace railgauge::agent

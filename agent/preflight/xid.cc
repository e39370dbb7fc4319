// What the GPU driver wrote into the kernel's log: Xid of a GPU, SXid of an NVSwitch.
#include <algorithm>
#include <charconv>
#include <optional>

#include "agent/preflight/results.h"

namespace railgauge::agent {
namespace {

// Hardware or fatal, by what helps. Numbers: NVIDIA's list of Xid errors.
bool is_fatal(unsigned xid) {
  return xid == 48 || (xid >= 56 && xid <= 58) || (xid >= 62 && xid <= 65) ||
         (xid >= 68 && xid <= 69) || (xid >= 73 && xid <= 74) || (xid >= 79 && xid <= 81) ||
         xid == 92 || xid == 94 || xid == 95 || (xid >= 110 && xid <= 120) ||
         (xid >= 122 && xid <= 125);
}

std::vector<std::string> remedy_of(unsigned xid, const std::string& address) {
  if (xid == 79) return {"# the GPU fell off the bus: check its power and seat, then", "reboot"};
  if (xid == 74)
    return {"nvidia-smi nvlink -e", "# replace the GPU, or its baseboard, if it comes again"};
  if (xid == 64) return {"# a row remap failed: replace the GPU"};
  return {"# in a maintenance window, with nothing on the GPU:",
          fmt::format("nvidia-smi --gpu-reset -i {}", address), "# replace it if it comes again"};
}

struct Event {
  std::string address;  // "0000:17:00", as far as the line tells
  unsigned number = 0;
};

// "NVRM: Xid (PCI:0000:17:00): 79, pid=..." and the same with SXid.
std::optional<Event> parse(const std::string& line, std::string_view word) {
  const std::size_t at = line.find(word);
  if (at == std::string::npos || (at > 0 && line[at - 1] == 'S')) return std::nullopt;
  const std::size_t pci = line.find("(PCI:", at);
  const std::size_t close = line.find("):", at);
  if (pci == std::string::npos || close == std::string::npos || close < pci) return std::nullopt;
  Event event{.address = line.substr(pci + 5, close - pci - 5), .number = 0};
  const std::size_t digit = line.find_first_of("0123456789", close);
  if (digit == std::string::npos) return std::nullopt;
  const auto parsed = std::from_chars(line.data() + digit, line.data() + line.size(), event.number);
  if (parsed.ec != std::errc{}) return std::nullopt;
  return event;
}

CheckResult judge_gpu(const Inventory& node, const GpuFacts& gpu) {
  const Fact<std::vector<std::string>>& log = node.kernel_log;
  if (!log.is_known()) return not_known(gpu.name, "the kernel's log", log, kernel_log_remedy());
  for (const std::string& line : log.value) {
    const auto event = parse(line, "Xid (");
    if (!event || event->address.empty() || !gpu.pci_address.starts_with(event->address)) continue;
    if (is_fatal(event->number))
      return result(CheckState::kFail, gpu.name, line, log.source,
                    remedy_of(event->number, gpu.pci_address));
  }
  return result(CheckState::kPass, gpu.name, "no fatal Xid since boot", log.source);
}

// NVSwitches have no subject of their own: the baseboard is one.
CheckResults judge_switches(const Inventory& node) {
  for (const std::string& line : node.kernel_log.value_or({})) {
    if (!parse(line, "SXid (")) continue;
    // One that is not fatal has lines of its severity and its data behind it, with the same head.
    if (line.find(", Fatal") == std::string::npos) continue;
    return {result(
        CheckState::kFail, "nvswitch", line, node.kernel_log.source,
        {"systemctl restart nvidia-fabricmanager", "# replace the baseboard if it comes again"})};
  }
  return {};
}

}  // namespace

CheckResults judge_xid(const CheckInput& input) {
  const Inventory& node = input.node;
  if (node.gpus.empty()) return waived("there is no NVIDIA GPU");
  CheckResults results;
  for (const GpuFacts& gpu : node.gpus) results.push_back(judge_gpu(node, gpu));
  for (CheckResult& each : judge_switches(node)) results.push_back(std::move(each));
  return results;
}

}  // namespace railgauge::agent

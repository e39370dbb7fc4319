// The GPU driver's lines in the kernel's log: Xid of a GPU, SXid of an NVSwitch.
#include <algorithm>
#include <charconv>
#include <optional>

#include "agent/preflight/rules/pairs.h"
#include "agent/preflight/rules/results.h"
#include "agent/watch/xid_kind.h"

namespace railgauge::agent {
namespace {

constexpr const char* kSwitches = "nvswitch";

// The log knows no repair: who made one writes it there.
std::string repaired(const std::string& what) {
  return fmt::format("echo 'railgauge: repaired {}' > /dev/kmsg  # then it counts no more", what);
}

bool is_repair_of(const std::string& line, const std::string& what) {
  return line.starts_with("railgauge: repaired " + what);
}

std::vector<std::string> remedy_of(unsigned xid, const std::string& address) {
  if (xid == 79) return {"# the GPU fell off the bus: check its power and seat, then", "reboot"};
  if (xid == 74)
    return {"nvidia-smi nvlink -e", "# replace the GPU, or its baseboard, if it comes again",
            repaired(address)};
  if (xid == 64) return {"# a row remap failed: replace the GPU"};
  return {"# in a maintenance window, with nothing on the GPU:",
          fmt::format("nvidia-smi --gpu-reset -i {}", address), repaired(address),
          "# replace it if it comes again"};
}

struct Event {
  std::string address;  // "0000:17:00", as far as the line names it
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
  const std::string* found = nullptr;
  unsigned number = 0;
  for (const std::string& line : log.value) {
    if (is_repair_of(line, gpu.pci_address)) found = nullptr;
    const auto event = parse(line, "Xid (");
    if (!event || event->address.empty() || !gpu.pci_address.starts_with(event->address)) continue;
    if (found != nullptr || xid_kind(event->number) != XidKind::kHardware) continue;
    found = &line;
    number = event->number;
  }
  if (found != nullptr)
    return result(CheckState::kFail, gpu.name, *found, log.source,
                  remedy_of(number, gpu.pci_address));
  if (node.kernel_log_is_cut) return cut_log(node, gpu.name, "Xid (");
  return result(CheckState::kPass, gpu.name, "no fatal Xid since boot", log.source);
}

// NVSwitches have no subject of their own: the baseboard is one.
CheckResults judge_switches(const Inventory& node) {
  const std::string* found = nullptr;
  for (const std::string& line : node.kernel_log.value) {
    if (is_repair_of(line, kSwitches)) found = nullptr;
    // One that is not fatal has lines of its severity and its data behind it, with the same head.
    if (found == nullptr && parse(line, "SXid (") && line.find(", Fatal") != std::string::npos)
      found = &line;
  }
  if (found == nullptr) return {};
  return {result(CheckState::kFail, kSwitches, *found, node.kernel_log.source,
                 {"systemctl restart nvidia-fabricmanager", repaired(kSwitches),
                  "# replace the baseboard if it comes again"})};
}

}  // namespace

CheckResults judge_xid(const CheckInput& input) {
  const Inventory& node = input.node;
  if (node.gpus.empty()) return no_gpu(node);
  CheckResults results;
  for (const GpuFacts& gpu : node.gpus) results.push_back(judge_gpu(node, gpu));
  for (CheckResult& each : judge_switches(node)) results.push_back(std::move(each));
  return results;
}

}  // namespace railgauge::agent

// The GPU driver's lines in the kernel's log: Xid of a GPU, SXid of an NVSwitch.
#include <algorithm>
#include <optional>

#include "agent/preflight/rules/pairs.h"
#include "agent/preflight/rules/results.h"
#include "agent/watch/kernel_log.h"
#include "agent/watch/xid_kind.h"

namespace railgauge::agent {
namespace {

constexpr const char* kSwitches = "nvswitch";

// Returns the command that notes a repair in the log, which has no other record of it.
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

CheckResult judge_gpu(const Inventory& node, const GpuFacts& gpu) {
  const Fact<std::vector<std::string>>& log = node.kernel_log;
  if (!log.is_known()) return not_known(gpu.name, "the kernel's log", log, kernel_log_remedy());
  const std::string* found = nullptr;
  unsigned number = 0;
  for (const std::string& line : log.value) {
    if (is_repair_of(line, gpu.pci_address)) found = nullptr;
    const auto xid = parse_xid(line);
    if (!xid || xid->of_switch || xid->pci_address != gpu.pci_address) continue;
    if (found != nullptr || xid_kind(xid->code) != XidKind::kHardware) continue;
    found = &line;
    number = xid->code;
  }
  if (found != nullptr) return failed(gpu.name, *found, log, remedy_of(number, gpu.pci_address));
  if (node.kernel_log_is_cut) return cut_log(node, gpu.name, "Xid (");
  return passed(gpu.name, "no fatal Xid since boot", log);
}

// Judges all NVSwitches as one subject, the baseboard; absent if none has a fault.
std::optional<CheckResult> judge_switches(const Inventory& node) {
  const std::string* found = nullptr;
  for (const std::string& line : node.kernel_log.value) {
    if (is_repair_of(line, kSwitches)) found = nullptr;
    // A non-fatal SXid is followed by lines with its severity and data, which have the same head.
    const auto xid = parse_xid(line);
    if (found == nullptr && xid && xid->of_switch && xid->fatal) found = &line;
  }
  if (found == nullptr) return std::nullopt;
  return failed(kSwitches, *found, node.kernel_log,
                {"systemctl restart nvidia-fabricmanager", repaired(kSwitches),
                 "# replace the baseboard if it comes again"});
}

}  // namespace

CheckResults judge_xid(const CheckInput& input) {
  CheckResults results = for_each_gpu(input.node, judge_gpu);
  if (auto fault = judge_switches(input.node); fault && !input.node.gpus.empty())
    results.push_back(std::move(*fault));
  return results;
}

}  // namespace railgauge::agent

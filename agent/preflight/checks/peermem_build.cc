// Whether nvidia-peermem was built for the ib_core that runs, and in which mode it runs.
#include <algorithm>

#include "agent/preflight/checks/dmabuf.h"
#include "agent/preflight/rules/pairs.h"
#include "agent/preflight/rules/remedies.h"
#include "agent/preflight/rules/results.h"

namespace railgauge::agent {
namespace {

constexpr const char* kPeermem = "nvidia_peermem";
constexpr double kSecondsApart = 60;  // of files that one installation writes

// The kernel's complaint in this boot that the module does not fit its RDMA stack; "" when there is
// none.
std::string misfit_in_log(const Inventory& node) {
  for (const std::string& line : node.kernel_log.value_or({})) {
    const bool about_it = line.find("nvidia_peermem") != std::string::npos ||
                          line.find("nv_peer_mem") != std::string::npos;
    if (about_it && (line.find("disagrees about version of symbol") != std::string::npos ||
                     line.find("Unknown symbol") != std::string::npos))
      return line;
  }
  return "";
}

// Whether the module is loaded and bound to the running ib_core: an earlier mismatch was then
// repaired.
bool serves(const Inventory& node) {
  const ModuleFacts* core = node.module("ib_core");
  return node.is_loaded(kPeermem) && core != nullptr && core->is_loaded &&
         std::ranges::find(core->holders, kPeermem) != core->holders.end();
}

CheckResult judge_misfit(const Inventory& node, const std::string& misfit) {
  const bool spared = !node.is_loaded(kPeermem) && dmabuf_in_place(node);
  return (spared ? warned : failed)("", spared ? misfit + "; dma-buf takes its place here" : misfit,
                                    node.kernel_log.source, rebuild_gpu_driver_commands(node));
}

bool is_of_ofed(const std::string& file) {
  return file.find("/updates/") != std::string::npos || file.find("/extra/") != std::string::npos ||
         file.find("mlnx-ofa_kernel") != std::string::npos;
}

CheckResult judge_files(const Inventory& node, const ModuleFacts& peermem) {
  const ModuleFacts* core = node.module("ib_core");
  if (core == nullptr || !core->file_modified_unix_seconds.is_known() ||
      !peermem.file_modified_unix_seconds.is_known())
    return node.kernel_log.is_known() && node.kernel_log_is_cut
               ? cut_log(node, "", "disagrees about version")
           : node.kernel_log.is_known()
               ? passed("", "the kernel's log has no complaint about its symbols", node.kernel_log)
               : not_known("", "the kernel's log", node.kernel_log, kernel_log_remedy());
  const double newer_by =
      core->file_modified_unix_seconds.value - peermem.file_modified_unix_seconds.value;
  if (is_of_ofed(core->file.value_or("")) && newer_by > kSecondsApart)
    return warned("",
                  fmt::format("{} is newer than nvidia-peermem: the OFED was installed after the "
                              "GPU driver",
                              core->file.value),
                  core->file_modified_unix_seconds, rebuild_gpu_driver_commands(node));
  return passed("", "nvidia-peermem is not older than the ib_core that it uses",
                core->file_modified_unix_seconds);
}

}  // namespace

CheckResults judge_peermem_build(const CheckInput& input) {
  const Inventory& node = input.node;
  const std::string misfit = misfit_in_log(node);
  if (!misfit.empty() && !serves(node)) return {judge_misfit(node, misfit)};
  if (node.gpus.empty()) return no_gpu(node);
  if (!node.loaded_modules.is_known())
    return {not_known("", "the list of loaded modules", node.loaded_modules)};
  const ModuleFacts* peermem = node.module(kPeermem);
  if (peermem == nullptr || !peermem->is_loaded) return waived("nvidia-peermem is not loaded");
  const ModuleFacts* core = node.module("ib_core");
  if (core == nullptr || !core->is_loaded)
    return {
        failed("", "nvidia-peermem is loaded, but ib_core is not", "/proc/modules",
               {"modprobe ib_uverbs", "modprobe -r nvidia-peermem", "modprobe nvidia-peermem"})};
  const bool tells_users = core->holders_told.is_known() || !core->holders.empty();
  const bool is_used = std::ranges::find(core->holders, kPeermem) != core->holders.end();
  if (!is_used && core->holders_told.is_open())
    return {not_known("", "whether nvidia-peermem uses ib_core", core->holders_told)};
  if (tells_users && !is_used)
    return {failed("", "nvidia-peermem is loaded, but does not use ib_core: it registered nowhere",
                   "/sys/module/ib_core/holders", rebuild_gpu_driver_commands(node))};
  CheckResult judged = judge_files(node, *peermem);
  if (!misfit.empty())
    judged.observed += fmt::format("; it uses ib_core now, after the complaint: {}", misfit);
  return {std::move(judged)};
}

CheckResults judge_peermem_mode(const CheckInput& input) {
  const Inventory& node = input.node;
  if (node.gpus.empty()) return no_gpu(node);
  const ModuleFacts* peermem = node.module(kPeermem);
  if (peermem == nullptr || !peermem->is_loaded) {
    if (!node.loaded_modules.is_known())
      return {not_known("", "the list of loaded modules", node.loaded_modules)};
    return waived("nvidia-peermem is not loaded");
  }
  struct Wanted {
    const char* name;
    const char* value;
    const char* means;
  };
  CheckResults results;
  for (const Wanted& wanted :
       {Wanted{"peerdirect_support", "0", "1 is for MLNX_OFED 4.9 and older alone"},
        Wanted{"persistent_api_support", "1", "0 is the old interface"}}) {
    const auto found = peermem->parameters.find(wanted.name);
    if (found == peermem->parameters.end() && peermem->parameters_told.is_open()) {
      results.push_back(not_known(wanted.name, "the parameter", peermem->parameters_told));
      continue;
    }
    if (found == peermem->parameters.end() || found->second.is_absent()) continue;
    const Fact<std::string>& fact = found->second;
    if (!fact.is_known())
      results.push_back(not_known(wanted.name, "the parameter", fact));
    else if (fact.value != wanted.value)
      results.push_back(
          warned(wanted.name, fmt::format("{}={}; {}", wanted.name, fact.value, wanted.means), fact,
                 {fmt::format("echo \"options nvidia-peermem {}={}\" > "
                              "/etc/modprobe.d/nvidia-peermem.conf",
                              wanted.name, wanted.value),
                  "modprobe -r nvidia-peermem && modprobe nvidia-peermem"}));
    else
      results.push_back(passed(wanted.name, fmt::format("{}={}", wanted.name, fact.value), fact));
  }
  return results.empty() ? waived("this nvidia-peermem has no mode to choose") : results;
}

}  // namespace railgauge::agent

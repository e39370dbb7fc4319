#include "agent/preflight/testing/cases.h"

namespace railgauge::agent {

// NOLINTNEXTLINE(readability-function-size): a table of cases, no steps
std::vector<Case> health_cases() {
  return {
      {"gpu_ecc", kPass, "ECC is on"},
      {"gpu_ecc", kFail, "ECC is off", [](World& w) { nvml(w).ecc_enabled.value = false; },
       "nvidia-smi -i 0000:18:00.0 -e 1"},
      {"gpu_ecc", kFail, "waits for a reset", [](World& w) { nvml(w).remap_pending.value = true; },
       "--gpu-reset"},
      {"gpu_ecc", kFail, "spare rows are used up",
       [](World& w) { nvml(w).remap_failed.value = true; }},
      {"gpu_ecc", kFail, "3 uncorrected",
       [](World& w) { nvml(w).ecc_volatile_uncorrected.value = 3; }},
      {"gpu_ecc", kUnknown, "only NVML reports", [](World& w) { hide(nvml(w).ecc_enabled); }},
      {"gpu_ecc", kUnknown, "row remaps is not known",
       [](World& w) { hide(nvml(w).remap_pending); }},
      {"gpu_ecc", kUnknown, "the count of memory errors is not known",
       [](World& w) { hide(nvml(w).ecc_volatile_uncorrected); }},
      {"xid", kPass, "no fatal Xid"},
      {"xid", kPass, "no fatal Xid",
       [](World& w) { log_line(w, "NVRM: Xid (PCI:0000:18:00): 31, pid=7, name=x"); }},
      {"xid", kFail, "79",
       [](World& w) { log_line(w, "NVRM: Xid (PCI:0000:18:00): 79, pid=7, GPU has fallen"); },
       "reboot"},
      {"xid", kPass, "no fatal Xid",
       [](World& w) { log_line(w, "NVRM: Xid (PCI:0000:99:00): 79, another GPU"); }},
      {"xid", kFail, "SXid",
       [](World& w) {
         log_line(w, "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 30");
       }},
      {"xid", kPass, "no fatal Xid",
       [](World& w) {  // what one harmless fault of an NVSwitch writes
         log_line(w, "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, Link 46");
         log_line(w, "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Severity 0 Engine 46");
         log_line(w, "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Data {0x00140004}");
       }},
      {"xid", kPass, "no fatal Xid",
       [](World& w) {
         log_line(w, "NVRM: Xid (PCI:0000:18:00): 95, pid=7, uncontained");
         log_line(w, "railgauge: repaired 0000:18:00.0");
       }},
      {"xid", kFail, "95",
       [](World& w) {
         log_line(w, "railgauge: repaired 0000:18:00.0");
         log_line(w, "NVRM: Xid (PCI:0000:18:00): 95, pid=7, uncontained");
       },
       "railgauge: repaired 0000:18:00.0"},
      {"xid", kFail, "95",
       [](World& w) {
         log_line(w, "NVRM: Xid (PCI:0000:18:00): 95, pid=7, uncontained");
         log_line(w, "railgauge: repaired 0000:99:00.0");
       }},
      {"xid", kFail, "86",
       [](World& w) { log_line(w, "NVRM: Xid (PCI:0000:18:00): 86, an engine's"); }},
      {"xid", kUnknown, "no longer goes back to the boot",
       [](World& w) { w.node.kernel_log_is_cut = true; }},
      {"xid", kFail, "79",
       [](World& w) {
         w.node.kernel_log_is_cut = true;
         log_line(w, "NVRM: Xid (PCI:0000:18:00): 79, pid=7, GPU has fallen");
       }},
      {"xid", kUnknown, "nobody may read it", [](World& w) { hide(w.node.kernel_log); }},
      {"gpu_mode", kPass, "persistence is on"},
      {"gpu_mode", kWarn, "persistence is off",
       [](World& w) { nvml(w).persistence_mode.value = false; }, "nvidia-persistenced"},
      {"gpu_mode", kFail, "MIG is on: a slice has a part",
       [](World& w) { nvml(w).mig_mode.value = true; }, "-mig 0"},
      {"gpu_mode", kWarn, "2 processes compute on it",
       [](World& w) { nvml(w).compute_processes.value = 2; }},
      {"gpu_mode", kUnknown, "MIG mode is not known", [](World& w) { hide(nvml(w).mig_mode); }},
      {"gpu_mode", kUnknown, "who computes on it is not known",
       [](World& w) { hide(nvml(w).compute_processes); }},
      {"gpu_mode", kUnknown, "compute mode is not known",
       [](World& w) { hide(nvml(w).compute_mode); }},
      {"gpu_mode", kUnknown, "only NVML reports",
       [](World& w) {
         hide(nvml(w).persistence_mode);
         hide(nvml(w).compute_mode);
       }},
      {"gpu_clocks", kPass, "1980 of 1980 MHz"},
      {"gpu_clocks", kPass, "power cap", [](World& w) { nvml(w).clock_reasons.value = 0x4; }},
      {"gpu_clocks", kFail, "hardware slowdown, external power brake",
       [](World& w) { nvml(w).clock_reasons.value = 0x88; }},
      {"gpu_clocks", kUnknown, "only NVML reports", [](World& w) { hide(nvml(w).clock_reasons); }},
      {"nvlink", kPass, "18 of 18 links are up"},
      {"nvlink", kFail, "17 of 18", [](World& w) { nvml(w).nvlink_active.value[4] = false; },
       "nvidia-fabricmanager"},
      {"nvlink", kFail, "0 of 18", [](World& w) { nvml(w).nvlink_active.value.assign(18, false); }},
      {"nvlink", kFail, "has not joined", [](World& w) { nvml(w).fabric_state.value = 2; }},
      {"nvlink", kWaived, "has no NVLink", [](World& w) { lack(nvml(w).nvlink_active); }},
      {"nvlink", kUnknown, "only NVML reports", [](World& w) { hide(nvml(w).nvlink_active); }},
  };
}

}  // namespace railgauge::agent

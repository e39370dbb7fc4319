#include "agent/preflight/testing/cases.h"

namespace railgauge::agent {

// NOLINTNEXTLINE(readability-function-size): a table of cases, no steps
std::vector<Case> host_cases() {
  return {
      {"locked_memory", kPass, "unlimited"},
      {"locked_memory", kFail, "8 MiB",
       [](World& w) { w.node.limits.memlock_soft_bytes.value = 8U << 20U; }, "LimitMEMLOCK"},
      {"locked_memory", kPass, "IPC_LOCK",
       [](World& w) {
         w.node.limits.memlock_soft_bytes.value = 8U << 20U;
         w.node.limits.cap_ipc_lock.value = true;
       }},
      {"locked_memory", kWaived, "nothing is registered",
       [](World& w) {
         w.node.rdma.clear();
         w.node.limits.memlock_soft_bytes.value = 8U << 20U;
       }},
      {"locked_memory", kUnknown, "nobody may read it",
       [](World& w) { hide(w.node.limits.memlock_soft_bytes); }},
      {"cgroup", kPass, "no limit"},
      {"cgroup", kWarn, "100 MiB of 200 MiB",
       [](World& w) {
         w.node.limits.cgroup_memory_max_bytes.value = 200U << 20U;
         w.node.limits.cgroup_memory_now_bytes = told<std::uint64_t>(100U << 20U);
       }},
      {"cgroup", kFail, "hca_handle=0",
       [](World& w) {
         w.node.limits.cgroup_rdma_max["mlx5_0"] = told<std::string>("hca_handle=0 hca_object=9");
       }},
      {"cgroup", kFail, "hca_handle=9 hca_object=max; hca_handle=9 hca_object=70 in use",
       [](World& w) {
         w.node.limits.cgroup_rdma_max["mlx5_0"] = told<std::string>("hca_handle=9 hca_object=max");
         w.node.limits.cgroup_rdma_now["mlx5_0"] = told<std::string>("hca_handle=9 hca_object=70");
       },
       "hca_handle=max"},
      {"cgroup", kPass, "hca_handle=8 hca_object=70 in use",
       [](World& w) {
         w.node.limits.cgroup_rdma_max["mlx5_0"] = told<std::string>("hca_handle=9 hca_object=max");
         w.node.limits.cgroup_rdma_now["mlx5_0"] = told<std::string>("hca_handle=8 hca_object=70");
       }},
      {"cgroup", kError, "names no processor",
       [](World& w) { w.node.limits.cgroup_cpus.value = "\xff\xfe"; }},
      {"cgroup", kUnknown, "nobody may read it",
       [](World& w) { hide(w.node.limits.cgroup_memory_max_bytes); }},
      {"hugepages", kPass, "1024 MiB are free"},
      {"hugepages", kWarn, "no huge page is reserved",
       [](World& w) { w.node.huge_pages_free.value = 0; }, "vm.nr_hugepages"},
      {"hugepages", kUnknown, "nobody may read it", [](World& w) { hide(w.node.huge_pages_free); }},
      {"cpu_power", kPass, "performance on 32"},
      {"cpu_power", kWarn, "powersave on 32",
       [](World& w) {
         w.node.cpu.governors.value = {{"powersave", 32}};
       },
       "cpupower frequency-set -g performance"},
      {"cpu_power", kWarn, "idle states C6 are on",
       [](World& w) { w.node.cpu.idle_states.value["C6"].value = "enabled"; }, "cpupower idle-set"},
      {"cpu_power", kWarn, "idle states C6 are on",
       [](World& w) { lack(w.node.cpu.idle_states.value["C6"]); }, "cpupower idle-set"},
      {"cpu_power", kWaived, "does not choose", [](World& w) { lack(w.node.cpu.governors); }},
      {"cpu_power", kUnknown, "nobody may read it", [](World& w) { hide(w.node.cpu.governors); }},
      {"cpu_power", kUnknown, "which idle states are on",
       [](World& w) { hide(w.node.cpu.idle_states); }},
      {"rdma_device_nodes", kPass, "/dev/infiniband/uverbs0 opens"},
      {"rdma_device_nodes", kFail, "/dev/infiniband/uverbs0 is not there",
       [](World& w) { w.node.device_nodes.erase("/dev/infiniband/uverbs0"); }, "rdma/NAME"},
      {"rdma_device_nodes", kFail, "/dev/infiniband/uverbs0 is not there",
       [](World& w) { w.node.device_nodes.erase("/dev/infiniband/uverbs0"); },
       "modprobe -a ib_uverbs rdma_ucm"},
      {"rdma_device_nodes", kFail, "does not open",
       [](World& w) { w.node.device_nodes["/dev/infiniband/uverbs0"].can_open.value = false; }},
      {"rdma_device_nodes", kUnknown, "/dev/infiniband/uverbs0 opens is not known",
       [](World& w) { w.node.device_nodes.clear(); }},
      {"rdma_device_nodes", kFail, "does not open: Operation not permitted",
       [](World& w) {
         Fact<bool>& open = w.node.device_nodes["/dev/infiniband/uverbs0"].can_open;
         open.value = false;
         open.reason = "Operation not permitted";
       },
       "DeviceAllow=/dev/infiniband/uverbs0 rw"},
      {"rdma_device_nodes", kUnknown, "may have some in others",
       [](World& w) {
         w.node.rdma.clear();
         w.node.rdma_netns_mode = told<std::string>("exclusive");
       }},
      {"rdma_device_nodes", kWaived, "no NIC here has RDMA",
       [](World& w) {
         w.node.rdma.clear();
         w.node.rdma_netns_mode = told<std::string>("shared");
       }},
      {"rdma_device_nodes", kUnknown, "nobody may read it",
       [](World& w) { hide(w.node.device_nodes["/dev/infiniband/uverbs0"].can_open); }},
      {"bar_copy_driver", kPass, "is loaded and opens"},
      {"bar_copy_driver", kWaived, "gdrdrv is not loaded", [](World& w) { unload(w, "gdrdrv"); },
       "modprobe gdrdrv"},
      {"bar_copy_driver", kFail, "/dev/gdrdrv is not there",
       [](World& w) { w.node.device_nodes.erase("/dev/gdrdrv"); }},
      {"bar_copy_driver", kUnknown, "nobody may read it",
       [](World& w) { hide(w.node.device_nodes["/dev/gdrdrv"].can_open); }},
  };
}

}  // namespace railgauge::agent

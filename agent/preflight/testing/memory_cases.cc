#include "agent/preflight/testing/cases.h"

namespace railgauge::agent {

// NOLINTNEXTLINE(readability-function-size): a table of cases, no steps
std::vector<Case> memory_cases() {
  return {
      {"peer_memory_client", kPass, "nvidia_peermem 550.54.15 is loaded"},
      {"peer_memory_client", kFail, "dma-buf is not in place",
       [](World& w) { unload(w, "nvidia_peermem"), use_proprietary(w); },
       "modprobe nvidia-peermem"},
      {"peer_memory_client", kFail, "no peer-memory module is installed",
       [](World& w) {
         unload(w, "nvidia_peermem"), use_proprietary(w);
         lack(w.node.modules["nvidia_peermem"].file);
       },
       "dkms install nvidia/550.54.15"},
      {"peer_memory_client", kFail,
       "own RDMA stack takes no peer-memory module, and dma-buf is not",
       [](World& w) {
         unload(w, "nvidia_peermem"), use_proprietary(w);
         w.node.peer_memory_symbol = told(false);
       },
       "nvidia-driver-550-server-open"},
      {"peer_memory_client", kUnknown, "own RDMA stack takes no peer-memory module, and whether",
       [](World& w) {
         unload(w, "nvidia_peermem"), hide(w.node.rdma_core);
         w.node.peer_memory_symbol = told(false);
       }},
      {"peer_memory_client", kWaived, "dma-buf takes its place",
       [](World& w) { unload(w, "nvidia_peermem"); }},
      {"peer_memory_client", kWarn, "no file loads it at boot",
       [](World& w) { w.node.autoload.value.clear(); }, "/etc/modules-load.d/nvidia-peermem.conf"},
      {"peer_memory_client", kPass, "at boot by its service",
       [](World& w) {
         w.node.autoload.value.clear();
         w.node.services["nvidia-peermem"].enablement = told<std::string>("enabled");
       }},
      {"peer_memory_client", kWaived, "share the host's memory",
       [](World& w) {
         w.node.gpus[0].model.value = "NVIDIA GB10";
         unload(w, "nvidia_peermem");
       }},
      {"peer_memory_client", kWarn, "taken its place",
       [](World& w) { unload(w, "nvidia_peermem"), load_legacy(w); }, "modprobe nvidia-peermem"},
      {"peer_memory_client", kUnknown, "nobody may read it",
       [](World& w) { hide(w.node.loaded_modules); }},
      {"peer_memory_client", kError, "makes no sense",
       [](World& w) { spoil(w.node.loaded_modules); }},
      {"peer_memory_client", kWaived, "TCP over these NICs", [](World& w) { w.node.rdma.clear(); }},
      {"peer_memory_conflict", kPass, "nothing of nv_peer_mem"},
      {"peer_memory_conflict", kFail, "both loaded", load_legacy, "apt-get purge"},
      {"peer_memory_conflict", kFail, "both loaded",
       [](World& w) {
         load_legacy(w);
         w.node.distribution.value = "rocky";
         w.node.distribution_like.value = "rhel centos fedora";
       },
       "dnf remove nvidia_peer_memory"},
      {"peer_memory_conflict", kWarn, "service nv_peer_mem is enabled",
       [](World& w) { w.node.services["nv_peer_mem"].enablement = told<std::string>("enabled"); },
       "systemctl disable --now nv_peer_mem"},
      {"peer_memory_conflict", kWarn, "its package nvidia-peer-memory-dkms 1.2 is installed",
       [](World& w) { w.node.packages.value["nvidia-peer-memory-dkms"] = "1.2"; },
       "apt-get purge nvidia-peer-memory-dkms"},
      {"peer_memory_conflict", kWarn, "nvidia-peer-memory 1.3 is installed",
       [](World& w) {
         w.node.packages.value["nvidia-peer-memory"] = "1.3";
         w.node.packages.value["nvidia-peer-memory-dkms"] = "1.3";
       },
       "apt-get purge nvidia-peer-memory nvidia-peer-memory-dkms"},
      {"peer_memory_conflict", kWarn, "/etc/modules-load.d/old.conf loads it",
       [](World& w) { w.node.autoload.value["nv_peer_mem"] = "/etc/modules-load.d/old.conf"; },
       "s/[[:space:]]+nv[-_]peer[-_]mem([[:space:]]|$)/\\1/g' /etc/modules-load.d/old.conf"},
      {"peer_memory_conflict", kWarn, "/usr/lib/modprobe.d/a b.conf loads it",
       [](World& w) { w.node.autoload.value["nv_peer_mem"] = "/usr/lib/modprobe.d/a b.conf"; },
       "'/usr/lib/modprobe.d/a b.conf' > '/etc/modprobe.d/a b.conf'"},
      {"peer_memory_conflict", kUnknown, "nobody may read it",
       [](World& w) { hide(w.node.autoload); }},
      {"peer_memory_conflict", kWarn, "/etc/modules loads it",
       [](World& w) {  // one readable file counts, whoever hides another
         hide(w.node.autoload);
         w.node.autoload.value["nv_peer_mem"] = "/etc/modules";
       },
       "sed -i"},
      {"peer_memory_conflict", kUnknown, "nobody may read it",
       [](World& w) { hide(w.node.loaded_modules); }},
      {"peer_memory_conflict", kUnknown, "which packages are installed",
       [](World& w) { hide(w.node.packages); }},
      {"peer_memory_conflict", kUnknown, "whether a service nv_peer_mem starts",
       [](World& w) { w.node.services.clear(); }},
      {"peer_memory_conflict", kError, "makes no sense", [](World& w) { spoil(w.node.dkms); }},
      {"gpudirect_registration", kPass, "registered by dma-buf",
       [](World& w) { w.probes = {sample_probe()}; }},
      {"gpudirect_registration", kFail, "ibv_reg_mr: Bad address",
       [](World& w) { probe_says(w, ProbeAnswer::State::kRefused, "ibv_reg_mr: Bad address"); },
       "nvidia"},
      {"gpudirect_registration", kUnknown, "not tried", [](World&) {},
       "railgauge preflight --probe"},
      {"gpudirect_registration", kUnknown, "busy: 2 processes; 60 min ago: registered by dma-buf",
       [](World& w) {
         probe_says(w, ProbeAnswer::State::kBusy, "2 processes");
         w.earlier = {sample_probe()};
       }},
      {"gpudirect_registration", kError, "the runner ended by signal 11",
       [](World& w) {
         probe_says(w, ProbeAnswer::State::kError, "the runner ended by signal 11");
       }},
      {"peermem_build", kPass, "not older than the ib_core"},
      {"peermem_build", kPass, "it uses ib_core now, after the complaint",
       [](World& w) {  // built again and loaded since
         log_line(
             w, "nvidia_peermem: disagrees about version of symbol ib_register_peer_memory_client");
       }},
      {"peermem_build", kWarn, "dma-buf takes its place here",
       [](World& w) {
         unload(w, "nvidia_peermem");
         w.node.modules["ib_core"].holders.clear();
         log_line(w, "nvidia_peermem: Unknown symbol ib_register_peer_memory_client (err -22)");
       },
       "dkms install nvidia/550.54.15"},
      {"peermem_build", kFail, "disagrees about version of symbol",
       [](World& w) {
         unload(w, "nvidia_peermem"), use_proprietary(w);
         w.node.modules["ib_core"].holders.clear();
         log_line(
             w, "nvidia_peermem: disagrees about version of symbol ib_register_peer_memory_client");
       },
       "dkms install nvidia/550.54.15 -k 6.8.0-48-generic"},
      {"peermem_build", kFail, "registered nowhere",
       [](World& w) { w.node.modules["ib_core"].holders = {"mlx5_ib"}; }, "nvidia-peermem"},
      {"peermem_build", kWarn, "OFED was installed after",
       [](World& w) { w.node.modules["ib_core"].file_modified_unix_seconds.value += 1e6; }, "dkms"},
      {"peermem_build", kUnknown, "nobody may read it",
       [](World& w) {
         hide(w.node.kernel_log);
         hide(w.node.modules["ib_core"].file_modified_unix_seconds);
       },
       "railgauge-node-facts.socket"},
      {"peermem_build", kUnknown, "no longer goes back to the boot",
       [](World& w) {
         w.node.kernel_log_is_cut = true;
         hide(w.node.modules["ib_core"].file_modified_unix_seconds);
       }},
      {"peermem_mode", kPass, "persistent_api_support=1"},
      {"peermem_mode", kWarn, "peerdirect_support=1",
       [](World& w) {
         w.node.modules["nvidia_peermem"].parameters["peerdirect_support"].value = "1";
       },
       "options nvidia-peermem peerdirect_support=0"},
      {"peermem_mode", kUnknown, "nobody may read it",
       [](World& w) { hide(w.node.modules["nvidia_peermem"].parameters["peerdirect_support"]); }},
      {"dmabuf_gpu", kPass, "open kernel modules"},
      {"dmabuf_gpu", kWarn, "proprietary", use_proprietary, "nvidia-driver-550-server-open"},
      {"dmabuf_gpu", kFail, "proprietary",
       [](World& w) { use_proprietary(w), unload(w, "nvidia_peermem"); }},
      {"dmabuf_gpu", kFail, "older than 515.43",
       [](World& w) {
         w.node.gpu_driver.value = "470.57.02";
         unload(w, "nvidia_peermem");
       }},
      {"dmabuf_gpu", kUnknown, "nobody may read it",
       [](World& w) { hide(w.node.gpu_driver_flavour); }},
      {"dmabuf_gpu", kWaived, "shares the host's memory",
       [](World& w) { w.node.gpus[0].model.value = "NVIDIA GB10"; }},
      {"dmabuf_nic", kPass, "refuses the descriptor, not the call",
       [](World& w) {  // ported back to an old kernel
         w.node.kernel_release.value = "4.18.0-553.el8";
         w.node.rdma[0].registers_dmabuf = told(true);
       }},
      {"dmabuf_nic", kWarn, "its driver or provider registers no dma-buf",
       [](World& w) { w.node.rdma[0].registers_dmabuf = told(false); }, "modprobe nvidia-peermem"},
      {"dmabuf_nic", kPass, "Linux 6.8.0-48-generic with mlx5_core"},
      {"dmabuf_nic", kWarn, "older than 5.12",
       [](World& w) { w.node.kernel_release.value = "5.4.0-1"; }},
      {"dmabuf_nic", kWaived, "there is no NVIDIA GPU",
       [](World& w) {
         w.node.gpus.clear();
         w.node.kernel_release.value = "5.10.0-1";
       }},
      {"dmabuf_nic", kFail, "rdma-core 33.1 is older than 34",
       [](World& w) {
         w.node.rdma_core.value = "33.1";
         unload(w, "nvidia_peermem");
       }},
      {"dmabuf_nic", kUnknown, "documented nowhere",
       [](World& w) {
         w.node.rdma[0].name = "irdma0";
         w.node.rdma[0].driver = "irdma";
       }},
      {"dmabuf_nic", kUnknown, "nobody may read it", [](World& w) { hide(w.node.kernel_release); }},
      {"dmabuf_nic", kUnknown, "rdma-core's version", [](World& w) { hide(w.node.rdma_core); }},
      {"peer_memory_client", kUnknown, "whether dma-buf takes its place is not known",
       [](World& w) { unload(w, "nvidia_peermem"), hide(w.node.rdma_core); }},
  };
}

}  // namespace railgauge::agent

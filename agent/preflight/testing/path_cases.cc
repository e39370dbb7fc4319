#include "agent/preflight/testing/cases.h"

namespace railgauge::agent {

// NOLINTNEXTLINE(readability-function-size): a table of cases, no steps
std::vector<Case> path_cases() {
  return {
      {"acs", kPass, "no port between them redirects"},
      {"acs", kFail, "0000:17:00.0 has ReqRedir+ UpstreamFwd+",
       [](World& w) {
         w.node.pci[kSampleGpuPort].config.acs.value.control =
             kAcsRequestRedirect | kAcsUpstreamForwarding;
       },
       "setpci -s 0000:17:00.0 ECAP_ACS+6.w=0000"},
      {"acs", kPass, "no port",
       [](World& w) {  // source validation alone redirects nothing
         w.node.pci[kSampleGpuPort].config.acs.value.control = kAcsSourceValidation;
       }},
      {"acs", kPass, "no port",
       [](World& w) {  // a port that the path does not cross
         PciDevice other = w.node.pci[kSampleGpuPort];
         other.address = "0000:17:02.0";
         other.config.acs.value.control = 0x1f;
         w.node.pci["0000:17:02.0"] = other;
       }},
      {"acs", kWaived, "virtual machine",
       [](World& w) {
         w.node.is_virtual_machine.value = true;
         w.node.pci[kSampleGpuPort].config.acs.value.control = 0x1f;
       }},
      {"acs", kWarn, "pcie_acs_override is on the command line",
       [](World& w) { w.node.kernel_command_line.value += " pcie_acs_override=downstream"; }},
      {"acs", kUnknown, "CAP_SYS_ADMIN",
       [](World& w) {
         w.node.pci[kSampleNicPort].config.acs = Fact<PciAcs>::unknown("config", kNeedsSysAdmin);
       },
       "railgauge-node-facts"},
      {"acs", kWarn, "as a virtual machine host must",
       [](World& w) {  // a vendor's own driver of the kind
         w.node.pci[kSampleGpuPort].config.acs.value.control = 0x1d;
         PciDevice given = gpu(w);
         given.address = "0000:b8:00.2";
         given.driver = told<std::string>("mlx5_vfio_pci");
         w.node.pci[given.address] = given;
       },
       "leave ACS as it is: this machine gives 0000:b8:00.2"},
      {"acs", kWarn, "as a virtual machine host must",
       [](World& w) {
         w.node.pci[kSampleGpuPort].config.acs.value.control = 0x1d;
         PciDevice given = gpu(w);
         given.address = "0000:b8:00.0";
         given.driver = told<std::string>("vfio-pci");
         w.node.pci[given.address] = given;
       },
       "leave ACS as it is: this machine gives 0000:b8:00.0"},
      {"iommu", kPass, "passes GPUs and NICs through"},
      {"iommu", kPass, "no IOMMU is on",
       [](World& w) {
         lack(w.node.iommus);
         for (PciDevice* device : {&gpu(w), &nic(w)})
           lack(device->iommu_group), lack(device->iommu_group_type);
       }},
      {"iommu", kFail, "translates for 0000:18:00.0 (DMA-FQ)",
       [](World& w) {  // one without a name of its own
         lack(w.node.iommus);
         gpu(w).iommu_group_type.value = "DMA-FQ";
       }},
      {"iommu", kUnknown, "nobody may read it", [](World& w) { hide(w.node.iommus); }},
      {"iommu", kUnknown, "nobody may read it",
       [](World& w) {
         lack(w.node.iommus);
         for (PciDevice* device : {&gpu(w), &nic(w)})
           hide(device->iommu_group), hide(device->iommu_group_type);
       }},
      {"iommu", kFail, "translates for 0000:18:00.0 (DMA-FQ)",
       [](World& w) { gpu(w).iommu_group_type.value = "DMA-FQ"; }, "intel_iommu=on iommu=pt"},
      {"iommu", kFail, "translates for",
       [](World& w) {
         w.node.cpu.vendor.value = "AuthenticAMD";
         gpu(w).iommu_group_type.value = "DMA";
       },
       "/&iommu=pt /"},
      {"iommu", kUnknown, "how the IOMMU treats GPUs and NICs is not reported here",
       [](World& w) { lack(gpu(w).iommu_group_type); }},  // an older Linux has no such file
      {"iommu", kPass, "passes GPUs and NICs through",
       [](World& w) { lack(gpu(w).iommu_group), lack(gpu(w).iommu_group_type); }},
      {"iommu", kFail,
       "gpu0 (0000:18:00.0) is in IOMMU group 7, its DMA function 0000:19:00.1 in 8",
       [](World& w) {
         PciDevice dma = nic(w);
         dma.address = "0000:19:00.1";
         dma.device.value = 0x2100;
         dma.iommu_group.value = 8;
         w.node.pci[dma.address] = dma;
       },
       "--explain acs"},
      {"iommu", kUnknown, "nobody may read it", [](World& w) { hide(gpu(w).iommu_group_type); }},
      {"bar1_size", kPass, "BAR1 is 131072 MiB of 81920 MiB"},
      {"bar1_size", kPass, "BAR1 is 131072 MiB",
       [](World& w) { hide(nvml(w).bar1_total_bytes); }},  // as PCI reports it
      {"bar1_size", kUnknown, "BAR1 is 131072 MiB; only NVML reports how much memory there is",
       [](World& w) {
         hide(nvml(w).bar1_total_bytes);
         hide(nvml(w).memory_total_bytes);
       }},
      {"bar1_size", kWarn, "BAR1 is 256 MiB",
       [](World& w) { nvml(w).bar1_total_bytes.value = 256U << 20U; }, "Above 4G"},
      {"bar1_size", kFail, "no BAR1", [](World& w) { nvml(w).bar1_total_bytes.value = 0; }},
      {"bar1_size", kUnknown, "nobody may read it",
       [](World& w) {
         hide(nvml(w).bar1_total_bytes);
         hide(gpu(w).bars);
       }},
      {"pcie_link", kPass, "32 GT/s x16"},
      {"pcie_link", kFail, "32 GT/s x8 where 32 GT/s x16 is possible",
       [](World& w) { nic(w).link_width.value = 8; }, "0000:17:01.0"},
      {"pcie_link", kFail, "16 GT/s x16", [](World& w) { nic(w).link_gigatransfers.value = 16; }},
      {"pcie_link", kWarn, "the slot (0000:17:01.0) gives less",
       [](World& w) {
         nic(w).link_gigatransfers.value = 16;
         w.node.pci[kSampleNicPort].max_link_gigatransfers.value = 16;
       }},
      {"pcie_link", kFail,
       "the switch above it (0000:16:00.0) has 32 GT/s x8 where 32 GT/s x16 is possible",
       [](World& w) { w.node.pci[kSampleUplink].link_width.value = 8; }, "0000:15:01.0"},
      {"pcie_link", kFail, "the switch above it (0000:16:00.0) has 16 GT/s x16",
       [](World& w) {  // seen without a privilege: by its place, and both ends report one link
         for (const char* port : {"0000:15:01.0", kSampleUplink}) {
           hide(w.node.pci[port].config.pcie);
           w.node.pci[port].link_gigatransfers.value = 16;
         }
       }},
      {"pcie_link", kPass, "32 GT/s x16",
       [](World& w) {  // inside a switch there is no link: each port reports its own
         hide(w.node.pci[kSampleUplink].config.pcie);
         w.node.pci["0000:15:01.0"].link_width.value = 4;
       }},
      {"pcie_link", kPass, "as the hypervisor shows it",
       [](World& w) {
         w.node.is_virtual_machine.value = true;
         w.node.pci[kSampleUplink].link_width.value = 1;
       }},
      {"pcie_link", kUnknown, "idle GPUs lower their links",
       [](World& w) { gpu(w).link_gigatransfers.value = 2.5; }},
      {"pcie_link", kUnknown, "nobody may read it", [](World& w) { hide(nic(w).link_width); }},
      {"pcie_link", kError, "makes no sense", [](World& w) { spoil(nic(w).link_width); }},
      {"pcie_link", kPass, "as the hypervisor shows it",
       [](World& w) {  // QEMU's root ports of old are of 2.5 GT/s and one lane
         w.node.is_virtual_machine.value = true;
         w.node.pci[kSampleNicPort].max_link_gigatransfers.value = 2.5;
         w.node.pci[kSampleNicPort].max_link_width.value = 1;
       }},
      {"pcie_link", kUnknown, "the hypervisor shows no link",
       [](World& w) {  // a virtual function in a guest
         w.node.is_virtual_machine.value = true;
         nic(w).link_width.value = 0;
         hide(nic(w).link_gigatransfers);
       }},
      {"pcie_link", kUnknown, "only its host reports",
       [](World& w) {
         w.node.is_virtual_machine.value = true;
         nic(w).link_width.value = 8;
       }},
      {"pcie_link", kFail, "fallen off the bus",
       [](World& w) { nic(w).link_width.value = 63, hide(nic(w).link_gigatransfers); }},
      {"pcie_limited", kPass, "names no limit"},
      {"pcie_limited", kFail, "limited by 8.0 GT/s",
       [](World& w) {
         log_line(w,
                  "mlx5_core 0000:19:00.0: 63.008 Gb/s available PCIe bandwidth, limited by 8.0 "
                  "GT/s PCIe x8 link at 0000:17:01.0");
       }},
      {"pcie_limited", kUnknown, "only the host shows",
       [](World& w) {
         w.node.is_virtual_machine.value = true;
         log_line(w,
                  "mlx5_core 0000:19:00.0: 2.000 Gb/s available PCIe bandwidth, limited by 2.5 "
                  "GT/s PCIe x1 link at 0000:17:01.0");
       },
       "on the host"},
      {"pcie_limited", kUnknown, "no longer goes back to the boot",
       [](World& w) { w.node.kernel_log_is_cut = true; }},
      {"pcie_limited", kUnknown, "nobody may read it", [](World& w) { hide(w.node.kernel_log); },
       "railgauge-node-facts.socket"},
      {"pcie_errors", kPass, "0 corrected"},
      {"pcie_errors", kFail, "1 fatal",
       [](World& w) { nic(w).aer_fatal.value["TOTAL_ERR_FATAL"] = 1; }, "reseat"},
      {"pcie_errors", kWarn, "5000 corrected",
       [](World& w) { gpu(w).aer_correctable.value["TOTAL_ERR_COR"] = 5000; }},
      {"pcie_errors", kWarn, "its port 0000:17:01.0 7000 corrected",
       [](World& w) { w.node.pci[kSampleNicPort].aer_correctable.value["TOTAL_ERR_COR"] = 7000; },
       "reseat"},
      {"pcie_errors", kFail, "its port 0000:17:00.0 0 corrected, 0 not fatal, 2 fatal",
       [](World& w) { w.node.pci[kSampleGpuPort].aer_fatal.value["TOTAL_ERR_FATAL"] = 2; }},
      {"pcie_errors", kUnknown, "nobody may read it",
       [](World& w) { hide(nic(w).aer_correctable); }},
      {"pcie_read_request", kPass, "MaxReadReq 4096"},
      {"pcie_read_request", kWarn, "MaxReadReq 512",
       [](World& w) { nic(w).config.pcie.value.max_read_request_bytes = 512; },
       "setpci -s 0000:19:00.0 CAP_EXP+8.w=5000:7000"},
      {"pcie_read_request", kFail, "MaxReadReq 128",
       [](World& w) { nic(w).config.pcie.value.max_read_request_bytes = 128; }},
      {"pcie_read_request", kFail, "port 0000:16:00.0 takes smaller packets",
       [](World& w) { w.node.pci["0000:16:00.0"].config.pcie.value.max_payload_bytes = 128; }},
      {"pcie_read_request", kFail, "port 0000:17:01.0 sends larger packets (1024 bytes)",
       [](World& w) { w.node.pci[kSampleNicPort].config.pcie.value.max_payload_bytes = 1024; },
       "pcie_bus_safe"},
      {"pcie_read_request", kUnknown, "nobody may read it",
       [](World& w) { hide(nic(w).config.pcie); }, "CAP_SYS_ADMIN"},
      {"relaxed_ordering", kPass, "loosely"},
      {"relaxed_ordering", kWarn, "waits for the one before",
       [](World& w) { nic(w).config.pcie.value.relaxed_ordering = false; }, "PCI_WR_ORDERING"},
      {"relaxed_ordering", kUnknown, "nobody may read it",
       [](World& w) { hide(nic(w).config.pcie); }},
      {"gpu_nic_distance", kPass, "PIX"},
      {"gpu_nic_distance", kWarn, "SYS", move_nic_away},
      {"gpu_nic_distance", kFail, "SYS",
       [](World& w) {
         move_nic_away(w);
         w.required = {"gpu_nic_distance"};
       }},
      {"gpu_nic_distance", kUnknown, "says nothing of the host's PCIe",
       [](World& w) {  // each function on a bus of its own, as some clouds have it
         move_nic_away(w);
         w.node.is_virtual_machine.value = true;
       }},
      {"gpu_nic_distance", kWaived, "shares the host's memory",
       [](World& w) {
         move_nic_away(w);
         w.node.gpus[0].model.value = "NVIDIA GB10";
       }},
      {"gpu_nic_distance", kWaived, "by design",
       [](World& w) {
         move_nic_away(w);
         w.node.gpus[0].model.value = "NVIDIA GH200 480GB";
       }},
      {"gpu_nic_distance", kUnknown, "is not known", [](World& w) { nic(w).host_bridge = ""; }},
      {"numa_locality", kPass, "NUMA node 0"},
      {"numa_locality", kWarn, "does not report", [](World& w) { gpu(w).numa_node.value = -1; }},
      {"numa_locality", kWarn, "does not report",
       [](World& w) {
         w.node.is_virtual_machine.value = true;
         gpu(w).numa_node.value = -1;
       },
       "on the host"},
      {"numa_locality", kWarn, "moves pages", [](World& w) { w.node.numa_balancing.value = true; },
       "kernel.numa_balancing=0"},
      {"numa_locality", kFail, "the agent may use 16-31 alone",
       [](World& w) { w.node.limits.cgroup_cpus.value = "16-31"; }},
      {"numa_locality", kUnknown, "which processors the agent may use",
       [](World& w) { hide(w.node.limits.cgroup_cpus); }},
      {"numa_locality", kUnknown, "which processors are near it",
       [](World& w) { hide(gpu(w).local_cpus); }},
      {"numa_locality", kUnknown, "nobody may read it", [](World& w) { hide(gpu(w).numa_node); }},
  };
}

}  // namespace railgauge::agent

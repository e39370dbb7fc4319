#include "agent/preflight/testing/cases.h"

namespace railgauge::agent {

// NOLINTNEXTLINE(readability-function-size): a table of cases, no steps
std::vector<Case> fabric_cases() {
  return {
      {"port_state", kPass, "active, 400 Gb/s, ethernet"},
      {"port_state", kFail, "down, disabled",
       [](World& w) {
         port(w).state.value = "down";
         port(w).phys_state.value = "disabled";
       },
       "ip link set ens1 up"},
      {"port_state", kFail, "its sisters run at 400 Gb/s",
       [](World& w) {
         w.node.rdma.push_back(w.node.rdma[0]);
         w.node.rdma[1].name = "mlx5_1";
         w.node.rdma[1].ports[0].rate_bits_per_second.value = 200e9;
       }},
      {"port_state", kPass, "active, 25 Gb/s",
       [](World& w) {  // soft-RoCE over two interfaces
         w.node.rdma.push_back(w.node.rdma[0]);
         for (RdmaDevice& device : w.node.rdma) lack(device.board_id), lack(device.model);
         w.node.rdma[1].name = "rxe1";
         w.node.rdma[1].ports[0].rate_bits_per_second.value = 25e9;
       }},
      {"port_state", kFail, "no port of this NIC is up, which is the rail of gpu0",
       [](World& w) {
         w.node.rdma.push_back(w.node.rdma[0]);
         w.node.rdma[1].name = "mlx5_1";
         w.node.rdma[1].pci_address = "0000:99:00.0";
         port(w).state.value = "down";
       }},
      {"port_state", kWarn, "mlx5_1:1: down",
       [](World& w) {  // a NIC beside no GPU
         w.node.rdma.push_back(w.node.rdma[0]);
         w.node.rdma[1].name = "mlx5_1";
         w.node.rdma[1].pci_address = "0000:99:00.0";
         w.node.rdma[1].ports[0].state.value = "down";
       }},
      {"port_state", kUnknown, "nobody may read it", [](World& w) { hide(port(w).state); }},
      {"port_state", kUnknown, "which NICs have RDMA",
       [](World& w) { w.node.rdma.clear(), hide(w.node.rdma_told); }},
      {"port_state", kError, "which ports it has",
       [](World& w) { w.node.rdma[0].ports.clear(), spoil(w.node.rdma[0].ports_told); }},
      {"mtu", kPass, "RDMA can use 4096"},
      {"mtu", kWarn, "RDMA can use 1024 bytes alone",
       [](World& w) { w.node.nets[0].mtu_bytes.value = 1500; }, "ip link set ens1 mtu 9000"},
      {"mtu", kUnknown, "nobody may read it", [](World& w) { hide(w.node.nets[0].mtu_bytes); }},
      {"mtu", kUnknown, "is in no file for InfiniBand",
       [](World& w) { port(w).link_layer.value = "infiniband"; }, "ibv_devinfo"},
      {"mtu", kPass, "4096 of 4096", [](World& w) { use_infiniband(w, 4096); }},
      {"mtu", kWarn, "2048 where 4096 is possible", [](World& w) { use_infiniband(w, 2048); },
       "partitions.conf"},
      {"gid", kPass, "at index 3"},
      {"gid", kFail, "no GID is of RoCE v2", [](World& w) { port(w).gids.pop_back(); }},
      {"gid", kWaived, "iWARP",
       [](World& w) {
         w.node.rdma[0].node_type = told<std::string>("rnic");
         port(w).gids.pop_back();
       }},
      {"mtu", kWaived, "iWARP",
       [](World& w) {
         w.node.rdma[0].node_type = told<std::string>("rnic");
         w.node.nets[0].mtu_bytes.value = 1500;
       }},
      {"gid", kWaived, "link layer unspecified",
       [](World& w) {  // EFA
         port(w).link_layer.value = "unspecified";
         port(w).gids.pop_back();
       }},
      {"gid", kFail, "has no GID", [](World& w) { port(w).gids.clear(); }, "ip addr add"},
      {"gid", kUnknown, "which GIDs it has",
       [](World& w) { port(w).gids.clear(), hide(port(w).gids_told); }},
      {"gid", kError, "which GIDs it has",
       [](World& w) { port(w).gids.pop_back(), spoil(port(w).gids_told); }},
      {"gid", kUnknown, "types of its GIDs are not reported",
       [](World& w) { port(w).gids[1].type.clear(); }},
      {"gid", kPass, "at index 3", [](World& w) { spoil(port(w).gids_told); }},
      {"gid", kWarn, "link-local alone",
       [](World& w) { port(w).gids[1].gid = "fe80:0000:0000:0000:0000:0000:0000:0001"; }},
      {"gid", kFail, "no LID",
       [](World& w) {
         port(w).link_layer.value = "infiniband";
         port(w).lid = told<std::uint32_t>(0);
       }},
      {"gid", kUnknown, "types of its GIDs are not reported",
       [](World& w) {
         for (GidEntry& entry : port(w).gids) entry.type.clear();
       }},
      {"lossless", kPass, "trust is dscp"},
      {"lossless", kWarn, "trust is pcp",
       [](World& w) { w.node.nets[0].qos["qos/trust"].value = "pcp"; }, "mlnx_qos -i ens1"},
      {"lossless", kWarn, "no priority has flow control",
       [](World& w) { w.node.nets[0].qos["dcb/pfc"].value = ""; }, "--pfc 0,0,0,1,0,0,0,0"},
      {"lossless", kPass, "flow control is on for priorities 3",
       [](World& w) {  // the kernel's own driver has no file
         auto& qos = w.node.nets[0].qos;
         qos["dcb/trust"] = qos["qos/trust"];
         qos.erase("qos/trust");
       }},
      {"lossless", kUnknown, "its flow control is not reported",
       [](World& w) { w.node.nets[0].qos.erase("dcb/pfc"); }, "dcb pfc show"},
      {"lossless", kUnknown, "in no file and no netlink",
       [](World& w) { w.node.nets[0].qos.clear(); }},
      {"lossless", kUnknown, "nobody may read it",
       [](World& w) { hide(w.node.nets[0].qos["dcb/pfc"]); }},
      {"lossless", kPass, "flow control is on for priorities 3",
       [](World& w) { w.site.lossless_priority = 3; }},
      {"lossless", kWarn, "on for priorities 3, the site's lossless one is 5",
       [](World& w) { w.site.lossless_priority = 5; }, "--pfc 0,0,0,0,0,1,0,0"},
      {"lossless", kWarn, "on for priorities 3 4, the site's lossless one is 3",
       [](World& w) {
         w.site.lossless_priority = 3;
         w.node.nets[0].qos["dcb/pfc"].value = "3 4";
       },
       "--pfc 0,0,0,1,0,0,0,0"},
      {"congestion_control", kPass, "on for priorities 3",
       [](World& w) { w.site = {.lossless_priority = 3, .traffic_class = 106}; }},
      {"congestion_control", kWarn, "not for the site's lossless one, 5",
       [](World& w) { w.site.lossless_priority = 5; }, "roce_np/enable/5"},
      {"congestion_control", kWarn, "traffic class 184 is DSCP 46, by default priority 5",
       [](World& w) { w.site = {.lossless_priority = 3, .traffic_class = 184}; },
       "mlnx_qos -i ens1 --dscp2prio set,46,3"},
      {"congestion_control", kPass, "on for priorities 3",
       [](World& w) {  // whose map was changed for it
         w.site = {.lossless_priority = 3, .traffic_class = 184};
         w.node.nets[0].qos["dcb/dscp_map"] = told<std::string>("40:3 46:3");
       }},
      {"congestion_control", kWarn, "traffic class 106 is DSCP 26, here priority 5",
       [](World& w) {
         w.site = {.lossless_priority = 3, .traffic_class = 106};
         w.node.nets[0].qos["dcb/dscp_map"] = told<std::string>("6:3 26:5");
       }},
      {"congestion_control", kUnknown, "by default priority 5, and its lossless one is 3",
       [](World& w) {
         w.site = {.lossless_priority = 3, .traffic_class = 184};
         w.node.nets[0].qos.clear();
       },
       "--dscp2prio set,46,3"},
      {"congestion_control", kWarn, "here priority 5",
       [](World& w) {
         w.site = {.lossless_priority = 3, .traffic_class = 184};
         w.node.nets[0].qos["dcb/dscp_map"] = told<std::string>("46:");
       }},
      {"congestion_control", kPass, "on for priorities 3"},
      {"congestion_control", kWarn, "notifies or reacts, not both",
       [](World& w) { w.node.nets[0].qos["ecn/roce_rp/enable/3"].value = "0"; },
       "roce_rp/enable/3"},
      {"congestion_control", kWarn, "priority 2 5 notifies or reacts, not both",
       [](World& w) {
         w.node.nets[0].qos["ecn/roce_np/enable/2"] = told<std::string>("1");
         w.node.nets[0].qos["ecn/roce_rp/enable/5"] = told<std::string>("1");
       }},
      {"congestion_control", kUnknown, "is in no file",
       [](World& w) { w.node.nets[0].qos.clear(); }},
      {"port_errors", kPass, "no error counter stands out"},
      {"port_errors", kWarn, "symbol_error 5000",
       [](World& w) { port(w).counters.value["symbol_error"] = 5000; }},
      {"port_errors", kWarn, "counts no more",
       [](World& w) { port(w).counters.value["symbol_error"] = 0xffffffffU; }},
      {"port_errors", kUnknown, "nobody may read it",
       [](World& w) {
         hide(port(w).counters);
         hide(port(w).hw_counters);
       }},
      {"port_errors", kUnknown, "nobody may read it", [](World& w) { hide(port(w).counters); }},
      {"port_errors", kPass, "no error counter stands out",
       [](World& w) { lack(port(w).counters); }},  // EFA has the others alone
      {"nic_firmware", kPass, "28.39.1002 on mlx5_0"},
      {"nic_firmware", kPass, "its configuration is unknown: reading it takes root and writes"},
      {"nic_firmware", kWarn, "28.39.1002 on mlx5_0, 28.40.1000 on mlx5_1",
       [](World& w) {
         w.node.rdma.push_back(w.node.rdma[0]);
         w.node.rdma[1].name = "mlx5_1";
         w.node.rdma[1].firmware.value = "28.40.1000";
       }},
      {"nic_firmware", kUnknown, "nobody may read it",
       [](World& w) { hide(w.node.rdma[0].firmware); }},
      {"versions", kPass, "GPU driver 550.54.15"},
      {"versions", kError, "makes no sense", [](World& w) { spoil(w.node.gpu_driver); }},
      {"versions", kUnknown, "release is not reported here",
       [](World& w) { lack(w.node.kernel_release); }},
      {"versions", kUnknown, "nobody may read it", [](World& w) { hide(w.node.kernel_release); }},
      {"minimum_versions", kPass, "at least 418.40 is needed"},
      {"minimum_versions", kFail, "410.48; at least 418.40",
       [](World& w) { w.node.gpu_driver.value = "410.48"; }},
      {"minimum_versions", kFail,
       "NVIDIA's driver is not loaded; the GPUs are driven: gpu0 by nouveau",
       [](World& w) {
         lack(w.node.gpu_driver);
         gpu(w).driver = told<std::string>("nouveau");
       },
       "install GPU driver"},
      {"minimum_versions", kFail, "at least 4.5",
       [](World& w) { w.node.ofed.value = "MLNX_OFED_LINUX-4.4-2.0.7"; }},
      {"minimum_versions", kFail, "older than ConnectX-3 Pro",
       [](World& w) { nic(w).device.value = 0x1003; }},
      {"minimum_versions", kFail, "data centre and workstation",
       [](World& w) { w.node.gpus[0].model.value = "NVIDIA GeForce RTX 4090"; }},
      {"minimum_versions", kFail, "3.5 is needed",
       [](World& w) { nvml(w).compute_capability.value = 30; }},
      {"minimum_versions", kFail, "1.3; at least 2.0 is needed",
       [](World& w) { w.node.modules["gdrdrv"].version.value = "1.3"; }, "gdrdrv-dkms"},
      {"minimum_versions", kUnknown, "its version is not known",
       [](World& w) { hide(w.node.modules["gdrdrv"].version); }},
      {"minimum_versions", kPass, "kept for virtual machines (gpu0 by nvgrace_gpu_vfio_pci)",
       [](World& w) {
         lack(w.node.gpu_driver);
         gpu(w).driver = told<std::string>("nvgrace_gpu_vfio_pci");
       }},
      {"minimum_versions", kUnknown, "documented nowhere",
       [](World& w) { nic(w).vendor.value = 0x8086; }, "--probe"},
      {"minimum_versions", kUnknown, "documented nowhere",
       [](World& w) { nic(w).device.value = 0x1004; }},
      {"minimum_versions", kError, "is no version",
       [](World& w) { w.node.gpu_driver.value = "none"; }},
      {"minimum_versions", kUnknown, "nobody may read it",
       [](World& w) { hide(w.node.gpu_driver); }},
  };
}

}  // namespace railgauge::agent

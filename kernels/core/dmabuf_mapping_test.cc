// Node descriptions are synthetic; their shapes are those of the named boards.
#include "kernels/core/dmabuf_mapping.h"

#include <gtest/gtest.h>

namespace railgauge {
namespace {

TEST(PciBridge, IsSharedBelowOneHostBridgeOnly) {
  const auto below = [](std::string_view path) { return "/sys/devices/" + std::string(path); };
  const std::string gpu = below("pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0/0000:18:00.0");
  const std::string beside =
      below("pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0/0000:19:00.0");
  const std::string other_port = below("pci0000:15/0000:15:02.0/0000:1a:00.0");
  EXPECT_TRUE(share_pci_bridge(gpu, beside));
  EXPECT_TRUE(share_pci_bridge(gpu, beside + "/infiniband/mlx5_0"));
  EXPECT_FALSE(share_pci_bridge(gpu, other_port)) << "only the host bridge is above both";
  EXPECT_FALSE(share_pci_bridge(below("pci0000:00/0000:00:05.0"), below("pci0000:00/0000:00:06.0")))
      << "a guest's bus: no bridge at all";
  EXPECT_FALSE(share_pci_bridge(below("pci0000:00/0000:00:05.0/0000:01:00.0"),
                                below("pci0008:00/0000:00:05.0/0000:01:00.0")));
  for (const char* none : {"", "/sys/devices/virtual/infiniband/rxe0", "pci", "pci0000:00"})
    EXPECT_FALSE(share_pci_bridge(gpu, none)) << none;
}

struct Board {
  const char* name;
  bool is_coherent;
  const char* gpu;
  const char* nic;
  const char* direct;  // the Data Direct function; "": none
  DmabufMapping mapping;
};

TEST(DmabufMapping, FollowsTheTopologyOfEachBoard) {
  constexpr const char* kHgxGpu =
      "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0/0000:18:00.0";
  constexpr const char* kHgxNic =
      "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0/0000:19:00.0";
  constexpr const char* kGraceGpu = "/sys/devices/pci0008:00/0008:00:00.0/0008:01:00.0";
  constexpr const char* kGraceNic = "/sys/devices/pci0000:00/0000:00:00.0/0000:03:00.0";
  constexpr const char* kGpuOnSwitch =
      "/sys/devices/pci0008:00/0008:00:00.0/0008:01:00.0/0008:02:01.0/0008:06:00.0";
  constexpr const char* kNicOnSwitch =
      "/sys/devices/pci0008:00/0008:00:00.0/0008:01:00.0/0008:02:00.0/0008:03:00.0";
  const Board boards[] = {
      {"HGX H100, ConnectX-7 on the GPU's switch", false, kHgxGpu, kHgxNic, "",
       DmabufMapping::kDefault},
      {"HGX H100, the storage NIC of the other socket", false, kHgxGpu,
       "/sys/devices/pci0000:97/0000:97:01.0/0000:98:00.0", "", DmabufMapping::kDefault},
      {"HGX B200, ConnectX-7 on the GPU's switch", false, kHgxGpu, kHgxNic, "",
       DmabufMapping::kDefault},
      {"GB200, ConnectX-7 on Grace", true, kGraceGpu, kGraceNic, "", DmabufMapping::kDefault},
      {"GB200, a NIC beside the GPU on one switch", true, kGpuOnSwitch, kNicOnSwitch, "",
       DmabufMapping::kPcie},
      {"GB300, ConnectX-8 with Data Direct", true, kGpuOnSwitch, kGraceNic, kNicOnSwitch,
       DmabufMapping::kDataDirect},
      {"GB300, the Data Direct function of another GPU's NIC", true, kGpuOnSwitch, kGraceNic,
       "/sys/devices/pci0018:00/0018:00:00.0/0018:01:00.0/0018:02:00.0/0018:03:00.0",
       DmabufMapping::kDefault},
      {"no sysfs", true, "", "", "", DmabufMapping::kDefault},
  };
  for (const Board& board : boards) {
    const MappingChoice choice =
        choose_dmabuf_mapping({.is_coherent = board.is_coherent,
                               .nic_shares_bridge = share_pci_bridge(board.gpu, board.nic),
                               .direct_shares_bridge = share_pci_bridge(board.gpu, board.direct)});
    EXPECT_EQ(choice.mapping, board.mapping) << board.name << ": " << choice.reason;
    EXPECT_FALSE(choice.reason.empty());
  }
}

}  // namespace
}  // namespace railgauge

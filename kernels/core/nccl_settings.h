// NCCL's settings that a task may name: parameters of the NCCL kernels that become NCCL's
// environment variables (kernels/nccl/communicator/environment.h). Pure; thread safe.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace railgauge {

// One setting: its parameter, its variable and its type.
struct NcclSetting {
  // The type of the value: false or true, a text, a whole number, a level of distance.
  enum Kind : std::uint8_t { kFlag, kText, kNumber, kLevel };
  // "ib_hca".
  const char* parameter;
  // "NCCL_IB_HCA".
  const char* variable;
  Kind kind;
  // The parameter's default, which leaves the site's own setting in place.
  std::string_view unset;
  const char* summary;
  double highest = 0;  // of a number; `unset` is the lowest
  // Returns the variable's value for the parameter's canonical text, or "" when the variable stays
  // unset. Flags become 1 and 0.
  [[nodiscard]] std::string value(const std::string& text) const {
    if (text == unset) return "";
    if (kind != kFlag) return text;
    return text == "true" ? "1" : "0";
  }
};

// The default of flags and levels: keep the site's own setting.
inline constexpr const char* kSite = "site";
inline constexpr std::array kNcclSettings{
    NcclSetting{"ib_disable", "NCCL_IB_DISABLE", NcclSetting::kFlag, kSite,
                "no InfiniBand or RoCE: sockets"},
    NcclSetting{"ib_hca", "NCCL_IB_HCA", NcclSetting::kText, "",
                "adapters, as =mlx5_0,mlx5_1; without = in front a name is a prefix: mlx5_1 also "
                "takes mlx5_10"},
    NcclSetting{"socket_ifname", "NCCL_SOCKET_IFNAME", NcclSetting::kText, "",
                "interfaces for sockets and the first contact, as =eth0 or ^docker"},
    NcclSetting{"net_gdr_level", "NCCL_NET_GDR_LEVEL", NcclSetting::kLevel, kSite,
                "farthest path from GPU to NIC for GPUDirect RDMA"},
    NcclSetting{"net_gdr_read", "NCCL_NET_GDR_READ", NcclSetting::kFlag, kSite,
                "GPUDirect RDMA for sending too"},
    NcclSetting{"ib_qps_per_connection", "NCCL_IB_QPS_PER_CONNECTION", NcclSetting::kNumber, "0",
                "queue pairs of one connection; 0: as the site has it", 128},
    NcclSetting{"ib_tc", "NCCL_IB_TC", NcclSetting::kNumber, "-1",
                "traffic class; -1: as the site has it", 255},
    NcclSetting{"ib_sl", "NCCL_IB_SL", NcclSetting::kNumber, "-1",
                "service level; -1: as the site has it", 15},
    NcclSetting{"ib_gid_index", "NCCL_IB_GID_INDEX", NcclSetting::kNumber, "-1",
                "GID index; -1: as the site has it", 255},
    NcclSetting{"ib_timeout", "NCCL_IB_TIMEOUT", NcclSetting::kNumber, "0",
                "exponent of the queue pairs' timeout; 0: as the site has it", 31},
    NcclSetting{"ib_retry_cnt", "NCCL_IB_RETRY_CNT", NcclSetting::kNumber, "-1",
                "retries of a queue pair; -1: as the site has it", 7},
    NcclSetting{"algo", "NCCL_ALGO", NcclSetting::kText, "", "algorithms, as Ring or ^Tree"},
    NcclSetting{"proto", "NCCL_PROTO", NcclSetting::kText, "", "protocols, as Simple or ^LL128"},
    NcclSetting{"min_nchannels", "NCCL_MIN_NCHANNELS", NcclSetting::kNumber, "0",
                "channels at least; 0: as the site has it", 64},
    NcclSetting{"max_nchannels", "NCCL_MAX_NCHANNELS", NcclSetting::kNumber, "0",
                "channels at most; 0: as the site has it", 64},
    NcclSetting{"p2p_disable", "NCCL_P2P_DISABLE", NcclSetting::kFlag, kSite,
                "no direct copies between GPUs of one host"},
    NcclSetting{"shm_disable", "NCCL_SHM_DISABLE", NcclSetting::kFlag, kSite,
                "no shared host memory between ranks of one host"},
    NcclSetting{"nvls_enable", "NCCL_NVLS_ENABLE", NcclSetting::kFlag, kSite,
                "multicast of the NVLink switch"},
};
inline std::span<const NcclSetting> nccl_settings() { return kNcclSettings; }

}  // namespace railgauge

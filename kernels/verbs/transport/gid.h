// The GID table of a port, and which entry a queue pair uses.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::verbs {

// One filled entry of a port's GID table.
struct GidEntry {
  // 128 bits in network order.
  ibv_gid gid{};
  // Position in the table, as queue pairs name it.
  std::uint32_t index = 0;
  std::uint32_t type = IBV_GID_TYPE_IB;
  std::uint32_t netdev = 0;  // interface index; 0 when unknown
};

// The filled entries of `port`, by index. From the library, or from the folder
// `sysfs_port` (/sys/class/infiniband/DEV/ports/N) where the library is older than the call.
Result<std::vector<GidEntry>> read_gids(ibv_context* context, std::uint8_t port, int table_length,
                                        const std::string& sysfs_port);
// Never fails: a file that cannot be read is an empty entry.
std::vector<GidEntry> read_gids_from_sysfs(const std::string& sysfs_port, int table_length);

// The rule. InfiniBand: index 0. RoCE: v2 with an IPv4 address, v2 with a global IPv6 address, v2
// link-local, v1; within each the port's own netdev (entry 0's) before VLANs and others, then the
// lowest index. kFailedPrecondition when the table is empty. Pure.
Result<GidEntry> choose_gid(std::span<const GidEntry> entries);

// The GIDs that parameter gid_rule allows: kAuto is the rule above. `words` is the parameter's
// value.
enum class GidRule : std::uint8_t { kAuto, kRoceV2Ipv4, kRoceV2, kRoceV1 };
GidRule gid_rule_of(std::string_view words);
// The rule's first among the entries that fit; kFailedPrecondition naming the filled ones when none
// does. Pure.
Result<GidEntry> choose_gid(std::span<const GidEntry> entries, GidRule rule);

// Entry `index`; kInvalidArgument naming the filled ones. Pure.
Result<GidEntry> gid_at(std::span<const GidEntry> entries, std::uint32_t index);

}  // namespace railgauge::verbs

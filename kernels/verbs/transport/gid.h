// The GID table of a port, and the choice of the entry for a queue pair.
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

// Reads the filled entries of `port`, by index: from the library, or from the folder `sysfs_port`
// (/sys/class/infiniband/DEV/ports/N) when the library is too old for the call.
Result<std::vector<GidEntry>> read_gids(ibv_context* context, std::uint8_t port, int table_length,
                                        const std::string& sysfs_port);
// Never fails: an unreadable file counts as an empty entry.
std::vector<GidEntry> read_gids_from_sysfs(const std::string& sysfs_port, int table_length);

// Chooses by rule. InfiniBand: index 0. RoCE: v2 with an IPv4 address, v2 with a global IPv6
// address, v2 link-local, v1; within each the port's own netdev (entry 0's) before VLANs and
// others, then the lowest index. kFailedPrecondition for an empty table. Pure.
Result<GidEntry> choose_gid(std::span<const GidEntry> entries);

// The GIDs that parameter gid_rule allows: kAuto is the rule above. `words` is the parameter's
// value.
enum class GidRule : std::uint8_t { kAuto, kRoceV2Ipv4, kRoceV2, kRoceV1 };
GidRule gid_rule_of(std::string_view words);
// Chooses the rule's first entry among the allowed ones; kFailedPrecondition, with the filled
// entries, when none is allowed. Pure.
Result<GidEntry> choose_gid(std::span<const GidEntry> entries, GidRule rule);

// Returns entry `index`; kInvalidArgument, with the filled entries, when it is empty. Pure.
Result<GidEntry> gid_at(std::span<const GidEntry> entries, std::uint32_t index);

}  // namespace railgauge::verbs

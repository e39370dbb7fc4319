#include "kernels/verbs/transport/gid.h"

#include <arpa/inet.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <tuple>

#include <fmt/format.h>

#include "kernels/dl/verbs.h"
#include "kernels/verbs/transport/words.h"

namespace railgauge::verbs {
namespace {

// Over all ports of a device: the kernel's ioctl takes 65535 bytes of them.
constexpr std::size_t kMaxGids = 65535 / sizeof(ibv_gid_entry);

bool is_ipv4_mapped(const ibv_gid& gid) {
  return IN6_IS_ADDR_V4MAPPED(reinterpret_cast<const in6_addr*>(gid.raw)) != 0;
}
bool is_link_local(const ibv_gid& gid) {
  return IN6_IS_ADDR_LINKLOCAL(reinterpret_cast<const in6_addr*>(gid.raw)) != 0;
}
bool is_empty(const ibv_gid& gid) {
  return std::ranges::all_of(gid.raw, [](std::uint8_t byte) { return byte == 0; });
}

// Smaller is better. InfiniBand keeps the table's order; RoCE prefers routable entries.
int preference(const GidEntry& entry) {
  if (entry.type == IBV_GID_TYPE_IB) return static_cast<int>(entry.index);
  if (entry.type != IBV_GID_TYPE_ROCE_V2) return is_ipv4_mapped(entry.gid) ? 3 : 4;
  if (is_ipv4_mapped(entry.gid)) return 0;
  return is_link_local(entry.gid) ? 2 : 1;
}

// "" where the file cannot be read.
std::string first_line(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

// "3 (RoCE v2 ::ffff:192.0.2.1)".
std::string entry_words(const GidEntry& entry) {
  return fmt::format("{} ({} {})", entry.index, gid_type_words(entry.type), gid_words(entry.gid));
}

std::string filled_words(std::span<const GidEntry> entries) {
  std::string filled;
  for (const GidEntry& entry : entries) filled += (filled.empty() ? "" : ", ") + entry_words(entry);
  return filled.empty() ? "none" : filled;
}

// A value of parameter gid_rule.
struct RuleRow {
  GidRule rule;
  std::string_view words;
};
constexpr std::array kRules{RuleRow{GidRule::kRoceV2Ipv4, "roce_v2_ipv4"},
                            RuleRow{GidRule::kRoceV2, "roce_v2"},
                            RuleRow{GidRule::kRoceV1, "roce_v1"}};

// Whether the entry is of the kind that the rule names.
bool allows(GidRule rule, const GidEntry& entry) {
  switch (rule) {
    case GidRule::kRoceV2Ipv4:
      return entry.type == IBV_GID_TYPE_ROCE_V2 && is_ipv4_mapped(entry.gid);
    case GidRule::kRoceV2:
      return entry.type == IBV_GID_TYPE_ROCE_V2;
    case GidRule::kRoceV1:
      return entry.type == IBV_GID_TYPE_ROCE_V1;
    case GidRule::kAuto:
      break;
  }
  return true;
}

}  // namespace

// ibv_query_gid_table exists since rdma-core 32; older libraries leave the files of sysfs.
Result<std::vector<GidEntry>> read_gids(ibv_context* context, std::uint8_t port, int table_length,
                                        const std::string& sysfs_port) {
  const Verbs& verbs = loaded_verbs();
  if (verbs.query_gid_table == nullptr) return read_gids_from_sysfs(sysfs_port, table_length);
  std::vector<ibv_gid_entry> raw(kMaxGids);
  const ssize_t count =
      verbs.query_gid_table(context, raw.data(), raw.size(), 0, sizeof(ibv_gid_entry));
  if (count < 0)
    return fail(Code::kInternal,
                fmt::format("read the GID table: {}", errno_words(static_cast<int>(-count))));
  std::vector<GidEntry> entries;
  for (const ibv_gid_entry& entry : std::span(raw).first(static_cast<std::size_t>(count)))
    if (entry.port_num == port)
      entries.push_back({entry.gid, entry.gid_index, entry.gid_type, entry.ndev_ifindex});
  std::ranges::sort(entries, {}, &GidEntry::index);
  return entries;
}

// Empty entries are all zero and are skipped.
std::vector<GidEntry> read_gids_from_sysfs(const std::string& sysfs_port, int table_length) {
  std::vector<GidEntry> entries;
  for (int i = 0; i < table_length; ++i) {
    GidEntry entry;
    entry.index = static_cast<std::uint32_t>(i);
    const std::string address = first_line(fmt::format("{}/gids/{}", sysfs_port, i));
    if (inet_pton(AF_INET6, address.c_str(), entry.gid.raw) != 1 || is_empty(entry.gid)) continue;
    const std::string type = first_line(fmt::format("{}/gid_attrs/types/{}", sysfs_port, i));
    const std::string netdev = first_line(fmt::format("{}/gid_attrs/ndevs/{}", sysfs_port, i));
    // "IB/RoCE v1" is one word of the kernel's: with a netdev it is RoCE.
    if (type == "RoCE v2")
      entry.type = IBV_GID_TYPE_ROCE_V2;
    else if (!netdev.empty())
      entry.type = IBV_GID_TYPE_ROCE_V1;
    entry.netdev = netdev.empty() ? 0 : if_nametoindex(netdev.c_str());
    entries.push_back(entry);
  }
  return entries;
}

Result<GidEntry> choose_gid(std::span<const GidEntry> entries) {
  if (entries.empty())
    return fail(Code::kFailedPrecondition,
                "the port's GID table is empty; give its netdev an address and set it up");
  return choose_gid(entries, GidRule::kAuto);
}

GidRule gid_rule_of(std::string_view words) {
  const auto found = std::ranges::find(kRules, words, &RuleRow::words);
  return found == kRules.end() ? GidRule::kAuto : found->rule;
}

// Entry 0 belongs to the port's own netdev; entries of VLANs and bonds come after it.
Result<GidEntry> choose_gid(std::span<const GidEntry> entries, GidRule rule) {
  std::vector<GidEntry> fitting;
  std::ranges::copy_if(entries, std::back_inserter(fitting),
                       [rule](const GidEntry& entry) { return allows(rule, entry); });
  if (fitting.empty()) {
    const auto row = std::ranges::find(kRules, rule, &RuleRow::rule);
    return fail(
        Code::kFailedPrecondition,
        fmt::format("parameter gid_rule: no entry of the port's GID table is {}; filled: {}",
                    row == kRules.end() ? "there" : row->words, filled_words(entries)));
  }
  // The netdev of the lowest entry.
  const std::uint32_t own_netdev = std::ranges::min(entries, {}, &GidEntry::index).netdev;
  return std::ranges::min(fitting, {}, [own_netdev](const GidEntry& entry) {
    return std::tuple(preference(entry), entry.netdev != own_netdev, entry.index);
  });
}

Result<GidEntry> gid_at(std::span<const GidEntry> entries, std::uint32_t index) {
  const auto found = std::ranges::find(entries, index, &GidEntry::index);
  if (found != entries.end()) return *found;
  return fail(Code::kInvalidArgument,
              fmt::format("parameter gid_index: entry {} is empty; filled: {}", index,
                          filled_words(entries)));
}

}  // namespace railgauge::verbs

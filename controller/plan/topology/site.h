// The site profile (site.yaml): what production sets on this fabric, so that figures are
// production's. It gives declared parameters that a task leaves open their values; what a task sets
// itself rules. suites/README.md documents the keys.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/plan/topology/topology_sources.h"
#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::plan {

inline constexpr std::uint32_t kSiteVersion = 1;
inline constexpr std::size_t kMaxSiteBytes = 64U << 10U;

// A site profile. A default-constructed one gives no defaults.
struct Site {
  // "" where there is no profile.
  std::string name{};
  std::string file{};
  // By parameter: the value as written.
  std::map<std::string, std::string> defaults{};
  TopologySource topology{};
  // Lossless priority of the fabric, 0 to 7; preflight checks it.
  std::optional<std::uint32_t> lossless_priority{};
};

// Never throws. kInvalidArgument: one line with place and key; an unknown key is one.
Result<Site> read_site(std::string_view text, std::string_view file_name);
// Reads the file first; one that cannot be read is kInvalidArgument too.
Result<Site> read_site_file(const std::string& path);

// Adds to `parameters` what the profile says about parameters that `kernel` declares and that are
// not given, directly or by another that decides the same (gid_index beside gid_rule, pkey_index or
// rdma_cm beside pkey; a partition, UC or UD beside connection rdma_cm, which has none). A
// collective gets NCCL's settings, ib_tc, ib_sl and ib_gid_index also from what verbs take, unless
// its environment is clean. The names of those that were added. kInvalidArgument naming the file
// where a value does not fit the declaration.
Result<std::vector<std::string>> add_site_defaults(const Site& site, const KernelInfo& kernel,
                                                   std::map<std::string, std::string>& parameters);

}  // namespace railgauge::plan

// The site profile (site.yaml): production's settings on this fabric, so that figures are those of
// production. Its values fill declared parameters that a task leaves open; a task's own values take
// precedence. suites/README.md documents the keys.
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
  // Name of the site; "" without a profile.
  std::string name{};
  std::string file{};
  // By parameter: the value as written in the profile.
  std::map<std::string, std::string> defaults{};
  TopologySource topology{};
  // A file of the nodes' labels, lines of `NODES key=value ...`; "": none.
  std::string labels_file{};
  // Node sets by the name of a group, which @NAME chooses.
  std::map<std::string, std::string> groups{};
  // Lossless priority of the fabric, 0 to 7; preflight checks it.
  std::optional<std::uint32_t> lossless_priority{};
};

// Reads a profile. kInvalidArgument: the first problem in one line, with place and key; an unknown
// key is a problem. Never throws.
Result<Site> read_site(std::string_view text, std::string_view file_name);
// Reads a profile from a file. An unreadable file is kInvalidArgument too.
Result<Site> read_site_file(const std::string& path);

// Adds the profile's values of parameters that `kernel` declares and `parameters` leaves open.
// Returns the names of the added parameters, sorted. A parameter is not open when a related one
// decides it: gid_index for gid_rule, pkey_index or rdma_cm for pkey; a partition, UC or UD for
// connection rdma_cm, which supports none of them. A collective gets NCCL's settings, and ib_tc,
// ib_sl and ib_gid_index also from the verbs keys, unless its environment is clean.
// kInvalidArgument, with the file's name: a value that does not fit the declaration.
Result<std::vector<std::string>> add_site_defaults(const Site& site, const KernelInfo& kernel,
                                                   std::map<std::string, std::string>& parameters);

}  // namespace railgauge::plan

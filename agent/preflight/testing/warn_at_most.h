// Checks that never fail: a fault gives a warning or an error instead.
#pragma once

#include <set>
#include <string_view>

namespace railgauge::agent {

inline const std::set<std::string_view>& warn_at_most() {
  static const std::set<std::string_view> kIds{
      "peermem_mode",       "mtu",         "relaxed_ordering", "lossless",     "hugepages",
      "congestion_control", "port_errors", "versions",         "nic_firmware", "cpu_power"};
  return kIds;
}

// Every check is tested in three states: pass, fault, and unknown. Returns the state that `seen`
// lacks, or "".
inline std::string_view lacking(std::string_view check, const std::set<std::string_view>& seen) {
  if (!seen.contains("pass")) return "pass";
  if (!seen.contains("unknown")) return "unknown";
  const bool at_most = warn_at_most().contains(check);
  if (seen.contains("fail") || (at_most && (seen.contains("warn") || seen.contains("error"))))
    return "";
  return at_most ? "warn or error" : "fail";
}

}  // namespace railgauge::agent

// The settings busy_* of the agent as plain values. Times are seconds.
#pragma once

#include <array>
#include <set>
#include <string>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::agent {

// The sources and how often they are read.
struct BusyOptions {
  // "auto": the sources that are present; "none": the node is never busy; else names, separated by
  // commas.
  std::string sources = "auto";
  std::string sysfs_root = "/sys";
  std::string proc_root = "/proc";
  std::string marker = "/run/railgauge-agent/busy";
  std::string jobs_folder = "/run/railgauge-jobs";
  std::string kubelet_socket = "/var/lib/kubelet/pod-resources/kubelet.sock";
  std::string own_pod{};      // "namespace/name" of the agent's own pod
  std::string hook{};         // a program and its arguments, separated by blanks
  double load_per_cpu = 0;    // 0: not used by default; 0.5 if "load" is named as a source
  double gpu_percent = 10;    // utilisation without a known process that counts as busy
  double settle_seconds = 3;  // without a reason, before the node counts as idle again
  // Between two looks. While tasks run, a job must be seen in time to yield within 2 s.
  double look_seconds = 1;
  double look_seconds_running = 0.25;
  double slow_look_seconds = 2;  // for GPUs, kubelet and hook, which cost more
  double slow_look_seconds_running = 0.75;
};

struct BusySource {
  const char* name;
  bool slow;  // reading costs more: it has a thread and a period of its own
};
// THE list of sources, in the order in which they are read.
inline constexpr std::array kBusySources{BusySource{"marker", false},    BusySource{"slurm", false},
                                         BusySource{"load", false},      BusySource{"gpu", true},
                                         BusySource{"kubernetes", true}, BusySource{"hook", true}};
// Returns all names for messages: "marker, slurm, ...".
std::string busy_source_names();

// The parsed setting `sources`.
struct BusySources {
  bool none = false;
  bool all_present = false;       // "auto"
  std::set<std::string> named{};  // else
  std::set<std::string> only{};   // the part of these that one look reads; empty: all
  [[nodiscard]] bool wants(const std::string& source) const {
    return !none && (all_present || named.contains(source)) &&
           (only.empty() || only.contains(source));
  }
};
// Checks the options and parses `sources`. kInvalidArgument, naming the setting: an unknown source,
// a hook without a command, or a value out of range. Pure.
Result<BusySources> read_busy_sources(const BusyOptions& options);
std::vector<std::string> hook_words(const std::string& hook);

}  // namespace railgauge::agent

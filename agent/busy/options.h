// The settings busy_* of the agent as plain values.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::agent {

struct BusyOptions {
  // "auto": those that are present; "none": the node is never busy; else names, comma between.
  std::string sources = "auto";
  std::string sysfs_root = "/sys";
  std::string proc_root = "/proc";
  std::string marker = "/run/railgauge/busy";
  std::string jobs_folder = "/run/railgauge/jobs";
  std::string kubelet_socket = "/var/lib/kubelet/pod-resources/kubelet.sock";
  std::string own_pod{};      // "namespace/name" of the agent's own pod
  std::string hook{};         // a program and its words, blanks between
  double load_per_cpu = 0;    // 0: by default not looked at; named as a source 0.5
  double gpu_percent = 10;    // utilisation that nobody's process explains
  double settle_seconds = 3;  // without a reason, before the node counts as idle again
  // Between two looks. While tasks run a job must be seen in time to give way within 2 s.
  double look_seconds = 1;
  double look_seconds_running = 0.25;
  double slow_look_seconds = 2;  // at GPUs, kubelet and hook, which cost more
  double slow_look_seconds_running = 0.75;
};

// The sources by name, in the order in which they are looked at: the cheap ones first.
inline constexpr const char* kBusySources = "marker, slurm, load, gpu, kubernetes, hook";

struct BusySources {
  bool none = false;
  bool all_present = false;       // "auto"
  std::set<std::string> named{};  // else
  std::set<std::string> only{};   // of those, what one look is at; empty: all
  [[nodiscard]] bool wants(const std::string& source) const {
    return !none && (all_present || named.contains(source)) &&
           (only.empty() || only.contains(source));
  }
};
// kInvalidArgument: an unknown source, a hook without a command, a value out of its range; names
// the setting. Pure.
Result<BusySources> read_busy_sources(const BusyOptions& options);
std::vector<std::string> hook_words(const std::string& hook);

}  // namespace railgauge::agent

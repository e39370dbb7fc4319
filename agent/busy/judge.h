// Busy or idle: what each source showed, judged. Pure: plain values in, reasons out; no clock, no
// file. A source that could not be read is judged by its reader's error: that is a reason too.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace railgauge::agent {

// Why a node is busy: one line, without the source's name in front.
struct BusyReason {
  std::string source;  // "marker", "slurm", "kubernetes", "gpu", "load", "hook"; "guard" is ours
  std::string text;
  bool operator==(const BusyReason&) const = default;
};
using BusyReasons = std::vector<BusyReason>;  // empty: idle

// "slurm: job 4711 runs here; marker: ...", at most so many of them.
std::string in_words(const BusyReasons& reasons);
// Whether the same sources speak: a text that merely counts on is no change.
bool same_sources(const BusyReasons& a, const BusyReasons& b);

struct GpuProcess {
  unsigned pid = 0;
  std::string name{};  // "" where it is not shown
  bool ours = false;
};
struct GpuUse {
  std::string gpu{};  // PCI address
  bool told = false;  // its processes are known; a driver that does not list them hides users
  std::vector<GpuProcess> processes{};
  std::optional<double> utilization_percent{};
};
// `ours_lately`: one of our runners ran within the driver's last period, so that utilisation is
// nobody else's for sure.
BusyReasons judge_gpus(std::span<const GpuUse> gpus, bool ours_lately, double most_percent);

// Jobs by number; `own` is what the agent itself runs in.
BusyReasons judge_jobs(const std::set<std::string>& jobs, const std::set<std::string>& own);

// A device that the kubelet gave to a container: allocated is busy, used or not.
struct PodDevice {
  std::string pod{};       // "namespace/name"
  std::string resource{};  // "nvidia.com/gpu", "rdma/hca"; of a claim its driver
  std::size_t count = 0;
};
// GPUs and RDMA devices, by what a resource is called.
bool is_fabric_resource(const std::string& name);
BusyReasons judge_pods(std::span<const PodDevice> devices, const std::string& own_pod);

struct LoadFacts {
  double load = 0;  // over the last minute
  double own = 0;   // what of it our runners are
  double cpus = 1;
};
BusyReasons judge_load(const LoadFacts& facts, double most_per_cpu);

// A node is idle again when nothing spoke for `seconds`: between two steps of a job there is often
// nothing to be seen. Times are seconds of any monotonic clock.
class Settle {
 public:
  explicit Settle(double seconds) : seconds_(seconds) {}
  BusyReasons update(BusyReasons seen, double now_seconds);

 private:
  double seconds_;
  double quiet_since_ = -1;  // below 0: something speaks, or never did
  BusyReasons last_;
};

}  // namespace railgauge::agent

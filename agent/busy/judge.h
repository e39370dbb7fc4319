// Judges whether a node is busy, from the values of each source. Pure: plain values in, reasons
// out; no clock, no file. A source that could not be read is a reason as well.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace railgauge::agent {

// One reason, in one line, without the source's name in front.
struct BusyReason {
  std::string source;  // a name of kBusySources; "guard" is the guard itself
  std::string text;
  bool operator==(const BusyReason&) const = default;
};
using BusyReasons = std::vector<BusyReason>;  // empty: idle

// Joins the reasons to one line, "slurm: job 4711 runs here; marker: ..."; counts those beyond
// four.
std::string in_words(const BusyReasons& reasons);
// Whether both lists have the same sources, whatever their texts, which may hold a running number.
bool same_sources(const BusyReasons& a, const BusyReasons& b);

// A process that uses a GPU.
struct GpuProcess {
  unsigned pid = 0;
  std::string name{};  // "": not shown
  bool ours = false;
};
// The use of one GPU.
struct GpuUse {
  std::string gpu{};  // PCI address
  bool told = false;  // the driver lists its processes; otherwise users may be hidden
  std::vector<GpuProcess> processes{};
  std::optional<double> utilization_percent{};
};
// Returns a reason for each GPU with processes of others, with unlisted processes, or with
// utilisation above `most_percent` and no process. `ours_lately`: a runner of the agent ran within
// the driver's last sampling period, so utilisation alone is no evidence of others.
BusyReasons judge_gpus(std::span<const GpuUse> gpus, bool ours_lately, double most_percent);

// Returns a reason if `jobs` has one outside `own`, the jobs that the agent itself runs in.
BusyReasons judge_jobs(const std::set<std::string>& jobs, const std::set<std::string>& own);

// A device that the kubelet assigned to a container. An assigned device is busy, used or not.
struct PodDevice {
  std::string pod{};       // "namespace/name"
  std::string resource{};  // "nvidia.com/gpu", "rdma/hca"; for a claim, its driver
  std::size_t count = 0;
};
// Whether a resource with this name is a GPU or an RDMA device.
bool is_fabric_resource(const std::string& name);
BusyReasons judge_pods(std::span<const PodDevice> devices, const std::string& own_pod);

// The load average of the node.
struct LoadFacts {
  double load = 0;  // over the last minute
  double own = 0;   // the share of the agent's runners
  double cpus = 1;
};
BusyReasons judge_load(const LoadFacts& facts, double most_per_cpu);

// The last reasons, kept until no source has given one for `seconds`: between two steps of a job
// there is often nothing to see. Times are seconds of any monotonic clock.
class Settle {
 public:
  explicit Settle(double seconds) : seconds_(seconds) {}
  BusyReasons update(BusyReasons seen, double now_seconds);

 private:
  double seconds_;
  double quiet_since_ = -1;  // below 0: a source gives a reason, or none ever did
  BusyReasons last_;
};

}  // namespace railgauge::agent

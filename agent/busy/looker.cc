#include "agent/busy/looker.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <thread>

#include <fmt/format.h>

#include "agent/busy/kubelet.h"
#include "agent/busy/readers.h"

namespace railgauge::agent {
namespace {
constexpr double kKubeletSeconds = 0.5;
constexpr double kHookSeconds = 0.8;
constexpr double kDefaultLoadPerCpu = 0.5;

// For a configured source, no knowledge means busy.
BusyReasons unread(const char* source, const Error& error) {
  return {{source, fmt::format("cannot be read, so the node counts as busy: {}", error.message)}};
}

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }
// Whether the path exists or may exist: the kubelet's folders belong to root, and a node of a
// cluster must not look like a node without Kubernetes.
bool may_be_there(const std::string& path) {
  return is_there(path) || (errno != ENOENT && errno != ENOTDIR);
}
}  // namespace

Looker::Looker(BusyOptions options, BusySources sources, int self)
    : options_(std::move(options)),
      sources_(std::move(sources)),
      own_(options_.proc_root, self),
      settle_(options_.settle_seconds) {
  if (options_.load_per_cpu <= 0 && sources_.named.contains("load"))
    options_.load_per_cpu = kDefaultLoadPerCpu;
}

BusyReasons Looker::look(std::span<const int> runners, double now_seconds,
                         const std::function<void(const char*)>& looking_at,
                         const std::function<void(const BusyReasons&)>& found) {
  own_.update(runners, now_seconds);
  BusyReasons reasons;
  for (const auto& [source, slow] : kBusySources) {
    if (!sources_.wants(source)) continue;
    looking_at(source);
    BusyReasons said = look_at(source, now_seconds);
    if (!said.empty()) found(said);
    std::ranges::move(said, std::back_inserter(reasons));
  }
  looking_at("");
  return settle_.update(std::move(reasons), now_seconds);
}

BusyReasons Looker::look_at(const std::string& source, double now_seconds) {
  if (source == "marker") return marker();
  if (source == "slurm") return slurm();
  if (source == "load") return load();
  if (source == "gpu") return gpu(now_seconds);
  if (source == "kubernetes") return kubernetes();
  RG_CHECK(source == "hook");
  return hook();
}

BusyReasons Looker::marker() const {
  const auto said = read_marker(options_.marker);
  if (!said) return unread("marker", said.error());
  if (!*said) return {};
  return {{"marker", **said}};
}

BusyReasons Looker::slurm() const {
  const auto view =
      read_slurm_jobs(options_.sysfs_root + "/fs/cgroup", options_.jobs_folder, options_.proc_root);
  if (!view) return unread("slurm", view.error());
  if (!view->present && !sources_.all_present)
    return unread("slurm", {Code::kNotFound,
                            fmt::format("no cgroups of slurmstepd below {}/fs/cgroup, and no "
                                        "folder {} for a prolog to mark jobs in; make the folder",
                                        options_.sysfs_root, options_.jobs_folder)});
  return judge_jobs(view->jobs, view->ours);
}

BusyReasons Looker::load() {
  if (options_.load_per_cpu <= 0) return {};
  const auto load = read_load(options_.proc_root);
  if (!load) return unread("load", load.error());
  const auto cpus = static_cast<double>(std::max(1U, std::thread::hardware_concurrency()));
  return judge_load({*load, own_.load(), cpus}, options_.load_per_cpu);
}

BusyReasons Looker::gpu(double now_seconds) {
  if (sources_.all_present && !is_there(options_.proc_root + "/driver/nvidia/version")) {
    gpus_.release();
    return {};
  }
  const auto uses = gpus_.look(own_, now_seconds);
  if (!uses) return unread("gpu", uses.error());
  return judge_gpus(*uses, own_.ran_lately(now_seconds), options_.gpu_percent);
}

BusyReasons Looker::kubernetes() {
  kubelet_seen_ = kubelet_seen_ || may_be_there(options_.kubelet_socket);
  if (sources_.all_present && !kubelet_seen_) return {};
  const auto devices = list_pod_devices(options_.kubelet_socket, kKubeletSeconds);
  if (!devices) return unread("kubernetes", devices.error());
  return judge_pods(*devices, options_.own_pod);
}

BusyReasons Looker::hook() const {
  const std::vector<std::string> words = hook_words(options_.hook);
  if (words.empty()) return {};
  const auto said = ask_hook(words, kHookSeconds);
  if (!said) return unread("hook", said.error());
  if (!*said) return {};
  return {{"hook", **said}};
}

}  // namespace railgauge::agent

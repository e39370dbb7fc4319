#include "agent/busy/judge.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "agent/inventory/facts/files.h"

namespace railgauge::agent {
namespace {
constexpr std::size_t kNamedReasons = 4;
constexpr std::size_t kNamedUsers = 4;

std::string pid_in_words(const GpuProcess& process) {
  return process.name.empty() ? fmt::format("pid {}", process.pid)
                              : fmt::format("pid {} ({})", process.pid, process.name);
}

// "a, b and 3 more".
std::string some_of(const std::vector<std::string>& words) {
  const std::size_t named = std::min(words.size(), kNamedUsers);
  std::string text = fmt::format("{}", fmt::join(words.begin(), words.begin() + named, ", "));
  if (named < words.size()) text += fmt::format(" and {} more", words.size() - named);
  return text;
}
}  // namespace

std::string in_words(const BusyReasons& reasons) {
  std::string text;
  for (std::size_t i = 0; i < std::min(reasons.size(), kNamedReasons); ++i)
    text += fmt::format("{}{}: {}", i == 0 ? "" : "; ", reasons[i].source, reasons[i].text);
  if (reasons.size() > kNamedReasons)
    text += fmt::format("; and {} other reasons", reasons.size() - kNamedReasons);
  return text;
}

bool same_sources(const BusyReasons& a, const BusyReasons& b) {
  const auto sources = [](const BusyReasons& reasons) {
    std::set<std::string_view> names;
    for (const BusyReason& reason : reasons) names.insert(reason.source);
    return names;
  };
  return sources(a) == sources(b);
}

BusyReasons judge_gpus(std::span<const GpuUse> gpus, bool ours_lately, double most_percent) {
  BusyReasons reasons;
  for (const GpuUse& gpu : gpus) {
    std::vector<std::string> others;
    for (const GpuProcess& process : gpu.processes)
      if (!process.ours) others.push_back(pid_in_words(process));
    if (!gpu.told)
      reasons.push_back({"gpu", fmt::format("{}: the driver does not report its processes; without "
                                            "gpu in busy_sources the node is judged by the rest",
                                            gpu.gpu)});
    else if (!others.empty())
      reasons.push_back({"gpu", fmt::format("{} is in use by {}", gpu.gpu, some_of(others))});
    else if (!ours_lately && gpu.processes.empty() &&
             gpu.utilization_percent.value_or(0) > most_percent)
      reasons.push_back(
          {"gpu", fmt::format("{} computes {:.0f} % of the time for a process that is not shown",
                              gpu.gpu, *gpu.utilization_percent)});
  }
  return reasons;
}

BusyReasons judge_jobs(const std::set<std::string>& jobs, const std::set<std::string>& own) {
  std::vector<std::string> others;
  std::ranges::set_difference(jobs, own, std::back_inserter(others));
  if (others.empty()) return {};
  return {
      {"slurm", fmt::format("{} {} here", others.size() == 1 ? "job" : "jobs", some_of(others))}};
}

bool is_fabric_resource(const std::string& name) {
  // Sites name their pools of virtual functions; these are common words of such names.
  constexpr std::array<std::string_view, 12> kWords{"gpu",   "rdma", "nvidia.com", "mellanox",
                                                    "hca",   "roce", "infiniband", "mlnx",
                                                    "sriov", "/efa", "amd.com",    "habana.ai"};
  const std::string lowered = lower(name);
  return std::ranges::any_of(
      kWords, [&](std::string_view word) { return lowered.find(word) != std::string::npos; });
}

BusyReasons judge_pods(std::span<const PodDevice> devices, const std::string& own_pod) {
  std::vector<std::string> others;
  for (const PodDevice& device : devices)
    if (device.count > 0 && is_fabric_resource(device.resource) && device.pod != own_pod)
      others.push_back(fmt::format("{} ({} {})", device.pod, device.count, device.resource));
  if (others.empty()) return {};
  return {{"kubernetes", fmt::format("{} {} hold devices of it",
                                     others.size() == 1 ? "pod" : "pods", some_of(others))}};
}

BusyReasons judge_load(const LoadFacts& facts, double most_per_cpu) {
  const double others = facts.load - facts.own;
  if (!(others > most_per_cpu * facts.cpus)) return {};
  return {
      {"load", fmt::format("load {:.1f} beside ours of {:.1f}, above {} for each of {:.0f} CPUs",
                           others, facts.own, most_per_cpu, facts.cpus)}};
}

BusyReasons Settle::update(BusyReasons seen, double now_seconds) {
  if (!seen.empty()) {
    quiet_since_ = -1;
    last_ = std::move(seen);
    return last_;
  }
  if (last_.empty()) return {};
  if (quiet_since_ < 0) quiet_since_ = now_seconds;
  if (now_seconds - quiet_since_ >= seconds_) last_.clear();
  return last_;
}

}  // namespace railgauge::agent

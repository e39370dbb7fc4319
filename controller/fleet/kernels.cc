#include "controller/fleet/kernels.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace railgauge::fleet {

namespace {

constexpr int kMostMetrics = 256;  // of a kernel

// One node must not take metrics from the others, so those of all nodes are declared.
void add_metrics(const KernelInfo& from, KernelInfo& to) {
  if (std::ranges::equal(from.metrics(), to.metrics())) return;
  for (const std::string& metric : from.metrics())
    if (to.metrics_size() < kMostMetrics &&
        std::ranges::find(to.metrics(), metric) == to.metrics().end())
      to.add_metrics(metric);
}

// The nodes with a list that no node before them has: thousands of nodes have a few lists.
std::vector<const NodeKernels*> with_another_list(std::span<const NodeKernels> nodes) {
  std::set<const KernelList*> seen;
  std::vector<const NodeKernels*> first;
  for (const NodeKernels& node : nodes)
    if (seen.insert(node.kernels.get()).second) first.push_back(&node);
  return first;
}

}  // namespace

const KernelsOfNode& no_kernels() {
  static const KernelsOfNode none = std::make_shared<const KernelList>();
  return none;
}

std::vector<KernelInfo> newest_kernels(std::span<const NodeKernels> nodes) {
  const std::vector<const NodeKernels*> different = with_another_list(nodes);
  std::map<std::string, const KernelInfo*> newest;
  for (const NodeKernels* node : different)
    for (const KernelInfo& kernel : node->kernels->kernels()) {
      const KernelInfo*& held = newest[kernel.name()];
      if (held == nullptr || held->revision() < kernel.revision()) held = &kernel;
    }
  std::vector<KernelInfo> kernels;
  kernels.reserve(newest.size());
  std::map<std::string_view, KernelInfo*> merged;
  for (const auto& [name, kernel] : newest) kernels.push_back(*kernel);
  for (KernelInfo& kernel : kernels) merged[kernel.name()] = &kernel;
  for (const NodeKernels* node : different)
    for (const KernelInfo& kernel : node->kernels->kernels())
      if (KernelInfo& known = *merged.at(kernel.name()); known.revision() == kernel.revision())
        add_metrics(kernel, known);
  return kernels;
}

Result<std::vector<KernelInfo>> common_kernels(std::span<const NodeKernels> nodes) {
  struct Held {
    std::uint32_t revision;
    std::string node;
  };
  std::map<std::string, Held> first;
  for (const NodeKernels* node : with_another_list(nodes))
    for (const KernelInfo& kernel : node->kernels->kernels()) {
      const auto [held, added] =
          first.try_emplace(kernel.name(), Held{kernel.revision(), node->node});
      if (held->second.revision != kernel.revision())
        return fail(
            Code::kFailedPrecondition,
            fmt::format(
                "kernel {} has revision {} on {} and {} on {}; bring the nodes to one version",
                kernel.name(), held->second.revision, held->second.node, kernel.revision(),
                node->node));
    }
  return newest_kernels(nodes);
}

namespace {

// Moves the kernels out of the Hello, and back.
void swap_kernels(api::Hello& hello, KernelList& list) {
  hello.mutable_kernels()->Swap(list.mutable_kernels());
}

}  // namespace

KernelsOfNode KernelLists::find(api::Hello& hello) {
  KernelList list;
  swap_kernels(hello, list);
  const std::string bytes = list.SerializeAsString();
  KernelsOfNode known;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = lists_.find(bytes); found != lists_.end()) known = found->second.lock();
  }
  if (!known) swap_kernels(hello, list);
  return known;
}

KernelsOfNode KernelLists::take(api::Hello& hello) {
  if (KernelsOfNode known = find(hello)) return known;
  const auto list = std::make_shared<KernelList>();
  swap_kernels(hello, *list);
  std::string bytes = list->SerializeAsString();
  const std::lock_guard lock(mutex_);
  std::erase_if(lists_, [](const auto& one) { return one.second.expired(); });
  auto& held = lists_[std::move(bytes)];
  if (KernelsOfNode other = held.lock()) return other;  // of another thread, meanwhile
  held = list;
  return list;
}

}  // namespace railgauge::fleet

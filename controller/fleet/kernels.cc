#include "controller/fleet/kernels.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/text/fold.h"
#include "kernels/core/text/text.h"

namespace railgauge::fleet {

namespace {

// Nodes with one list: thousands of nodes have a few lists.
struct Alike {
  const KernelList* list = nullptr;
  std::vector<std::string> nodes{};
};

std::vector<Alike> by_list(std::span<const NodeKernels> nodes) {
  std::map<const KernelList*, std::size_t> places;
  std::vector<Alike> all;
  for (const NodeKernels& node : nodes) {
    const auto [place, is_new] = places.emplace(node.kernels.get(), all.size());
    if (is_new) all.push_back({.list = node.kernels.get()});
    all[place->second].nodes.push_back(node.node);
  }
  return all;
}

// Why a node with declaration `own` cannot measure what `common` declares; "" if it can.
std::string difference(const KernelInfo& common, const KernelInfo& own) {
  if (own.revision() != common.revision())
    return fmt::format("kernel {} has revision {} there and {} on the others", common.name(),
                       own.revision(), common.revision());
  if (own.min_ranks() != common.min_ranks() || own.max_ranks() != common.max_ranks() ||
      own.endpoint_kind() != common.endpoint_kind())
    return fmt::format("kernel {} has other ranks or endpoints there", common.name());
  std::map<std::string_view, const ParameterInfo*> parameters;
  for (const ParameterInfo& parameter : own.parameters()) parameters[parameter.name()] = &parameter;
  for (const ParameterInfo& parameter : common.parameters()) {
    const auto found = parameters.find(parameter.name());
    if (found == parameters.end())
      return fmt::format("kernel {} has no parameter {} there", common.name(),
                         in_quotes(parameter.name()));
    const ParameterInfo& there = *found->second;
    if (there.type() != parameter.type() || there.identity() != parameter.identity() ||
        there.default_value() != parameter.default_value())
      return fmt::format("parameter {} of kernel {} has another type, default or identity there",
                         in_quotes(parameter.name()), common.name());
  }
  return "";
}

// The declarations of one kernel, with the nodes of each.
struct Declaration {
  const KernelInfo* kernel = nullptr;
  const std::vector<std::string>* nodes = nullptr;
};

// The declaration by which a kernel is planned. More than a third of the nodes have it as it is; of
// several such ones, most nodes agree with it: an older version, where a newer one has added a
// parameter. Then the newest revision counts.
const Declaration& chosen_of(const std::vector<Declaration>& all) {
  std::size_t nodes = 0;
  for (const Declaration& one : all) nodes += one.nodes->size();
  const auto votes_of = [&](const Declaration& one) {
    std::size_t same = 0;
    std::size_t agree = 0;
    for (const Declaration& other : all) {
      if (!difference(*one.kernel, *other.kernel).empty()) continue;
      agree += other.nodes->size();
      if (difference(*other.kernel, *one.kernel).empty()) same += other.nodes->size();
    }
    const bool is_usual = 3 * same > nodes;
    return std::tuple(is_usual, is_usual ? agree : same, same, one.kernel->revision());
  };
  const Declaration* best = &all.front();
  auto most = votes_of(*best);
  for (const Declaration& one : all)
    if (const auto votes = votes_of(one); votes > most) {
      most = votes;
      best = &one;
    }
  return *best;
}

// The metrics of the nodes that can take part, those of most nodes first.
void set_metrics(const std::vector<Declaration>& all, KernelInfo& kernel) {
  struct Count {
    std::string_view metric;
    std::size_t nodes = 0;
  };
  std::vector<Count> counts;
  std::map<std::string_view, std::size_t> places;
  for (const Declaration& one : all) {
    if (!difference(kernel, *one.kernel).empty()) continue;
    for (const std::string& metric : one.kernel->metrics()) {
      const auto [place, is_new] = places.emplace(metric, counts.size());
      if (is_new) counts.push_back({.metric = metric});
      counts[place->second].nodes += one.nodes->size();
    }
  }
  std::ranges::stable_sort(counts, std::greater(), &Count::nodes);
  if (counts.size() > static_cast<std::size_t>(kMostMetrics)) counts.resize(kMostMetrics);
  kernel.clear_metrics();
  for (const Count& one : counts) kernel.add_metrics(std::string(one.metric));
}

}  // namespace

const KernelsOfNode& no_kernels() {
  static const KernelsOfNode none = std::make_shared<const KernelList>();
  return none;
}

CommonKernels common_kernels(std::span<const NodeKernels> nodes) {
  const std::vector<Alike> lists = by_list(nodes);
  std::map<std::string_view, std::vector<Declaration>> declared;
  for (const Alike& alike : lists)
    for (const KernelInfo& kernel : alike.list->kernels())
      declared[kernel.name()].push_back({&kernel, &alike.nodes});
  CommonKernels common;
  for (const auto& [name, all] : declared) {
    KernelInfo& kernel = common.kernels.emplace_back(*chosen_of(all).kernel);
    set_metrics(all, kernel);
    for (const Declaration& one : all) {
      const std::string why = difference(kernel, *one.kernel);
      if (why.empty()) continue;
      std::map<std::string, std::string>& reasons = common.deviating[std::string(name)];
      for (const std::string& node : *one.nodes) reasons.emplace(node, why);
    }
  }
  return common;
}

Result<std::map<std::string, std::string>> nodes_left_out(const CommonKernels& common,
                                                          const std::set<std::string>& kernels,
                                                          std::size_t nodes) {
  std::map<std::string, std::string> out;
  for (const std::string& kernel : kernels)
    if (const auto found = common.deviating.find(kernel); found != common.deviating.end())
      out.insert(found->second.begin(), found->second.end());
  if (3 * out.size() <= nodes) return out;
  std::vector<std::string> names;
  for (const auto& [name, ignored] : out) names.push_back(name);
  return fail(Code::kFailedPrecondition, fmt::format("{}: {}; bring the nodes to one version",
                                                     fold_names(names), out.begin()->second));
}

namespace {

// The bytes of all kernels, each behind its length.
std::string key_of(const KernelLists::Declared& declared) {
  std::size_t bytes = 0;
  for (const std::string& one : declared) bytes += one.size() + sizeof(std::size_t);
  std::string key;
  key.reserve(bytes);
  for (const std::string& one : declared) {
    const std::size_t size = one.size();
    key.append(reinterpret_cast<const char*>(&size), sizeof size);
    key += one;
  }
  return key;
}

}  // namespace

KernelsOfNode KernelLists::find(const Declared& declared) {
  const std::string key = key_of(declared);
  const std::lock_guard lock(mutex_);
  const auto found = lists_.find(key);
  return found == lists_.end() ? nullptr : found->second.lock();
}

KernelsOfNode KernelLists::take(const Declared& declared, KernelList list) {
  std::string key = key_of(declared);
  const std::lock_guard lock(mutex_);
  std::erase_if(lists_, [](const auto& one) { return one.second.expired(); });
  auto& held = lists_[std::move(key)];
  if (KernelsOfNode other = held.lock()) return other;  // a node's, or of another thread meanwhile
  auto taken = std::make_shared<const KernelList>(std::move(list));
  held = taken;
  return taken;
}

void free_kernels(api::Hello& hello) { KernelLists::Declared().Swap(hello.mutable_kernels()); }

}  // namespace railgauge::fleet

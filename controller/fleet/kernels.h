// The kernels of several nodes taken together.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "controller/api/agent.pb.h"
#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::fleet {

// The kernels that a node's agent declared; nodes of one version share one list. Never null.
using KernelsOfNode = std::shared_ptr<const KernelList>;

// The list without a kernel.
const KernelsOfNode& no_kernels();

struct NodeKernels {
  std::string node{};
  KernelsOfNode kernels = no_kernels();
};

// Metrics that one kernel may have.
inline constexpr int kMostMetrics = 256;

// Kernels as several nodes declare them. One node's words never plan another node's task: a
// declaration is chosen only where more than a third of the nodes have it, or no other has more.
struct CommonKernels {
  // By name, with the metrics of all nodes that agree, up to kMostMetrics, those of most nodes
  // first.
  std::vector<KernelInfo> kernels{};
  // By kernel and node: why the node cannot measure it with the others.
  std::map<std::string, std::map<std::string, std::string>, std::less<>> deviating{};
};
// A node agrees with a declaration of the same revision, ranks and endpoint if it has each of its
// parameters with that type, default and identity; further parameters keep their defaults. Pure.
CommonKernels common_kernels(std::span<const NodeKernels> nodes);
// The nodes that cannot take part in a run of these kernels, with the reasons. kFailedPrecondition:
// fewer than two thirds of the nodes agree, as in the middle of a rollout; then nobody is left out.
// Pure.
Result<std::map<std::string, std::string>> nodes_left_out(const CommonKernels& common,
                                                          const std::set<std::string>& kernels,
                                                          std::size_t nodes);

// Holds each different list once, for as long as a node has it: a list takes more than a megabyte,
// and thousands of nodes have the same one. Thread safe.
class KernelLists {
 public:
  // The kernels of a Hello, as bytes.
  using Declared = google::protobuf::RepeatedPtrField<std::string>;
  // The list that a node has with the same bytes; null: no node has it.
  KernelsOfNode find(const Declared& declared);
  // As find(); without one, `list`, which is what the bytes say, becomes one.
  KernelsOfNode take(const Declared& declared, KernelList list);

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<const KernelList>> lists_;  // by their bytes
};

// Removes the kernels from the Hello. Clearing the field would keep its 0.4 MB for later use, as
// long as the Hello is kept.
void free_kernels(api::Hello& hello);

}  // namespace railgauge::fleet

// The kernels of several nodes taken together.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
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

// Every kernel that a node has, by name, in its newest revision, with the metrics that any node
// declares for it. Pure.
std::vector<KernelInfo> newest_kernels(std::span<const NodeKernels> nodes);
// The kernels of nodes that measure together. kFailedPrecondition: two nodes have a kernel in
// different revisions, so their ranks would follow different methods. Pure.
Result<std::vector<KernelInfo>> common_kernels(std::span<const NodeKernels> nodes);

// Holds each different list once, for as long as a node has it: a list takes more than a megabyte,
// and thousands of nodes have the same one. Thread safe.
class KernelLists {
 public:
  // Moves the kernels out of the Hello if a node has the same list, with the same bytes; else null,
  // and the Hello keeps them.
  KernelsOfNode find(api::Hello& hello);
  // As find(); a list that no node has becomes one.
  KernelsOfNode take(api::Hello& hello);

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<const KernelList>> lists_;  // by their bytes
};

}  // namespace railgauge::fleet

// The kernels of several nodes taken together. Pure.
#pragma once

#include <span>
#include <vector>

#include "controller/api/agent.pb.h"
#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::fleet {

// Every kernel that a node has, by name, in its newest revision, with the metrics that any node
// declares for it.
std::vector<KernelInfo> newest_kernels(std::span<const api::Hello* const> hellos);
// The kernels of nodes that measure together. kFailedPrecondition: two nodes have a kernel in
// different revisions, so their ranks would follow different methods.
Result<std::vector<KernelInfo>> common_kernels(std::span<const api::Hello* const> hellos);

}  // namespace railgauge::fleet

// The kernels of several nodes taken together. Pure.
#pragma once

#include <span>
#include <vector>

#include "controller/api/agent.pb.h"
#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::fleet {

// Every kernel that some node has, by name, in its newest revision.
std::vector<KernelInfo> newest_kernels(std::span<const api::Hello* const> hellos);
// The same for nodes that are to measure together: kFailedPrecondition where two of them have a
// kernel in different revisions, since their ranks would not follow one method.
Result<std::vector<KernelInfo>> common_kernels(std::span<const api::Hello* const> hellos);

}  // namespace railgauge::fleet

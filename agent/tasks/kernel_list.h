// The kernels that this node's runner reports.
#pragma once

#include <string>

#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::agent {

// Runs `RUNNER --list --format json`. Errors: kNotFound when there is no such program,
// kDeadlineExceeded, kInternal when it fails or prints no list.
Result<KernelList> list_kernels(const std::string& runner, double timeout_seconds);

// The document that --list prints. Unknown keys are skipped: a newer runner may know more. Pure.
Result<KernelList> parse_kernel_list(const std::string& json);

}  // namespace railgauge::agent

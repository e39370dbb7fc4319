// The list of kernels, as this node's runner reports it.
#pragma once

#include <string>

#include "agent/os/confinement.h"
#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::agent {

// Runs `RUNNER --list --format json` and parses its output. kNotFound: no such program.
// kDeadlineExceeded: no end within `timeout_seconds`. kInternal: the runner fails or prints no
// list.
Result<KernelList> list_kernels(const std::string& runner, double timeout_seconds,
                                const Confinement* confinement = nullptr);

// Parses the document of --list. Unknown keys are skipped, since a newer runner may have more.
// Pure.
Result<KernelList> parse_kernel_list(const std::string& json);

}  // namespace railgauge::agent

// The slices of partitioned GPUs (MIG) in the identity of a task's series.
#pragma once

#include <string>

#include "kernels/core/base/result.h"
#include "kernels/core/group/group.h"
#include "kernels/core/kernel.h"

namespace railgauge {

// Lets CUDA show this process the slice that the parameter `slice_uuid` has the whole UUID of. Call
// before the driver is loaded; afterwards it changes nothing.
void show_slice(const Params& params, const KernelInfo& kernel);

// Returns the value of the parameter `slice_uuid` for this task's series, once the ranks are
// connected: the slices of all ranks, in rank order. `mine` are this rank's, "" for a whole GPU. A
// slice that all ranks share has its name once; more names than fit are a hash of them. "" where
// the task takes no slices, or measured none. kInvalidArgument for a demand without slices=measure;
// kFailedPrecondition, on all ranks, where a rank has another slice than the demanded one.
Result<std::string> slices_of_task(const Context& context, Group& group, const KernelInfo& kernel,
                                   const std::string& mine);

}  // namespace railgauge

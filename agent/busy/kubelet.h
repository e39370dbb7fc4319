// Devices that the kubelet gave to containers, by its pod-resources socket. gRPC is called here
// only.
#pragma once

#include <string>
#include <vector>

#include "agent/busy/judge.h"
#include "agent/busy/pod_resources.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::agent {

// One row a pod and resource. Pure.
std::vector<PodDevice> devices_of(const kubelet::ListAnswer& answer);

// Asks at `socket`. Errors: kUnavailable when nobody answers within the deadline or there is no
// socket, with what would help; kDataLoss when the answer is none.
Result<std::vector<PodDevice>> list_pod_devices(const std::string& socket, double deadline_seconds);

}  // namespace railgauge::agent

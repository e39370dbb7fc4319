// The devices that the kubelet assigned to containers, by its pod-resources socket. The only user
// of gRPC in this room.
#pragma once

#include <string>
#include <vector>

#include "agent/busy/judge.h"
#include "agent/busy/pod_resources.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::agent {

// Returns a row for each pod and resource. Pure.
std::vector<PodDevice> devices_of(const kubelet::ListAnswer& answer);

// Asks the kubelet at the unix socket `socket`. kUnavailable, with a remedy: no socket, or no
// answer within the deadline. kDataLoss: the answer does not parse.
Result<std::vector<PodDevice>> list_pod_devices(const std::string& socket, double deadline_seconds);

}  // namespace railgauge::agent

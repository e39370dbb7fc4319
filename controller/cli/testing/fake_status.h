// A status of ours as gRPC carries it, for the fakes of the controller's services. Pure.
#pragma once

#include <grpcpp/support/status.h>

#include "kernels/core/base/result.h"

namespace railgauge::cli {

inline grpc::Status to_grpc(const Status& status) {
  if (status) return {};
  return {static_cast<grpc::StatusCode>(status.error().code), status.error().message};
}

}  // namespace railgauge::cli

// The Judge service on the wire: upgrades, findings and baselines. upgrade_judge.h and the services
// of gate/ and findings/ define the answers.
#pragma once

#include <memory>

#include <grpcpp/grpcpp.h>

#include "controller/control/control.h"
#include "controller/findings/finding_service.h"
#include "controller/fleet/auth.h"
#include "controller/fleet/worker_pool.h"

namespace railgauge {

// All arguments outlive the service. Destroy `pool` only after the server's last call ended. The
// service is thread safe: gRPC calls it from its own threads, and calls are answered on `pool`.
std::unique_ptr<grpc::Service> make_judge_service(Control& control, store::Store& store,
                                                  const auth::PeerBook& peers,
                                                  fleet::WorkerPool& pool, LeafSource leaves = {});

}  // namespace railgauge

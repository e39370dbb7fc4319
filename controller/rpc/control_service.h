// The Control service on the wire: runs, suites, nodes, schedules and preflight. control.h and
// schedule_service.h define the answers.
#pragma once

#include <memory>

#include <grpcpp/grpcpp.h>

#include "controller/control/control.h"
#include "controller/fleet/auth.h"
#include "controller/fleet/worker_pool.h"
#include "controller/schedule/schedule_service.h"

namespace railgauge {

// All arguments outlive the service. Destroy `pool` only after the server's last call ended. The
// service is thread safe: gRPC calls it from its own threads, and calls are answered on `pool`.
std::unique_ptr<grpc::Service> make_control_service(Control& control, ScheduleService& schedules,
                                                    const auth::PeerBook& peers,
                                                    fleet::WorkerPool& pool);

}  // namespace railgauge

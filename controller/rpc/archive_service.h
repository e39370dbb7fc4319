// The Archive service on the wire: stored figures, exports, SQL and upkeep of the database.
// archive.h defines the answers.
#pragma once

#include <memory>

#include <grpcpp/grpcpp.h>

#include "controller/fleet/auth.h"
#include "controller/fleet/worker_pool.h"
#include "controller/history/archive.h"

namespace railgauge {

// The threads of the archive's calls, apart so that a slow call delays only calls of its kind.
struct ArchivePools {
  fleet::WorkerPool& queries;  // bounded reads
  fleet::WorkerPool& sql;      // statements that people wrote, and searches that take seconds
  fleet::WorkerPool& upkeep;   // backup, check, pruning: minutes each, one after the other
};

// All arguments outlive the service. Destroy the pools only after the server's last call ended.
// The service is thread safe: gRPC calls it from its own threads.
std::unique_ptr<grpc::Service> make_archive_service(Archive& archive, const auth::PeerBook& peers,
                                                    const ArchivePools& pools);

}  // namespace railgauge

// The gRPC services of the controller. Each function makes one of them. All arguments outlive the
// service, and pools are destroyed only after the server's last call ended. A service is thread
// safe: gRPC calls it from its own threads, and unary calls are answered on a pool.
#pragma once

#include <functional>
#include <memory>

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>

#include "controller/api/console.pb.h"
#include "controller/api/judge.pb.h"
#include "controller/control/control.h"
#include "controller/enrol/tokens.h"
#include "controller/findings/finding_service.h"
#include "controller/fleet/auth.h"
#include "controller/fleet/fleet.h"
#include "controller/fleet/worker_pool.h"
#include "controller/history/archive.h"
#include "controller/rpc/gate.h"
#include "controller/schedule/schedule_service.h"

namespace railgauge {

// The agents' side of the wire: each call of Attach is the stream of one agent.
std::unique_ptr<grpc::Service> make_agent_link_service(fleet::Fleet& fleet,
                                                       const auth::PeerBook& peers,
                                                       rpc::Gate& gate);

// The threads of the control service's calls. Whoever may read may have suites read and planned,
// which takes seconds, so these calls delay only each other.
struct ControlPools {
  fleet::WorkerPool& calls;
  fleet::WorkerPool& plans;
};

// Runs, suites, nodes, schedules and preflight. control.h and schedule_service.h define the
// answers.
std::unique_ptr<grpc::Service> make_control_service(Control& control, ScheduleService& schedules,
                                                    rpc::Gate& gate, const ControlPools& pools);

// The threads of the archive's calls, apart so that a slow call delays only calls of its kind.
struct ArchivePools {
  fleet::WorkerPool& queries;  // bounded reads
  fleet::WorkerPool& sql;      // statements that people wrote, and searches that take seconds
  fleet::WorkerPool& whole;    // reads of every page: minutes each, and nothing waits for them
  fleet::WorkerPool& upkeep;   // backup and pruning: minutes each, one after the other
};

// Stored figures, exports, SQL and upkeep of the database. archive.h defines the answers.
std::unique_ptr<grpc::Service> make_archive_service(Archive& archive, rpc::Gate& gate,
                                                    const ArchivePools& pools);

// Makes the certificate of a run or an upgrade. Any thread.
using Certify = std::function<Result<api::CertificateDocument>(const std::string& subject)>;

// The threads of the judge's calls. A verdict takes seconds, so gates delay no reader.
struct JudgePools {
  fleet::WorkerPool& queries;   // bounded reads and single rows
  fleet::WorkerPool& verdicts;  // upgrades planned and judged
};

// Upgrades, findings, baselines and certificates. upgrade_judge.h and the services of gate/ and
// findings/ define the answers.
std::unique_ptr<grpc::Service> make_judge_service(Control& control, store::Store& store,
                                                  rpc::Gate& gate, const JudgePools& pools,
                                                  Certify certify, LeafSource leaves = {});

// Makes the ticket of a caller. kFailedPrecondition: this controller has no console.
using MakeTicket = std::function<Result<api::ConsoleTicket>(
    const auth::Peer& caller, const api::OpenConsoleRequest& request)>;
// Lets callers of the control service into the web console.
std::unique_ptr<grpc::Service> make_console_service(MakeTicket make_ticket, rpc::Gate& gate,
                                                    fleet::WorkerPool& pool);

// Tokens by which nodes get certificates.
std::unique_ptr<grpc::Service> make_enrolment_service(enrol::Tokens& tokens, rpc::Gate& gate,
                                                      fleet::WorkerPool& pool);

}  // namespace railgauge

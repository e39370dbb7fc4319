// The entrance of every call: the caller's right, the bound of calls a connection, and the audit
// trail. The services pass it by themselves; calls of gRPC's own services pass it by an
// interceptor.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_interceptor.h>

#include "controller/audit/audit_log.h"
#include "controller/fleet/auth.h"
#include "controller/rpc/connection_calls.h"
#include "controller/rpc/rights.h"
#include "kernels/core/base/result.h"

namespace railgauge::rpc {

class Gate;

// A call that was admitted. It keeps its place among the calls of its connection until it ends. Not
// thread safe.
class Call {
 public:
  Call(Gate& gate, const Right& right, auth::Peer peer, audit::Act act,
       ConnectionCalls::Place place);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call();  // a write that did not end counts as cancelled

  [[nodiscard]] const auth::Peer& peer() const { return peer_; }
  // Stores that a write begins; call it before the work. Waits for the commit, but for urgent
  // writes. kUnavailable: the row is not stored, so the work must not be done.
  Status begin();
  // Stores the outcome of a write, and frees the place. Call it before the answer is sent, so that
  // the next call of this peer finds the place free. Idempotent.
  void end(const Status& outcome);
  // Stores that the call was refused after all, as by a full queue, and frees the place.
  void refuse(const Error& error);

 private:
  Gate& gate_;
  const Right& right_;
  const auth::Peer peer_;
  const audit::Act act_;
  ConnectionCalls::Place place_;
  std::optional<audit::AuditLog::Call> begun_{};
};

// Thread safe. Peers and log outlive it; it outlives the server.
class Gate {
 public:
  Gate(const auth::PeerBook& peers, audit::AuditLog& log) : peers_(peers), log_(log) {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Admits a call. kPermissionDenied: the caller has no right to it. kResourceExhausted: its
  // connection has too many calls under way; the unix socket has no bound. A refused call is
  // stored. `request`: absent for a stream of requests.
  Result<std::shared_ptr<Call>> admit(const grpc::ServerContextBase& context, const Right& right,
                                      const google::protobuf::Message* request);
  [[nodiscard]] audit::AuditLog& log() { return log_; }
  [[nodiscard]] std::size_t connections() const { return calls_.connections(); }

  // For the server's builder: admits the calls of gRPC's own services (health, reflection). A
  // method without a row in kRights is for operators alone.
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
  interceptors();

 private:
  friend class Call;
  void note_refused(const audit::Act& act, const Error& error);

  const auth::PeerBook& peers_;
  audit::AuditLog& log_;
  ConnectionCalls calls_;
};

// Error codes are numbered as gRPC's, so the code is taken over as it is.
inline grpc::Status to_grpc(const Error& error) {
  return {static_cast<grpc::StatusCode>(error.code), error.message};
}

}  // namespace railgauge::rpc

// The entrance of every call: the caller's right, the bound of calls a connection, and the audit
// trail. The services pass it by themselves; calls of gRPC's own services pass it by an
// interceptor.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_interceptor.h>

#include "controller/audit/audit_log.h"
#include "controller/fleet/auth.h"
#include "controller/fleet/worker_pool.h"
#include "controller/rpc/expected_calls.h"
#include "controller/rpc/held_answers.h"
#include "controller/rpc/rights.h"
#include "kernels/core/base/result.h"

namespace railgauge::rpc {

class Gate;

// Counts the calls under way of each connection. Thread safe.
class ConnectionCalls {
 public:
  // A connection is one program: the CLI has 2 calls under way at most, an agent one stream.
  static constexpr std::uint32_t kMaxCalls = 8;

  // A counted call; its end frees the place. The counter outlives it.
  class Place {
   public:
    Place() = default;  // of a call that is not counted
    Place(ConnectionCalls* calls, std::string connection)
        : calls_(calls), connection_(std::move(connection)) {}
    Place(Place&& other) noexcept
        : calls_(std::exchange(other.calls_, nullptr)), connection_(std::move(other.connection_)) {}
    Place& operator=(Place&& other) noexcept {
      std::swap(calls_, other.calls_);
      std::swap(connection_, other.connection_);
      return *this;
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() { release(); }
    // Frees the place before the end of its life. Idempotent.
    void release() {
      if (calls_ != nullptr) std::exchange(calls_, nullptr)->free(connection_);
    }

   private:
    ConnectionCalls* calls_ = nullptr;
    std::string connection_{};
  };

  // Absent: the connection has kMaxCalls calls under way.
  std::optional<Place> take(const std::string& connection) {
    const std::lock_guard lock(mutex_);
    std::uint32_t& count = counts_[connection];
    if (count >= kMaxCalls) return std::nullopt;
    ++count;
    return std::optional<Place>(std::in_place, this, connection);
  }
  // Connections with calls under way.
  [[nodiscard]] std::size_t connections() const {
    const std::lock_guard lock(mutex_);
    return counts_.size();
  }

 private:
  void free(const std::string& connection) {
    const std::lock_guard lock(mutex_);
    const auto found = counts_.find(connection);
    if (found != counts_.end() && --found->second == 0) counts_.erase(found);
  }

  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::uint32_t> counts_;  // by connection; never 0
};

// A call that was admitted. It keeps its place among the calls of its connection until it ends. Not
// thread safe.
class Call {
 public:
  Call(Gate& gate, const Right& right, auth::Peer peer, audit::Act act,
       ConnectionCalls::Place place, auth::PeerBook::Call under_way);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call();  // a write that did not end counts as cancelled

  [[nodiscard]] const auth::Peer& peer() const { return peer_; }
  // Whose places in a pool its work takes: WorkerPool::submit().
  [[nodiscard]] std::string owner() const;
  // The threads for its work: a viewer's calls have a pool of their own.
  [[nodiscard]] fleet::WorkerPool& threads(fleet::WorkerPool& pool) const {
    return peer_.role == auth::Role::kViewer ? pool.of_viewers() : pool;
  }
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
  auth::PeerBook::Call under_way_;  // until end(): cancelled once its certificate is revoked
  std::optional<audit::AuditLog::Call> begun_{};
};

// Thread safe. Peers and log outlive it; it outlives the server.
class Gate {
 public:
  // `data_kind`, called at each call, is the mark of the answer (api/synthetic_mark.h), "" for
  // none. Without it none has.
  Gate(const auth::PeerBook& peers, audit::AuditLog& log,
       std::function<const char*()> data_kind = {})
      : peers_(peers), log_(log), data_kind_(std::move(data_kind)) {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Admits a call, and marks its answer. kPermissionDenied: the caller has no right to it.
  // kResourceExhausted: its connection has too many calls under way; the unix socket has no bound.
  // A refused call is stored. `request`: absent for a stream of requests.
  Result<std::shared_ptr<Call>> admit(grpc::ServerContextBase& context, const Right& right,
                                      const google::protobuf::Message* request);
  [[nodiscard]] audit::AuditLog& log() { return log_; }
  [[nodiscard]] HeldAnswers& held() { return held_; }
  [[nodiscard]] ExpectedCalls& expected() { return expected_; }
  [[nodiscard]] std::size_t connections() const { return calls_.connections(); }

  // From now on answers to writes pass through `hold`, which calls what it gets once the archive
  // has what was changed, or with false where that is late. Before the first call.
  using HoldAnswer = std::function<void(std::function<void(bool is_archived)>)>;
  void hold_answers(HoldAnswer hold) { hold_answer_ = std::move(hold); }
  // Calls `answer` now for a call that only reads.
  void answer_later(const Right& right, std::function<void(bool is_archived)> answer) const {
    if (!hold_answer_ || !is_write(right.access)) return answer(true);
    hold_answer_(std::move(answer));
  }

  // For the server's builder: admits the calls of gRPC's own services (health, reflection). A
  // method without a row in kRights is for operators alone.
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
  interceptors();

 private:
  friend class Call;
  void note_refused(const audit::Act& act, const Error& error);

  const auth::PeerBook& peers_;
  audit::AuditLog& log_;
  const std::function<const char*()> data_kind_;
  ExpectedCalls expected_;
  ConnectionCalls calls_;
  HeldAnswers held_;
  HoldAnswer hold_answer_{};
};

// Error codes are numbered as gRPC's, so the code is taken over as it is.
inline grpc::Status to_grpc(const Error& error) {
  return {static_cast<grpc::StatusCode>(error.code), error.message};
}

}  // namespace railgauge::rpc

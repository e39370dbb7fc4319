// The frame that every unary call of the three services shares: check the caller, answer on a
// worker thread, turn an Error into a gRPC status.
#pragma once

#include <new>
#include <utility>

#include <grpcpp/grpcpp.h>
#include <spdlog/spdlog.h>

#include "controller/fleet/auth.h"
#include "controller/fleet/worker_pool.h"
#include "kernels/core/base/result.h"

namespace railgauge::rpc {

using Unary = grpc::ServerUnaryReactor;
using Context = grpc::CallbackServerContext;

// A read is allowed to every known caller, a write only to callers that may control.
enum class Access { kRead, kWrite };

// Error codes are numbered as gRPC's, so the code is taken over as it is.
inline grpc::Status to_grpc(const Error& error) {
  return {static_cast<grpc::StatusCode>(error.code), error.message};
}

// The answer to a call that a worker pool has no room for.
inline grpc::Status busy() {
  return {grpc::StatusCode::RESOURCE_EXHAUSTED, "the controller is busy; try again"};
}

// OK, or the reason why `peer` may not make the call. Logs a refusal.
inline grpc::Status check_caller(const auth::Peer& peer, Access access) {
  const Status allowed = auth::may_control(peer, access == Access::kRead);
  if (allowed) return grpc::Status::OK;
  spdlog::warn("call refused: {}", allowed.error().message);
  return to_grpc(allowed.error());
}

// Does the work of a call. Memory that runs out ends the call, not the controller.
template <class Response, class Work>
Result<Response> or_no_memory(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    spdlog::error("a call ends: no memory is left for its answer");
    return fail(Code::kResourceExhausted,
                "the controller has no memory for this answer; ask for less");
  }
}

// Answers one call with `Result<Response> work(const auth::Peer& caller)`, run on a thread of
// `pool`. `response` and everything that `work` refers to stay valid until the call ends: gRPC
// keeps request and response alive until Finish. Returns at once; never blocks. Thread safe.
template <class Response, class Work>
Unary* unary(Context* context, const auth::PeerBook& peers, Access access, fleet::WorkerPool& pool,
             Response* response, Work work) {
  Unary* reactor = context->DefaultReactor();
  const auth::Peer peer = peers.peer_of(*context);
  if (const grpc::Status status = check_caller(peer, access); !status.ok()) {
    reactor->Finish(status);
    return reactor;
  }
  const bool taken = pool.submit([reactor, response, peer, moved = std::move(work)] {
    Result<Response> answer = or_no_memory<Response>([&] { return moved(peer); });
    if (!answer) return reactor->Finish(to_grpc(answer.error()));
    *response = std::move(*answer);
    reactor->Finish(grpc::Status::OK);
  });
  if (!taken) reactor->Finish(busy());
  return reactor;
}

}  // namespace railgauge::rpc

// A unary call of a service that has the members `peers_` and `pool`: its name, who may make it,
// the types of request and response, and the expression of the answer, a Result. In it `request`
// points to the request, `peer` is the caller, and `context` is the call.
#define RAILGAUGE_UNARY(name, access, pool, Request, Response, answer)                         \
  rpc::Unary* name(rpc::Context* context, [[maybe_unused]] const Request* request,             \
                   Response* response) override {                                              \
    return rpc::unary(context, peers_, rpc::Access::access, pool, response,                    \
                      [=, this]([[maybe_unused]] const auth::Peer& peer) -> Result<Response> { \
                        return answer;                                                         \
                      });                                                                      \
  }

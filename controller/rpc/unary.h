// The frame that every unary call of the three services shares: pass the gate, answer on a worker
// thread, turn an Error into a gRPC status.
#pragma once

#include <memory>
#include <new>
#include <utility>

#include <grpcpp/grpcpp.h>
#include <spdlog/spdlog.h>

#include "controller/api/archive_mark.h"
#include "controller/fleet/event_loop.h"
#include "controller/fleet/worker_pool.h"
#include "controller/rpc/gate.h"
#include "kernels/core/base/exhaustion.h"
#include "kernels/core/base/result.h"

namespace railgauge::rpc {

using Unary = grpc::ServerUnaryReactor;
using Context = grpc::CallbackServerContext;

// The answer to a call that a worker pool has no room for.
inline Error busy() { return {Code::kResourceExhausted, "the controller is busy; try again"}; }

// Does the work of a call. An answer too large for memory ends the call, not the controller.
template <class Response, class Work>
Result<Response> or_no_memory(const Work& work) {
  try {
    const MayFail may_fail;
    return work();
  } catch (const std::bad_alloc&) {
    spdlog::error("a call ends: no memory is left for its answer");
    return fail(Code::kResourceExhausted,
                "the controller has no memory for this answer; ask for less");
  }
}

// Carries out one admitted call: a write only when its row of the audit trail is stored.
template <class Response, class Work>
Result<Response> carry_out(Call& call, const Work& work) {
  RG_TRY_OK(call.begin());
  Result<Response> answer = or_no_memory<Response>([&] { return work(call.peer()); });
  call.end(answer ? Status() : tl::unexpected(answer.error()));
  return answer;
}

// The reactor of a call. gRPC's last event of the call ends it; until then its answer is held.
class AnsweringReactor final : public Unary {
 public:
  void OnDone() override { delete this; }
  void hold(HeldAnswers::Held held) { held_ = std::move(held); }

 private:
  HeldAnswers::Held held_{};
};

inline Error untaken(const Right& right, bool is_done) {
  return {Code::kResourceExhausted,
          fmt::format("{}: {} MiB of answers to this caller are not taken yet; read them first{}",
                      right.method, HeldAnswers::kMaxBytes >> 20U,
                      is_done ? " (the call was carried out)" : "")};
}

// Answers one call with `Result<Response> work(const auth::Peer& caller)`, run on a thread of
// `pool`. `response` and everything that `work` refers to stay valid until the call ends: gRPC
// keeps request and response alive until Finish. Returns at once; never blocks. Thread safe.
template <class Request, class Response, class Work>
Unary* unary(Context* context, Gate& gate, const Right& right, fleet::WorkerPool& pool,
             const Request* request, Response* response, Work work) {
  auto* reactor = new AnsweringReactor;
  Result<std::shared_ptr<Call>> admitted = gate.admit(*context, right, request);
  if (!admitted) {
    reactor->Finish(to_grpc(admitted.error()));
    return reactor;
  }
  const std::shared_ptr<Call> call = std::move(*admitted);
  if (gate.held().is_full(call->owner())) {
    call->refuse(untaken(right, false));
    reactor->Finish(to_grpc(untaken(right, false)));
    return reactor;
  }
  const auto answer_it = [reactor, context, &gate, &right, response, call,
                          moved = std::move(work)] {
    Result<Response> answer = carry_out<Response>(*call, moved);
    call->end({});  // of a call that did not begin
    if (!answer) return reactor->Finish(to_grpc(answer.error()));
    auto held = gate.held().hold(
        call->owner(), answer->ByteSizeLong(), [context] { context->TryCancel(); },
        fleet::monotonic_seconds());
    if (!held) return reactor->Finish(to_grpc(untaken(right, is_write(right.access))));
    reactor->hold(std::move(*held));
    *response = std::move(*answer);
    gate.answer_later(right, [reactor, context](bool is_archived) {
      if (!is_archived) context->AddTrailingMetadata(api::kArchiveHeader, api::kArchiveBehind);
      reactor->Finish(grpc::Status::OK);
    });
  };
  const bool taken = call->threads(pool).submit(answer_it, call->owner());
  if (!taken) {
    call->refuse(busy());
    reactor->Finish(to_grpc(busy()));
  }
  return reactor;
}

}  // namespace railgauge::rpc

// A unary call of a service that has the members `kService`, `gate_` and `pool`: its name, by which
// kRights has who may make it, the types of request and response, and the expression of the answer,
// a Result. In it `request` points to the request, `peer` is the caller, and `context` is the call.
#define RAILGAUGE_UNARY(name, pool, Request, Response, answer)                                 \
  rpc::Unary* name(rpc::Context* context, [[maybe_unused]] const Request* request,             \
                   Response* response) override {                                              \
    return rpc::unary(context, gate_, rpc::right_of(kService, #name), pool, request, response, \
                      [=, this]([[maybe_unused]] const auth::Peer& peer) -> Result<Response> { \
                        return (answer);                                                       \
                      });                                                                      \
  }
